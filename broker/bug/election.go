package bug

// The bugs of election and fsync.
const (
	// UncleanElection elects any live replica.
	UncleanElection Name = "unclean-election"
	// LastReplicaStanding lets the last member of an ISR lead again, whatever it lost.
	LastReplicaStanding Name = "last-replica-standing"
	// StaleCleanShutdown believes a marker of an earlier clean shutdown.
	StaleCleanShutdown Name = "stale-clean-shutdown"
)

var election = []Entry{
	{
		Name: UncleanElection, Row: 32, Source: "KIP-106, Jepsen's Kafka of 2013",
		Mutation: "a live replica outside the ISR is elected though unclean election is off",
		Shows:    lost, Visible: true, Needs: []string{"partition", "kill"},
	},
	{
		Name: LastReplicaStanding, Row: 33, Source: "KIP-966",
		Mutation: "the last member of an ISR may lead after an unclean restart, whatever its log lost",
		Shows:    lost, Visible: true, Needs: []string{"partition", "powerfail"},
	},
	{
		Name: StaleCleanShutdown, Row: 34, Source: "KAFKA-10471, KAFKA-18635",
		Mutation: "the marker of a clean shutdown is not deleted at the next start, and the controller does not compare its epoch",
		Shows:    lost, Visible: true, Needs: []string{"stop", "powerfail"},
	},
}
