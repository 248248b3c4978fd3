package checker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/history"
)

// ErrIncredible is of a verdict that no checker can have given.
var ErrIncredible = errors.New("the verdict is not to be believed")

// baseline begins the reason of a valid run that has no faults, and of no other.
const baseline = "A baseline, without faults"

// Credible looks whether a verdict that was read can have been given on a run: its words are those that there are, its counts add up, its status is what its
// findings and its second judge make it, and, of one that this version of the checker gave, its contract is the run's, each finding is as its class and the
// contract make it, and a valid run did what makes it one. The error, an ErrIncredible, says what is wrong and what was expected.
func (v *Verdict) Credible(run history.Run) error {
	if err := v.credible(run); err != nil {
		return fmt.Errorf("%w: %w", ErrIncredible, err)
	}
	return nil
}

func (v *Verdict) credible(run history.Run) error {
	switch {
	case v.Format != 1:
		return fmt.Errorf("its format is %d, expected 1", v.Format)
	case v.Reason == "":
		return errors.New("its reason is empty, expected a sentence")
	}
	violations := 0
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Severity == Violation {
			violations++
		}
		if err := f.credible(); err != nil {
			return fmt.Errorf("finding %d %w", i+1, err)
		}
	}
	if err := v.Stats.credible(); err != nil {
		return err
	}
	if v.Checker == Version { // others may have had other rules
		if err := v.credibleToday(run); err != nil {
			return err
		}
	}
	if v.Porcupine.Outcome == Objects && violations == 0 { // what it objects to is a finding, where the log checker has none that explains it
		return fmt.Errorf("its second judge %s, and none of its %s is a violation", Objects, counted(len(v.Findings), "finding", "findings"))
	}
	switch v.Status {
	case Invalid:
		if violations == 0 {
			return fmt.Errorf("it is %s, and none of its %s is a violation", v.Status, counted(len(v.Findings), "finding", "findings"))
		}
	case Valid, Unknown, Vacuous:
		if violations > 0 {
			return fmt.Errorf("it is %s, and %s, expected %s", v.Status, counted(violations, "of its findings is a violation", "of its findings are violations"), Invalid)
		}
	default:
		return fmt.Errorf("it is %.80q, expected %s, %s, %s or %s", v.Status, Valid, Invalid, Unknown, Vacuous)
	}
	return nil
}

// credible looks at what holds of a finding whatever version of the checker it is from.
func (f *Finding) credible() error {
	switch f.Severity {
	case Violation, Allowed, Info:
		return nil
	}
	return fmt.Errorf("has severity %.80q, expected %s, %s or %s", f.Severity, Violation, Allowed, Info)
}

// credible looks whether counts can be ones, and add up.
func (s *Stats) credible() error {
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"Sends", s.Sends}, {"Acked", s.Acked}, {"Failed", s.Failed}, {"Unknown", s.Unknown}, {"UnknownInLog", s.UnknownInLog}, {"Polls", s.Polls}, {"Records", s.Records},
		{"LeaderChanges", s.LeaderChanges}, {"ISRShrinks", s.ISRShrinks}, {"ISRGrowths", s.ISRGrowths}, {"Truncations", s.Truncations}, {"TornRecoveries", s.TornRecoveries},
		{"Faults", s.Faults}, {"FaultsObserved", s.FaultsObserved}, {"DumpedReplicas", s.DumpedReplicas}, {"DumpErrors", s.DumpErrors},
	} {
		if c.n < 0 || c.n > countMax {
			return fmt.Errorf("%s is %d, expected 0 to %d", c.name, c.n, int64(countMax))
		}
	}
	byKind := int64(0)
	for kind, n := range s.FaultsByKind {
		if n < 0 || n > s.FaultsObserved {
			return fmt.Errorf("FaultsByKind of %.80q is %d, expected 0 to FaultsObserved, %d", kind, n, s.FaultsObserved)
		}
		byKind += n
	}
	switch {
	case s.Acked+s.Failed+s.Unknown != s.Sends:
		return fmt.Errorf("has Acked %d, Failed %d and Unknown %d, expected Sends together, %d", s.Acked, s.Failed, s.Unknown, s.Sends)
	case s.UnknownInLog > s.Unknown:
		return fmt.Errorf("UnknownInLog is %d, expected at most Unknown, %d", s.UnknownInLog, s.Unknown)
	case s.Records > 0 && s.Polls == 0:
		return fmt.Errorf("has Records at %d, and Polls is 0, expected a poll that they were given to", s.Records)
	case s.FaultsObserved > s.Faults:
		return fmt.Errorf("FaultsObserved is %d, expected at most Faults, %d", s.FaultsObserved, s.Faults)
	case byKind != s.FaultsObserved:
		return fmt.Errorf("FaultsByKind has %d together, expected FaultsObserved, %d", byKind, s.FaultsObserved)
	}
	return nil
}

// countMax bounds every count: sums of them stay numbers.
const countMax = 1e12

