package bug

// The bugs of truncation and the high watermark.
const (
	// TruncateToHW truncates as before KIP-101.
	TruncateToHW Name = "truncate-to-hw"
	// OffsetOnlyDivergence looks for divergence by offset alone.
	OffsetOnlyDivergence Name = "offset-only-divergence"
	// SingleEpochLookup tells a follower where an epoch ends, not of which epoch that is.
	SingleEpochLookup Name = "single-epoch-lookup"
	// UntrimmedEpochCache keeps an epoch in which nothing was written.
	UntrimmedEpochCache Name = "untrimmed-epoch-cache"
	// HWBeforeTruncation takes over the high watermark of an answer that says that the logs part.
	HWBeforeTruncation Name = "hw-before-truncation"
	// DivergingFetchCredited counts the log end of a follower whose log diverges.
	DivergingFetchCredited Name = "diverging-fetch-credited"
	// StaleFetchAnswer takes an answer from an epoch that is over.
	StaleFetchAnswer Name = "stale-fetch-answer"
	// FullTruncationLeavesHW restarts a log beyond its high watermark.
	FullTruncationLeavesHW Name = "full-truncation-leaves-hw"
	// HWCheckpointZeroed loses the high watermarks of partitions that are not online.
	HWCheckpointZeroed Name = "hw-checkpoint-zeroed"
	// PrematureLatest tells the end of the log before it is known.
	PrematureLatest Name = "premature-latest"
)

var truncation = []Entry{
	{
		Name: TruncateToHW, Row: 1, Source: "KIP-101",
		Mutation: "a new follower truncates to its own high watermark instead of asking the leader where the epoch ends",
		Shows:    lost, Visible: true, Needs: []string{"elect", "kill"},
	},
	{
		Name: OffsetOnlyDivergence, Row: 2, Source: "KIP-101",
		Mutation: "a leader takes a follower's log for a part of its own as long as it is no longer, whatever its epochs",
		// The log takes no batch of an epoch below its last one's: such a follower stands still.
		Shows: []string{"two values at one offset", "lost acknowledged write", "replicas differ", "not settled"}, Visible: true,
		Needs: []string{"hold", "elect"},
	},
	{
		Name: SingleEpochLookup, Row: 3, Source: "KIP-279, KAFKA-6361",
		Mutation: "a leader answers for the epoch that a follower asked for, not for the largest one up to it",
		// As with the offset-only test, the log's own check stops some followers.
		Shows: []string{"two values at one offset", "lost acknowledged write", "replicas differ", "not settled"}, Visible: true,
		Needs: []string{"hold", "elect"},
	},
	{
		Name: UntrimmedEpochCache, Row: 5, Source: "KAFKA-10706",
		Mutation: "a follower that has no record to cut does not trim its leader-epoch cache either",
		Shows:    []string{"not settled", "two values at one offset", "replicas differ"}, Visible: true, Needs: []string{"elect"},
	},
	{
		Name: HWBeforeTruncation, Row: 6, Source: "KAFKA-14704",
		Mutation: "a follower takes over the high watermark of an answer that tells it to truncate, before it does",
		Shows:    unsettled, Visible: true, Needs: []string{"partition", "elect"},
	},
	{
		Name: DivergingFetchCredited, Row: 7, Source: "KAFKA-13141",
		Mutation: "a leader records a follower's log end although it answers that the log diverges",
		Shows:    lost, Visible: true, Needs: []string{"partition", "kill"},
	},
	{
		Name: StaleFetchAnswer, Row: 9, Source: "KAFKA-18723",
		Mutation: "a follower acts on an answer that it asked for in another leader epoch",
		// A stale record is cut again at the next fetch. A stale word on where the logs part cuts what is committed.
		Shows:   []string{"order against real time", "producer goes back", "read of uncommitted data", "lost acknowledged write", "two values at one offset"},
		Visible: true, Needs: []string{"hold", "elect"},
	},
	{
		Name: FullTruncationLeavesHW, Row: 10, Source: "KAFKA-9491",
		Mutation: "a follower that empties its log and begins at the leader's log start offset keeps its high watermark, which is below",
		Shows:    []string{"not settled", "invariant broken"}, // clients see it only if the follower is elected before the next answer
		Needs:    []string{"partition", "hold", "elect"},
	},
	{
		Name: HWCheckpointZeroed, Row: 12, Source: "KAFKA-769, KAFKA-1647",
		Mutation: "the high watermark checkpoint is written without the partitions that are not online yet",
		Shows:    []string{"high watermark goes back", "end offset goes back", "invariant broken"}, Needs: []string{"kill"},
	},
	{
		Name: PrematureLatest, Row: 13, Source: "KIP-207, KAFKA-2334",
		Mutation: "a new leader tells the end of the log before its high watermark has reached the start of its epoch",
		Shows:    []string{"end offset goes back", "high watermark goes back"}, Visible: true, Needs: []string{"kill"},
	},
}
