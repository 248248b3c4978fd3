package checker

import "tidemark/history"

// copies is what the log holds of a value that was sent more than once, beside what stands where an acknowledgement named it.
type copies struct {
	spare    []int32 // slots
	unplaced int     // acknowledgements without an offset, of which each has one
	unknown  int     // sends of unknown outcome, of which each may have one
}

// copyOf finds the copy of a value sent more than once that an acknowledgement is of: the one at its offset, else one that no acknowledgement
// names and no other send can have brought. nil if there is none: it is gone, or stands where nothing at the end tells about.
func (c *partCheck) copyOf(w *write, first nth) *slot {
	if c.copies == nil {
		c.countCopies()
	}
	l, have := &c.log, c.copies[first]
	if w.offset < 0 {
		have.unplaced--
		if len(have.spare) == 0 {
			return nil
		}
		s := &l.slots[have.spare[0]]
		have.spare = have.spare[1:]
		return s
	}
	if here := l.at(w.offset); here != nil && here.value == w.value {
		return here
	}
	n := len(have.spare)
	if c.trimmed(w.offset) || n <= have.unplaced+have.unknown {
		return nil
	}
	s := &l.slots[have.spare[n-1]]
	have.spare = have.spare[:n-1]
	return s
}

// countCopies counts what the log holds of each value that was sent more than once.
func (c *partCheck) countCopies() {
	type place struct {
		first  nth
		offset history.Offset
	}
	c.copies = make(map[nth]*copies, len(c.sends.again))
	for first := range c.sends.again {
		c.copies[first] = &copies{}
	}
	named := map[place]bool{}
	for i := range c.sent {
		w := &c.sent[i]
		first := c.sends.find(w.value)
		have := c.copies[first]
		switch {
		case have == nil || w.outcome == history.Fail:
		case !w.told:
			have.unknown++
		case w.offset < 0:
			have.unplaced++
		default:
			named[place{first, w.offset}] = true
		}
	}
	for i := range c.log.slots {
		s := &c.log.slots[i]
		if have := c.copies[s.send]; have != nil && !named[place{s.send, s.offset}] {
			have.spare = append(have.spare, int32(i))
		}
	}
}
