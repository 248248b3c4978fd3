// Package bug names the known bugs that can be switched on, so that the harness can prove that it finds them. A bug is one
// `if` at the decision that it breaks, nowhere else.
package bug

import "fmt"

// Name is a known bug; None is a correct broker.
type Name string

// The known bugs.
const (
	None Name = ""
	// AckBeforeReplication completes an acks=all produce at append (KAFKA-353).
	AckBeforeReplication Name = "ack-before-replication"
)

// Entry describes one bug: where it is from, the mutation in one sentence, and the class of anomaly that it shows.
type Entry struct {
	Name     Name
	Source   string
	Mutation string
	Shows    string
}

// Registry lists every known bug.
var Registry = []Entry{
	{AckBeforeReplication, "KAFKA-353", "an acks=all produce is acknowledged as soon as the leader appended it", "lost acknowledged write"},
}

// Parse returns the bug of that name, or an error that names the ones there are.
func Parse(s string) (Name, error) {
	if s == "" {
		return None, nil
	}
	var names []Name
	for _, e := range Registry {
		if string(e.Name) == s {
			return e.Name, nil
		}
		names = append(names, e.Name)
	}
	return None, fmt.Errorf("unknown bug %q, expected one of %v", s[:min(len(s), 80)], names)
}
