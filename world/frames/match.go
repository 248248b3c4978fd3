package frames

import "tidemark/history"

// Match is which of the messages of a fault concern a partition. The zero Match concerns all.
type Match struct {
	Partition history.Partition
	// RaisesHW wants of Fetch responses those whose high watermark of the partition is above that of the one before, on the same link, since the
	// fault began: the first tells where it stands, and is none of them.
	RaisesHW bool
}

// Any reports whether every message is meant, so that none needs to be read.
func (m Match) Any() bool { return m == Match{} }

// Matcher follows the messages of one fault. Its methods are called one at a time.
type Matcher[Link comparable] struct {
	Match
	last map[Link]history.Offset
}

// Meets reports whether a message that passes on a link is meant.
func (m *Matcher[Link]) Meets(at Link, told []Told) bool {
	if m.Any() {
		return true
	}
	for _, t := range told {
		if t.Partition != m.Partition {
			continue
		}
		if !m.RaisesHW {
			return true
		}
		if t.HW == history.UnknownOffset {
			return false
		}
		before, known := m.last[at]
		if m.last == nil {
			m.last = map[Link]history.Offset{}
		}
		m.last[at] = max(before, t.HW)
		return known && t.HW > before
	}
	return false
}
