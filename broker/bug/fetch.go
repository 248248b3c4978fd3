package bug

// The bugs of fetches, of moved partitions and of recreated topics.
const (
	// ReadPastHW lets consumers read a leader to its log end.
	ReadPastHW Name = "read-past-hw"
	// FollowerReadsPastHW lets consumers read a follower to its log end.
	FollowerReadsPastHW Name = "follower-reads-past-hw"
	// UnfencedIncrementalFetch does not compare the leader epoch of an incremental fetch.
	UnfencedIncrementalFetch Name = "unfenced-incremental-fetch"
	// ReassignedWithLaggards ends a reassignment early.
	ReassignedWithLaggards Name = "reassigned-with-laggards"
	// TopicIDIgnored takes the log of a deleted topic for that of its successor.
	TopicIDIgnored Name = "topic-id-ignored"
	// StrayLogKept leaves the log of a deleted topic where its successor's belongs.
	StrayLogKept Name = "stray-log-kept"
)

var fetch = []Entry{
	{
		Name: ReadPastHW, Row: 59, Source: "KAFKA-725",
		Mutation: "a leader serves consumers up to its log end, not its high watermark",
		Shows:    unsettled, Visible: true, Needs: []string{"partition", "kill"},
	},
	{
		Name: FollowerReadsPastHW, Row: 59, Source: "KIP-392, KAFKA-725",
		Mutation: "a follower serves consumers up to its log end, not its high watermark",
		Shows:    unsettled, Visible: true, Needs: []string{"partition", "kill"},
	},
	{
		Name: UnfencedIncrementalFetch, Row: 21, Source: "KAFKA-9338, KIP-227, KIP-320",
		Mutation: "a leader compares the leader epoch of a follower's full fetches only, and serves and credits an incremental fetch of another",
		// As with UnfencedFetch, which it is but for the fetch that begins a session.
		Shows: lost, Visible: true, Needs: []string{"hold", "elect"},
	},
	{
		Name: ReassignedWithLaggards, Row: 24, Source: "KAFKA-15665",
		Mutation: "a reassignment is complete as soon as one of the replicas that are to stay is in the ISR, while others lag",
		Shows:    []string{"lost acknowledged write", "not settled"}, Visible: true, Needs: []string{"reassign", "powerfail"},
	},
	{
		Name: TopicIDIgnored, Row: 51, Source: "KAFKA-14616",
		Mutation: "a broker that was away while a topic was deleted and created again takes the log that it has for the new topic's",
		Shows:    []string{"corrupted value", "phantom", "two values at one offset", "replicas differ", "not settled"}, Visible: true,
		Needs: []string{"recreate", "kill"},
	},
	{
		Name: StrayLogKept, Row: 51, Source: "KAFKA-14616",
		Mutation: "a broker that was away while a topic was deleted and created again keeps the log that it has, under the old topic's id",
		Shows:    []string{"not settled", "two values at one offset", "replicas differ"}, Visible: true, Needs: []string{"recreate", "kill"},
	},
}
