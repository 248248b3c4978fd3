package checker

import (
	"fmt"

	"tidemark/history"
)

// checkRestarts holds a replica that starts to the high watermark that it started with before: its broker saves those of all replicas, also
// of those that nobody leads yet, so that after a kill or an orderly end the file tells at least as much, or what is left of the log since
// (KAFKA-769, KAFKA-1647). A power failure or a failing disk may bring back an older file, and a wipe leaves none. Of a topic that was deleted the
// file says nothing, though the log may still be there when the broker starts.
func (c *logCheck) checkRestarts() {
	type place struct {
		part   history.Partition
		broker history.BrokerID
	}
	before := map[place]history.Offset{}
	for i := range c.h.Steps {
		s := &c.h.Steps[i]
		at := place{s.Partition, s.Broker}
		hw, started := before[at]
		switch {
		case s.Kind == history.StepDown && s.Detail != endedByKill && s.Detail != endedInOrder:
			for other := range before {
				if other.broker == s.Broker {
					delete(before, other)
				}
			}
		case s.Kind == history.StepTruncate, s.Kind == history.StepRecovery, s.Kind == history.StepHW && s.To < s.From:
			if started {
				before[at] = min(hw, s.To)
			}
		case s.Kind == history.StepStart:
			if part, known := c.numbers.index[s.Partition]; known && !c.deleted(part) {
				if least := min(hw, s.To); started && s.From < least {
					c.hwBack(part, s.From, least, fmt.Sprintf("broker %d started with the high watermark %d at %s, and had %d when it started before",
						s.Broker, s.From, clock(int64(s.Time)), hw))
				}
				before[at] = s.From
			}
		}
	}
}

// What a StepDown tells of a broker that was killed, and of one that was asked to end.
const (
	endedByKill  = "killed"
	endedInOrder = "shut down"
)
