package world

import (
	"fmt"

	"tidemark/history"
)

// NotBackError says that a broker that was started exits, or answers nobody, within the bound for that: its own doing, not the world's.
type NotBackError struct {
	Broker history.BrokerID
	Why    string
}

// Error names the broker.
func (e *NotBackError) Error() string {
	return fmt.Sprintf("broker %d does not come back: %s", e.Broker, e.Why)
}

// NotBack reports whether an error, with all that is joined in it, tells of brokers that do not come back, and of nothing else.
func NotBack(err error) bool {
	switch e := err.(type) { //nolint:errorlint // every branch is looked at, where errors.As would be content with one
	case *NotBackError:
		return true
	case interface{ Unwrap() error }:
		return NotBack(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !NotBack(one) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	}
	return false
}
