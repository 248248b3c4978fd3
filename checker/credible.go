package checker

import (
	"errors"
	"fmt"
)

// ErrIncredible is of a verdict that no checker can have given.
var ErrIncredible = errors.New("the verdict is not to be believed")

// Credible looks whether a verdict that was read can have been given: its words are those that there are, and its status is what its
// findings make it. The error, an ErrIncredible, says what is wrong and what was expected.
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
	}
	switch v.Status {
	case Invalid:
		if violations == 0 {
			return wrong("it is %s, and none of its %s is a violation", v.Status, counted(len(v.Findings), "finding", "findings"))
		}
	case Valid, Unknown, Vacuous:
		if violations > 0 {
			return wrong("it is %s, and %s, expected %s", v.Status, counted(violations, "of its findings is a violation", "of its findings are violations"), Invalid)
		}
	default:
		return wrong("it is %.80q, expected %s, %s, %s or %s", v.Status, Valid, Invalid, Unknown, Vacuous)
	}
	return nil
}

// Configured is what a contract repeats of the run's configuration, in words. What follows from it may change from checker to checker.
func (c Contract) Configured() string {
	return fmt.Sprintf("acks=%d, min.insync.replicas %d, replication factor %d, unclean elections %t, ELR %t", c.Acks, c.MinISR, c.Factor, c.Unclean, c.ELR)
}
