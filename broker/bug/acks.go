package bug

// The bugs of acknowledgements.
const (
	// AckBeforeReplication completes an acks=all produce at append.
	AckBeforeReplication Name = "ack-before-replication"
	// MinISROnlyBeforeAppend asks for min.insync.replicas before an append alone.
	MinISROnlyBeforeAppend Name = "min-isr-only-before-append"
	// PurgatorySurvivesDemotion keeps produces waiting across a change of leader.
	PurgatorySurvivesDemotion Name = "purgatory-survives-demotion"
	// DefiniteAfterAppend tells a producer that what was appended was not.
	DefiniteAfterAppend Name = "definite-failure-after-append"
)

var acks = []Entry{
	{
		Name: AckBeforeReplication, Row: 25, Source: "KAFKA-353",
		Mutation: "an acks=all produce is acknowledged as soon as the leader appended it",
		Shows:    lost, Visible: true, Needs: []string{"partition", "kill"},
	},
	{
		Name: MinISROnlyBeforeAppend, Row: 26, Source: "KAFKA-15583",
		Mutation: "high watermark and acknowledgement go on while the ISR is below min.insync.replicas",
		Shows:    lost, Visible: true, Needs: []string{"pause", "powerfail"},
	},
	{
		Name: PurgatorySurvivesDemotion, Row: 28, Source: "KAFKA-2960, KAFKA-1148, KAFKA-9198",
		Mutation: "a produce that waits when its leader is deposed stays, and is acknowledged when the high watermark passes its offset",
		Shows:    lost, Visible: true, Needs: []string{"elect", "partition"},
	},
	{
		Name: DefiniteAfterAppend, Row: 30, Source: "KAFKA-13574",
		Mutation: "a deposed leader answers NOT_ENOUGH_REPLICAS, a definite failure, for a write that it appended and that may yet be committed",
		Shows:    []string{"read of a failed write", "duplicate"}, Visible: true, Needs: []string{"elect"},
	},
}
