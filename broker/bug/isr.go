package bug

// The bugs of the ISR.
const (
	// JoinAtStaleHW lets a follower join that reached the high watermark only.
	JoinAtStaleHW Name = "join-at-stale-hw"
	// HWOverCommittedISR moves the high watermark without the pending members.
	HWOverCommittedISR Name = "hw-over-committed-isr"
	// NoPartitionEpochCheck accepts an AlterPartition made on an old state.
	NoPartitionEpochCheck Name = "no-partition-epoch-check"
	// IneligibleJoins takes brokers into the ISR that are fenced or shutting down.
	IneligibleJoins Name = "ineligible-joins"
	// StaleBrokerEpoch takes brokers into the ISR for what an earlier incarnation had.
	StaleBrokerEpoch Name = "stale-broker-epoch"
	// UnfencedFetch serves followers of any leader epoch.
	UnfencedFetch Name = "unfenced-fetch"
	// AlterPartitionWedged never asks again.
	AlterPartitionWedged Name = "alter-partition-wedged"
	// HWNotReevaluated does not look at the high watermark again when the ISR changed.
	HWNotReevaluated Name = "hw-not-reevaluated"
)

var isr = []Entry{
	{
		Name: JoinAtStaleHW, Row: 14, Source: "KAFKA-7128",
		Mutation: "a follower joins the ISR once it reaches the high watermark, though the leader's epoch starts beyond",
		Shows:    lost, Visible: true, Needs: []string{"partition", "kill"},
	},
	{
		Name: HWOverCommittedISR, Row: 15, Source: "KIP-497",
		Mutation: "the high watermark waits for the committed ISR alone, not for members that the controller may have let in",
		Shows:    lost, Visible: true, Needs: []string{"hold", "kill"},
	},
	{
		Name: NoPartitionEpochCheck, Row: 17, Source: "KIP-497",
		Mutation: "the controller accepts an AlterPartition that was made on an earlier state of the partition",
		Shows:    lost, Visible: true, Needs: []string{"late", "kill"},
	},
	{
		Name: IneligibleJoins, Row: 18, Source: "KIP-841, KAFKA-13916",
		Mutation: "leader and controller take a fenced broker, or one that is shutting down, into the ISR",
		Shows:    []string{"not settled", "invariant broken"}, Needs: []string{"stop", "kill"},
	},
	{
		Name: StaleBrokerEpoch, Row: 19, Source: "KIP-903, KAFKA-14617, KAFKA-15221",
		Mutation: "a replica is taken into the ISR for what an earlier incarnation of its broker had",
		Shows:    lost, Visible: true, Needs: []string{"powerfail", "partition", "kill"},
	},
	{
		Name: UnfencedFetch, Row: 21, Source: "KIP-320, KAFKA-7395",
		Mutation: "a leader serves and credits a follower's fetch of another leader epoch",
		// The divergence test still holds what is credited to the leader's own log: it is what was written in an epoch before.
		Shows: lost, Visible: true, Needs: []string{"hold", "elect"},
	},
	{
		Name: AlterPartitionWedged, Row: 22, Source: "KAFKA-14010, KAFKA-14144",
		Mutation: "an AlterPartition whose answer is lost, or tells of a passing error, stays in flight for ever",
		Shows:    []string{"not settled"}, Visible: true, Needs: []string{"partition", "kill"},
	},
	{
		Name: HWNotReevaluated, Row: 23, Source: "KAFKA-13091, KAFKA-15021",
		Mutation: "the high watermark is not looked at again when the ISR changed, only when a log end moves",
		// Clients see no more than an acknowledgement that is late, until the next record comes.
		Shows: []string{"invariant broken", "not settled"}, Needs: []string{"kill"},
	},
}
