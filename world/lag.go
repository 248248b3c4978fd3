package world

import (
	"fmt"
	"time"

	"tidemark/history"
)

// CanLag delays the packets of a link, and lets some overtake others.
const CanLag Ability = "lag"

// Lag is what happens to the packets that go from one broker to another: each arrives later by By, less or more Jitter at most, drawn evenly for each; of a
// share, Reorder, each is not delayed, and overtakes what is under way. That is what Linux's netem does (tc-netem(8): delay, jitter, reorder). Of a
// connection TCP keeps the order: what overtook waits there for what it overtook.
type Lag struct {
	By      time.Duration
	Jitter  time.Duration // at most By
	Reorder float64       // at least 0, below 1
}

// Check reports what is wrong with a lag.
func (l Lag) Check() error {
	switch {
	case l.By <= 0:
		return fmt.Errorf("a lag of %v, expected more than 0s", l.By)
	case l.Jitter < 0 || l.Jitter > l.By:
		return fmt.Errorf("a jitter of %v in a lag of %v, expected 0s to as much", l.Jitter, l.By)
	case !(l.Reorder >= 0 && l.Reorder < 1):
		return fmt.Errorf("a share of %v of the packets that overtake, expected at least 0 and less than 1", l.Reorder)
	}
	return nil
}

// String is the lag as plans write it.
func (l Lag) String() string {
	s := l.By.String()
	if l.Jitter > 0 {
		s += " jitter " + l.Jitter.String()
	}
	if l.Reorder > 0 {
		s += fmt.Sprintf(" reorder %v", l.Reorder)
	}
	return s
}

// Lags is the faults that delay packets.
type Lags interface {
	// Lag delays what goes from one broker to another, in that direction only. Detail says by which means, where there are several.
	Lag(from, to history.BrokerID, l Lag) (detail string, err error)
	// EndLag ends it. What is under way arrives when its time has come.
	EndLag(from, to history.BrokerID) error
	// Transit is how long a message took just now from one broker to another, on the way that a lag delays; false if none arrived within timeout.
	Transit(from, to history.BrokerID, timeout time.Duration) (time.Duration, bool)
}
