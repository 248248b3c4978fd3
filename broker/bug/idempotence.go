package bug

// The bugs of idempotence.
const (
	// ProducersLeaderOnly keeps the followers from learning of producers as they append.
	ProducersLeaderOnly Name = "producers-leader-only"
	// ProducersForgotten drops the state of producers at a restart.
	ProducersForgotten Name = "producers-forgotten"
	// StateBeforeAppend records a batch that is then refused.
	StateBeforeAppend Name = "state-before-append"
	// WindowOfOne knows only the last batch of a producer.
	WindowOfOne Name = "window-of-one"
	// SequenceOverflow compares sequence numbers without their wrap.
	SequenceOverflow Name = "sequence-overflow"
	// ProducerIDsBeforeCommit hands out a block of producer ids that is not committed.
	ProducerIDsBeforeCommit Name = "producer-ids-before-commit"
	// ProducerIDsReissued lets a new active controller begin with the block that was given out last.
	ProducerIDsReissued Name = "producer-ids-reissued"
)

var idempotence = []Entry{
	{
		Name: ProducersLeaderOnly, Row: 52, Source: "AutoMQ #437",
		Mutation: "followers append batches without taking down their producers and sequence numbers, so a new leader takes what is sent again for new",
		Shows:    []string{"duplicate"}, Visible: true, Needs: []string{"elect"},
	},
	{
		Name: ProducersForgotten, Row: 52, Source: "KAFKA-7190, KAFKA-9144, Redpanda #3039",
		Mutation: "a broker that starts knows no producers, though its log holds their batches",
		Shows:    []string{"duplicate"}, Visible: true, Needs: []string{"kill", "elect"},
	},
	{
		Name: StateBeforeAppend, Row: 54, Source: "KAFKA-6683",
		Mutation: "a batch that is refused for lack of in-sync replicas is taken down as appended, so that it is acknowledged as a duplicate when it is sent again",
		Shows:    []string{"lost acknowledged write", "two values at one offset", "acknowledged at another offset"}, Visible: true, Needs: []string{"partition"},
	},
	{
		Name: WindowOfOne, Row: 56, Source: "KAFKA-5494, Redpanda #3038",
		Mutation: "of each producer only the last batch is known, so one before it that is sent again is refused as out of order, and its producer sends it once more in a new epoch",
		Shows:    []string{"duplicate"}, Visible: true, Needs: []string{"hold"},
	},
	{
		Name: SequenceOverflow, Row: 56, Source: "KAFKA-7692",
		Mutation: "a sequence number below the last one is taken for that of a batch sent again, also where 0 follows 2^31-1",
		Shows:    []string{"lost acknowledged write", "two values at one offset", "acknowledged at another offset"}, Visible: true,
	},
	{
		Name: ProducerIDsBeforeCommit, Row: 58, Source: "KAFKA-15552",
		Mutation: "the controller answers AllocateProducerIds before the block is committed, so its successor gives the same ids to another broker's clients",
		Shows:    []string{"lost acknowledged write", "two values at one offset", "acknowledged at another offset"}, Visible: true, Needs: []string{"partition"},
	},
	{
		Name: ProducerIDsReissued, Row: 58, Source: "KAFKA-15552",
		Mutation: "a new active controller gives out the last block of producer ids once more, as the one that took over from ZooKeeper did",
		Shows:    []string{"lost acknowledged write", "two values at one offset", "acknowledged at another offset"}, Visible: true, Needs: []string{"kill"},
	},
}
