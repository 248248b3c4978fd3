package checker

import (
	"errors"
	"fmt"
)

// ErrIncredible is of a verdict that no checker can have given.
var ErrIncredible = errors.New("the verdict is not to be believed")

// Credible looks whether a verdict that was read can have been given: its words are those that there are, its status is what its findings and its second
// judge make it, and, of one that this version of the checker gave, each finding has the severity that its class has under the contract. The error, an
// ErrIncredible, says what is wrong and what was expected.
func (v *Verdict) Credible() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrIncredible}, args...)...)
	}
	if v.Format != 1 {
		return wrong("its format is %d, expected 1", v.Format)
	}
	violations := 0
	for i := range v.Findings {
		switch f := &v.Findings[i]; f.Severity {
		case Violation:
			violations++
		case Allowed, Info:
		default:
			return wrong("finding %d has severity %.80q, expected %s, %s or %s", i+1, f.Severity, Violation, Allowed, Info)
		}
		if v.Checker != Version {
			continue // others may have had other rules
		}
		if err := v.Contract.credible(&v.Findings[i]); err != nil {
			return wrong("finding %d %w", i+1, err)
		}
	}
	if v.Porcupine.Outcome == Objects && violations == 0 { // what it objects to is a finding, where the log checker has none that explains it
		return wrong("its second judge %s, and none of its %s is a violation", Objects, counted(len(v.Findings), "finding", "findings"))
	}
	switch v.Status {
	case Invalid:
		if violations == 0 {
			return wrong("it is %s, and none of its %s is a violation", v.Status, counted(len(v.Findings), "finding", "findings"))
		}
	case Valid, Unknown, Vacuous:
		if v.Status != Unknown && v.Porcupine.Outcome == OutOfBudget && v.Checker == Version {
			return wrong("it is %s, and its second judge ran out of its budget, expected %s", v.Status, Unknown)
		}
		if violations > 0 {
			return wrong("it is %s, and %s, expected %s", v.Status, counted(violations, "of its findings is a violation", "of its findings are violations"), Invalid)
		}
	default:
		return wrong("it is %.80q, expected %s, %s, %s or %s", v.Status, Valid, Invalid, Unknown, Vacuous)
	}
	return nil
}

// credible looks whether a finding has the severity of its class under the contract. What Rule.Unless names, which the finding does not tell, makes it a
// violation all the same.
func (c Contract) credible(f *Finding) error {
	place := f.Class.Place()
	if place < 0 {
		return fmt.Errorf("is of the class %.80q, expected one of those that %s has", f.Class, Version)
	}
	if severity := c.Severity(f.Class); f.Severity != severity && (f.Severity != Violation || Rules[place].Unless == "") {
		return fmt.Errorf("is a %s with severity %s, expected %s under its contract: %s", f.Class, f.Severity, severity, c.terms())
	}
	return nil
}

// Configured is what a contract repeats of the run's configuration, in words. What follows from it may change from checker to checker.
func (c Contract) Configured() string {
	return fmt.Sprintf("acks=%d, min.insync.replicas %d, replication factor %d, unclean elections %t, ELR %t", c.Acks, c.MinISR, c.Factor, c.Unclean, c.ELR)
}
