package bug

// The bugs of storage.
const (
	// RetentionPastHW lets retention take what is not committed.
	RetentionPastHW Name = "retention-past-hw"
)

var storage = []Entry{
	{
		Name: RetentionPastHW, Row: 49, Source: "KAFKA-5634",
		Mutation: "retention removes segments that hold records at or beyond the high watermark",
		Shows:    []string{"not settled"}, Visible: true, Needs: []string{"pause"},
	},
}
