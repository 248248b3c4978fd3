package world

import (
	"errors"
	"fmt"
	"testing"
)

// TestNotBack tells brokers that do not come back from trouble of the harness: one branch that is something else makes it that.
func TestNotBack(t *testing.T) {
	gone := fmt.Errorf("fault 1: not undone: %w", &NotBackError{2, "it exited with code 1"})
	trouble := errors.New("no engine answers")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{trouble, false},
		{gone, true},
		{errors.Join(gone, &NotBackError{1, "it does not serve"}), true},
		{fmt.Errorf("the plan: %w", errors.Join(gone, nil)), true},
		{errors.Join(gone, trouble), false},
		{fmt.Errorf("%w: %w", gone, trouble), false},
	} {
		if got := NotBack(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
	if got := gone.Error(); got != "fault 1: not undone: broker 2 does not come back: it exited with code 1" {
		t.Error(got)
	}
}
