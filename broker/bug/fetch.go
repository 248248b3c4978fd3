package bug

// The bugs of fetches, of moved partitions and of recreated topics.
const (
	// ReadPastHW lets consumers read a leader to its log end.
	ReadPastHW Name = "read-past-hw"
	// FollowerReadsPastHW lets consumers read a follower to its log end.
	FollowerReadsPastHW Name = "follower-reads-past-hw"
	// ReassignedWithLaggards ends a reassignment early.
	ReassignedWithLaggards Name = "reassigned-with-laggards"
)

var fetch = []Entry{
	{
		Name: ReadPastHW, Row: 59, Source: "KAFKA-725",
		Mutation: "a leader serves consumers up to its log end, not its high watermark",
		Shows:    []string{"read of uncommitted data"}, Visible: true, Needs: []string{"partition", "kill"},
	},
	{
		Name: FollowerReadsPastHW, Row: 59, Source: "KIP-392, KAFKA-725",
		Mutation: "a follower serves consumers up to its log end, not its high watermark",
		Shows:    []string{"read of uncommitted data", "read of a failed write"}, Visible: true, Needs: []string{"partition", "kill"},
	},
	{
		Name: ReassignedWithLaggards, Row: 24, Source: "KAFKA-15665",
		Mutation: "a reassignment is complete as soon as one of the replicas that are to stay is in the ISR, while others lag",
		Shows:    []string{"lost acknowledged write", "not settled"}, Visible: true, Needs: []string{"reassign", "powerfail"},
	},
}
