package index

import (
	"fmt"
	"slices"
	"strings"
)

// Family is changes of one standing that most often have one cause: violations of one class about the same brokers, which differ in the steps that
// touched the offset and in their order. What is no violation is a family of its own.
type Family struct {
	Class   string   // of anomaly; the signature of what is no violation
	Changes []Change // the one that the most runs showed first
}

// ClassOf is the class of anomaly that a violation's signature begins with; a signature without one is its own.
func ClassOf(signature string) string {
	class, _, _ := strings.Cut(signature, ": ")
	return class
}

// Families sorts the changes of a standing into families, in the order of their first.
func (d *Difference) Families(s Standing) []Family {
	var out []Family
	for _, c := range d.Of(s) {
		class := c.Problem.Signature
		if c.Problem.Kind == Violation {
			class = ClassOf(class)
		}
		i := slices.IndexFunc(out, func(f Family) bool {
			first := &f.Changes[0]
			return f.Class == class && first.Subject == c.Subject && first.Problem.Kind == c.Problem.Kind
		})
		if i < 0 {
			i = len(out)
			out = append(out, Family{Class: class})
		}
		out[i].Changes = append(out[i].Changes, c)
	}
	return out
}

// First is what stands for the family.
func (f *Family) First() *Change { return &f.Changes[0] }

// Title names the family: by its signature if there is but one.
func (f *Family) Title() string {
	if len(f.Changes) == 1 {
		return f.First().Problem.Signature
	}
	return f.Class
}

// Shown says in how many runs it was seen, of which parts, and by how many signatures.
func (f *Family) Shown() string {
	runs := 0
	var parts []string
	for i := range f.Changes {
		runs += f.Changes[i].Problem.Count
		for _, part := range f.Changes[i].Parts {
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	text := fmt.Sprintf("in %s of %s", counted(runs, "run"), strings.Join(parts, ", "))
	if runs == 0 { // nothing was carried out that could have shown it
		text = "in no run of " + strings.Join(parts, ", ")
	}
	if n := len(f.Changes); n > 1 {
		text += fmt.Sprintf(", by %d signatures", n)
	}
	return text
}

// How says by what it is known that the family is resolved, or why it is not; "" of other standings. Where its changes differ in that, it says of
// how many which holds.
func (f *Family) How() string {
	var hows []string
	count := map[string]int{}
	for i := range f.Changes {
		how := f.Changes[i].How
		if len(f.Changes) > 1 {
			how, _, _ = strings.Cut(how, ": ") // the names behind it are those of one change
		}
		if count[how]++; count[how] == 1 {
			hows = append(hows, how)
		}
	}
	if len(hows) == 1 {
		return hows[0]
	}
	for i, how := range hows {
		hows[i] = fmt.Sprintf("of %d: %s", count[how], how)
	}
	return strings.Join(hows, "; ")
}
