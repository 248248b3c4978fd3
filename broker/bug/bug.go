// Package bug is the list of known bugs that can be switched on, so that the harness can prove that it finds them. Each is a real
// mistake of a Kafka-style replicated log, as one `if` at the decision that it breaks, nowhere else:
//
//	target := truncationTarget(given, end, found, leo)
//	if m.cfg.Bug.Bites(bug.TruncateToHW, target != p.hw) {
//		target = p.hw
//	}
package bug

import (
	"fmt"
	"slices"

	"tidemark/broker/near"
)

// Name is a known bug; None is a correct broker.
type Name string

// None is no bug.
const None Name = ""

// Entry describes one bug.
type Entry struct {
	Name     Name
	Row      int    // its number in the catalogue that the project was built from, 0 beyond it
	Source   string // where the real mistake is told of: a KIP, an issue, a specification
	Mutation string // what the broker then does, one sentence
	// Shows lists the classes of anomaly (package checker's names) that the bug may show as; any of them will do.
	Shows []string
	// Visible says that clients can see it, so that it is found with the invariants off.
	Visible bool
	// Needs lists the faults (package world's abilities) that bring it out, for whoever reads the table.
	Needs []string
}

// lost is as what the loss of a committed message shows: its producer was told, or another value has its offset, or nobody was told yet and a consumer
// had read it, or was told of an end beyond it.
var lost = []string{"lost acknowledged write", "two values at one offset", "read of uncommitted data", "end offset goes back"}

// unsettled is as what a read of what is not committed shows: by itself, by its failure that was told, or by what was committed at its offset, if that is read too.
var unsettled = []string{"read of uncommitted data", "read of a failed write", "two values at one offset"}

// Origin is where the bug comes from, in words: its source, and its row if it has one.
func (e Entry) Origin() string {
	if e.Row == 0 {
		return e.Source
	}
	return fmt.Sprintf("%s, row %d", e.Source, e.Row)
}

// Section is a part of the registry.
type Section struct {
	Title   string
	Entries []Entry
}

// Sections lists every known bug by the part of the protocol that it breaks.
var Sections = []Section{
	{"Truncation and high watermark", truncation},
	{"ISR", isr},
	{"Acknowledgements", acks},
	{"Election and fsync", election},
	{"Controller", quorum},
	{"Storage", storage},
	{"Idempotence", idempotence},
	{"Fetch", fetch},
}

// Registry lists every known bug of the catalogue, in the order of Sections.
var Registry = registry()

func registry() (all []Entry) {
	for _, s := range Sections {
		all = append(all, s.Entries...)
	}
	return all
}

// Find returns the entry of a bug, of the catalogue or beyond it; ok is false if there is none of that name.
func Find(name Name) (e Entry, ok bool) {
	for _, entries := range [][]Entry{Registry, Beyond.Entries} {
		if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name }); i >= 0 {
			return entries[i], true
		}
	}
	return Entry{}, false
}

// Parse returns the bug of that name, None for "", or an error that says where they are named.
func Parse(s string) (Name, error) {
	if s == "" {
		return None, nil
	}
	if e, ok := Find(Name(s)); ok {
		return e.Name, nil
	}
	var names []string
	for _, e := range slices.Concat(Registry, Beyond.Entries) {
		names = append(names, string(e.Name))
	}
	return None, fmt.Errorf("unknown bug %q%s, expected one of the %d that tidemark bugs --list tells of", s[:min(len(s), 80)], near.Hint(s, names), len(Registry))
}
