package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/checker"
	"tidemark/history"
)

// Where is where a run is carried out: a world, and whose brokers run there.
type Where struct {
	World    string
	Target   string // "" is this program's own brokers
	Template string // text of the file that describes the target; "" if it is known by its name
}

// Carried is a stored run on other ground, with its plan, its seed and what its options say of the cluster and the load unchanged. A known bug
// stays with this program's own brokers, and so do the keys of a configuration that they alone have; what the stored run's configuration left
// open is as the new ground has it. The error says what of the run that ground cannot do.
func Carried(stored history.Run, to Where) (history.Run, error) {
	run := stored
	run.Tool, run.Build = Version, BuildHash()
	run.Faults = "" // the plan is there
	run.World, run.Target, run.Template = to.World, to.Target, to.Template
	switch {
	case to.World == Simulated:
		run.Template = stored.Template // of the target that it is like
	case to.Target == "":
		run.Like, run.Template = "", ""
	default:
		run.Like = ""
	}
	stock := quickOf(stored)
	run.Config = maps.Clone(stored.Config)
	maps.DeleteFunc(run.Config, func(key, value string) bool {
		return value == stock[key] || to.Target != "" && strings.HasPrefix(key, "tidemark.")
	})
	if to.Target != "" {
		run.Bug = ""
	}
	if to.World == Simulated {
		run.Memory, run.CPUs = 0, 0 // limits of containers
	}
	return Expand(run, run.Plan+"\n# end\n") // so that an empty plan is none, not one to draw
}

// Alike counts how runs of a stored run's plan stand to it.
type Alike struct {
	Stored    checker.Verdict        `json:"stored"`
	Runs      int                    `json:"runs"`             // that came to a verdict
	Signature int                    `json:"sameSignature"`    // of them, those that failed with the stored run's signature
	Class     int                    `json:"sameClass"`        // those with a violation of the class of the stored run's first, or one that implies it; of the same status, if it had none
	Errors    int                    `json:"errors"`           // runs that came to none
	Others    map[string]int         `json:"others,omitempty"` // what the runs that are not of Class came to
	Status    map[checker.Status]int `json:"status"`           // how many runs came to each
}

// Add counts a run.
func (a *Alike) Add(v checker.Verdict) {
	if a.Status == nil {
		a.Others, a.Status = map[string]int{}, map[checker.Status]int{}
	}
	a.Runs++
	a.Status[v.Status]++
	if s := Signature(a.Stored); s != "" && s == Signature(v) {
		a.Signature++
	}
	if _, alike := shows(v, storedClass(a.Stored)); alike || a.Stored.Status != checker.Invalid && v.Status == a.Stored.Status {
		a.Class++
		return
	}
	a.Others[Told(v)]++
}

// Worst is the status that decides how the whole ended: a violation, if there is one, else what is not valid.
func (a *Alike) Worst() checker.Status {
	for _, s := range []checker.Status{checker.Invalid, checker.Unknown, checker.Vacuous} {
		if a.Status[s] > 0 {
			return s
		}
	}
	return checker.Valid
}

// String says k of n.
func (a *Alike) String() string {
	if a.Stored.Status != checker.Invalid {
		return a.list(fmt.Sprintf("%d of %d runs are %s, as the stored one", a.Class, a.Runs, a.Stored.Status))
	}
	return a.list(fmt.Sprintf("%d of %d runs fail of the stored run's class, %s; %d with its whole signature", a.Class, a.Runs, storedClass(a.Stored), a.Signature))
}

// list adds what the other runs came to.
func (a *Alike) list(out string) string {
	for _, told := range slices.Sorted(maps.Keys(a.Others)) {
		out += fmt.Sprintf("\n  %d: %s", a.Others[told], told)
	}
	if a.Errors > 0 {
		out += fmt.Sprintf("\n  %d came to no verdict", a.Errors)
	}
	return out
}

// Told is what a verdict comes to, in a few words: its status, and the class of what it fails of.
func Told(v checker.Verdict) string {
	if v.Status != checker.Invalid || len(v.Findings) == 0 {
		return string(v.Status)
	}
	return fmt.Sprintf("%s: %s", v.Status, v.Findings[0].Class)
}

// storedClass is the class of an invalid verdict's first finding, "" for any other verdict.
func storedClass(v checker.Verdict) checker.Class {
	if v.Status != checker.Invalid || len(v.Findings) == 0 {
		return ""
	}
	return v.Findings[0].Class
}

// shows reports whether a verdict has a violation of a class, or one that implies it, and tells of it in words.
func shows(v checker.Verdict, class checker.Class) (text string, ok bool) {
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Severity != checker.Violation {
			continue
		}
		if f.Class == class {
			return f.Told(), true
		}
		for _, m := range f.Implied {
			if m.Class == class {
				return m.Text, true
			}
		}
	}
	return "", false
}
