package bug

// The bugs of the controller.
const (
	// VoteNotPersisted keeps whom a voter voted for in memory only.
	VoteNotPersisted Name = "vote-not-persisted"
	// QuorumAckUnflushed lets a voter acknowledge metadata that a power failure can still take.
	QuorumAckUnflushed Name = "quorum-ack-unflushed"
	// ZombieController lets a controller act without a majority.
	ZombieController Name = "zombie-controller"
	// ConcurrentExpiry fences brokers whose sessions end together as if each were the only one.
	ConcurrentExpiry Name = "concurrent-expiry"
	// SnapshotOffByOne gives a snapshot of the metadata the name of the entry before its last.
	SnapshotOffByOne Name = "snapshot-off-by-one"
	// TwoVoterChanges begins a change of the voters before the last is committed.
	TwoVoterChanges Name = "two-voter-changes"
	// NoDirectoryID takes a voter with an empty disk for the one that it was.
	NoDirectoryID Name = "no-directory-id"
)

var quorum = []Entry{
	{
		Name: VoteNotPersisted, Row: 36, Source: "KIP-595",
		Mutation: "a voter keeps whom it voted for in memory only, so after a restart it votes in the same term again",
		Shows:    []string{"invariant broken"}, Needs: []string{"kill"},
	},
	{
		Name: QuorumAckUnflushed, Row: 38, Source: "KAFKA-10533, KAFKA-17332",
		Mutation: "a voter acknowledges entries of the metadata log that it has not flushed",
		Shows:    []string{"invariant broken"}, Needs: []string{"powerfail"},
	},
	{
		Name: ZombieController, Row: 41, Source: "KAFKA-15489, KAFKA-6082",
		Mutation: "a controller that no majority answers does not resign, and answers before what it decided is committed",
		Shows:    lost, Visible: true, Needs: []string{"partition"},
	},
	{
		Name: ConcurrentExpiry, Row: 42, Source: "KAFKA-13173",
		Mutation: "a broker whose session ends is fenced on the committed metadata, not on what was decided since, so the next leader may be one that was just fenced",
		Shows:    []string{"invariant broken", "not settled"}, Needs: []string{"kill", "pause"},
	},
	{
		Name: SnapshotOffByOne, Row: 43, Source: "KAFKA-14238, KAFKA-14618, KAFKA-17713",
		Mutation: "a snapshot of the metadata log is named after the entry before the last that it holds, so whoever goes on from it applies that one twice",
		Shows:    []string{"invariant broken", "not settled", "broker exited by itself"}, Needs: []string{"kill"},
	},
	{
		Name: TwoVoterChanges, Row: 44, Source: "Redpanda #17675, KIP-853",
		Mutation: "a change of the controller quorum's voters begins before the last one is committed",
		Shows:    []string{"invariant broken", "broker exited by itself"}, Needs: []string{"voters", "partition"},
	},
	{
		Name: NoDirectoryID, Row: 45, Source: "KAFKA-12181, KIP-853",
		Mutation: "a voter is known by its node id alone, so one whose disk was replaced still votes, without what it had promised and acknowledged",
		Shows:    []string{"invariant broken"}, Needs: []string{"newdisk"},
	},
}
