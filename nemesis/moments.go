package nemesis

import "time"

// moments are times at which something begins or ends: faults that begin and end a little before or behind those of others come in every order, which matters
// more than how long they last.
type moments struct {
	*drawer
	from   time.Duration
	within time.Duration // of from: the moments that are drawn by themselves
	known  []time.Duration
}

// nearMax is how far from a moment another one is that is near it.
const nearMax = 500 * time.Millisecond

func (m *moments) add(t ...time.Duration) { m.known = append(m.known, t...) }

// draw is a time near one of the moments, or anywhere.
func (m *moments) draw() time.Duration {
	if len(m.known) == 0 || m.chance(0.3) {
		return m.from + m.upTo(m.within)
	}
	t := m.known[m.rnd.IntN(len(m.known))]
	if off := m.drawer.span(time.Millisecond, nearMax); m.chance(0.5) {
		return t + off
	} else if t > off {
		return t - off
	}
	return t
}

// span draws a beginning, and a length: until such a moment, or from low to high. Both are moments from then on.
func (m *moments) span(low, high time.Duration) (at, length time.Duration) {
	at = m.draw()
	length = m.drawer.span(low, high)
	if end := m.draw(); end > at && m.chance(0.7) {
		length = end - at
	}
	m.add(at, at+length)
	return at, length
}
