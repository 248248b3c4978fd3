package bug

// The bugs of acknowledgements.
const (
	// AckBeforeReplication completes an acks=all produce at append.
	AckBeforeReplication Name = "ack-before-replication"
)

var acks = []Entry{
	{
		Name: AckBeforeReplication, Row: 25, Source: "KAFKA-353",
		Mutation: "an acks=all produce is acknowledged as soon as the leader appended it",
		Shows:    []string{"lost acknowledged write"}, Visible: true, Needs: []string{"partition", "kill"},
	},
}