// credibleToday looks whether this version of the checker can have given a verdict on a run.
func (v *Verdict) credibleToday(run history.Run) error {
	if is := ContractOf(run); v.Contract != is {
		return fmt.Errorf("its contract is %+v, expected %+v as the run makes it", v.Contract, is)
	}
	type told struct {
		class     Class
		partition history.Partition
		offset    history.Offset
		value     string
		text      string
	}
	before := map[told]int{} // the number of the finding
	lost := 0
	for i := range v.Findings {
		f := &v.Findings[i]
		if err := v.Contract.credible(f); err != nil {
			return fmt.Errorf("finding %d %w", i+1, err)
		}
		if i > 0 && f.before(&v.Findings[i-1]) {
			return fmt.Errorf("finding %d is a %s with severity %s behind a %s with severity %s, expected it before: violations first, and causes before what follows from them",
				i+1, f.Class, f.Severity, v.Findings[i-1].Class, v.Findings[i-1].Severity)
		}
		k := told{f.Class, f.Partition, f.Offset, f.Value, f.Text}
		if at, twice := before[k]; twice {
			return fmt.Errorf("finding %d is finding %d again, expected each once: a %s%s at offset %d", i+1, at, f.Class, where(f.Partition), f.Offset)
		}
		before[k] = i + 1
		if f.Class == LostWrite {
			lost += f.Count
		}
		if int64(lost) > v.Stats.Sends {
			return fmt.Errorf("findings up to %d tell of %d writes that were lost, expected at most Sends, %d", i+1, lost, v.Stats.Sends)
		}
	}
	if err := v.Porcupine.credible(); err != nil {
		return fmt.Errorf("its second judge %w", err)
	}
	planned := v.Stats.planned(run)
	switch what := v.Stats.nothing(planned); {
	case v.Status == Valid && what != "":
		return fmt.Errorf("it is %s, expected %s: %s", v.Status, Vacuous, what)
	case v.Status == Valid && strings.HasPrefix(v.Reason, baseline) != (!planned && run.World != ""):
		return fmt.Errorf("it is %s with %s, and its reason is %.80q, expected one that begins with %q without faults, and only then", v.Status, counted(int(v.Stats.Faults), "fault", "faults"), v.Reason, baseline)
	case (v.Status == Valid || v.Status == Vacuous) && v.Porcupine.Outcome == OutOfBudget:
		return fmt.Errorf("it is %s, and its second judge ran out of its budget, expected %s", v.Status, Unknown)
	}
	return nil
}

// before reports whether a finding ranks before another.
func (f *Finding) before(other *Finding) bool {
	return cmp.Or(cmp.Compare(f.Severity.order(), other.Severity.order()), cmp.Compare(rules[f.Class], rules[other.Class])) < 0
}

// credible looks whether the second judge can have said so.
func (s *Second) credible() error {
	if !slices.Contains([]string{Agrees, Objects, OutOfBudget, NotAsked}, s.Outcome) {
		return fmt.Errorf("has outcome %.80q, expected %s, %s, %s or %s", s.Outcome, Agrees, Objects, OutOfBudget, NotAsked)
	}
	switch {
	case s.Windows < 0 || s.Unknown < 0 || s.Unknown > s.Windows:
		return fmt.Errorf("gave no answer on %d of %d windows, expected 0 to all of 0 or more", s.Unknown, s.Windows)
	case s.Outcome == NotAsked && s.Windows > 0:
		return fmt.Errorf("was %s, and had %s, expected none", NotAsked, counted(s.Windows, "window", "windows"))
	case s.Outcome == Agrees && (s.Unknown > 0 || len(s.Where) > 0):
		return fmt.Errorf("%s, and gave no answer on %s and names %d, expected none of either", Agrees, counted(s.Unknown, "window", "windows"), len(s.Where))
	case s.Outcome == OutOfBudget && s.Unknown == 0:
		return errors.New("ran out of its budget, and gave an answer on each window, expected one at least without")
	case s.Outcome == Objects && (len(s.Where) == 0 || s.Windows == 0):
		return fmt.Errorf("%s, and names none of its %s, expected one at least", Objects, counted(s.Windows, "window", "windows"))
	}
	return nil
}

// credible looks whether a finding is as its class makes it, and has its severity under the contract. What Rule.Unless names, which the finding does not
// tell, makes it a violation all the same.
func (c Contract) credible(f *Finding) error {
	place := f.Class.Place()
	if place < 0 {
		return fmt.Errorf("is of the class %.80q, expected one of those that %s has", f.Class, Version)
	}
	if severity := c.Severity(f.Class); f.Severity != severity && (f.Severity != Violation || Rules[place].Unless == "") {
		return fmt.Errorf("is a %s with severity %s, expected %s under its contract: %s", f.Class, f.Severity, severity, c.terms())
	}
	if f.Signature != string(f.Class) && !strings.HasPrefix(f.Signature, string(f.Class)+": ") {
		return fmt.Errorf("is a %s with signature %.300q, expected one that begins with its class", f.Class, f.Signature)
	}
	if f.Count < 1 || f.Count > countMax {
		return fmt.Errorf("is a %s with count %d, expected 1 to %d", f.Class, f.Count, int64(countMax))
	}
	for i := range f.Implied {
		m := &f.Implied[i]
		if m.Class.Place() < 0 || m.Count < 1 {
			return fmt.Errorf("implies %d of the class %.80q, expected 1 or more of one of those that %s has", m.Count, m.Class, Version)
		}
	}
	return nil
}

// Configured is what a contract repeats of the run's configuration, in words. What follows from it may change from checker to checker.
func (c Contract) Configured() string {
	return fmt.Sprintf("acks=%d, min.insync.replicas %d, replication factor %d, unclean elections %t, ELR %t", c.Acks, c.MinISR, c.Factor, c.Unclean, c.ELR)
}
