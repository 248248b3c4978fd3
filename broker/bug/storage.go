package bug

// The bugs of storage.
const (
	// CRCUnchecked lets recovery take any bytes for a batch's records.
	CRCUnchecked Name = "crc-unchecked"
	// DirectoryUnsynced leaves the names of new segments to the kernel.
	DirectoryUnsynced Name = "directory-unsynced"
	// ShortWriteIgnored takes a write that wrote only a part for a whole one.
	ShortWriteIgnored Name = "short-write-ignored"
	// RetentionPastHW lets retention take what is not committed.
	RetentionPastHW Name = "retention-past-hw"
	// UnstableReadLimit forgets, when a segment is rolled at the high watermark, where consumers must stop.
	UnstableReadLimit Name = "unstable-read-limit"
)

var storage = []Entry{
	{
		Name: CRCUnchecked, Row: 46, Source: "KAFKA-14104",
		Mutation: "recovery does not compare a batch with its CRC, so that it keeps a torn or flipped one whose header makes sense",
		Shows:    []string{"corrupted value"}, Visible: true, Needs: []string{"powerfail", "bitflip", "elect"},
	},
	{
		Name: DirectoryUnsynced, Row: 48, Source: "KAFKA-3968",
		Mutation: "a flush syncs a log's files, but not the directory that names them",
		Shows:    lost, Visible: true, Needs: []string{"poweroff"},
	},
	{
		Name: ShortWriteIgnored, Row: 48, Source: "KAFKA-3968, KAFKA-17181",
		Mutation: "an append that wrote fewer bytes than it was to is taken for done",
		Shows:    []string{"lost acknowledged write", "corrupted value", "broker exited by itself"}, Visible: true, Needs: []string{"shortwrite"},
	},
	{
		Name: RetentionPastHW, Row: 49, Source: "KAFKA-5634",
		Mutation: "retention removes segments that hold records at or beyond the high watermark",
		Shows:    []string{"not settled", "lost acknowledged write"}, Visible: true, Needs: []string{"pause"},
	},
	{
		Name: UnstableReadLimit, Row: 50, Source: "KAFKA-9196, KAFKA-9835, KAFKA-9807",
		Mutation: "where the high watermark is the first offset of a segment, its position is still that of the one before, and consumers read that segment to its end",
		Shows:    unsettled, Visible: true, Needs: []string{"partition"},
	},
}
