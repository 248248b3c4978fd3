package checker

import (
	"errors"
	"fmt"

	"tidemark/history"
)

// ErrIncredible is of a verdict that no checker can have given.
var ErrIncredible = errors.New("the verdict is not to be believed")

// Credible looks whether a verdict that was read can have been given of a run: its words are those that there are, its status is what its findings make
// it, and it was given under the run's configuration. The error, an ErrIncredible, says what is wrong and what was expected.
func (v *Verdict) Credible(run history.Run) error {
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
	if was, is := v.Contract.configured(), ContractOf(run).configured(); was != is {
		return wrong("it was given under %s, expected that of run.json: %s", was, is)
	}
	return nil
}

// configured is what a contract repeats of the run's configuration, in words. What follows from it may change from checker to checker.
func (c Contract) configured() string {
	return fmt.Sprintf("acks=%d, min.insync.replicas %d, replication factor %d, unclean elections %t, ELR %t", c.Acks, c.MinISR, c.Factor, c.Unclean, c.ELR)
}
