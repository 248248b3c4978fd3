package index

// Runs count once. What a simulated run comes to follows from its seed, its options and the program, so the campaigns of one label, build and master seed
// carry out the same runs under the same numbers, and what they come to the second time is no evidence. One that goes further adds only what it has more.

// source is what the drawn runs of a part follow from, but for their numbers.
type source struct {
	build, bug, part, subject string
	master                    uint64
	campaign                  string // of runs in containers, by name: they are others each time
}

// source is that of a part of the campaign.
func (c *Stored) source(p *Part) source {
	s := source{build: c.Build, bug: c.Bug, part: p.Name, subject: p.Subject, master: c.Master}
	if p.Real {
		s.campaign = c.Name
	}
	return s
}

// sighting is a part of a campaign that saw a problem: the same one again is no other night.
type sighting struct {
	source source
	first  int
}

// span is runs of a source: the numbers from first to before end, and how many of them told something.
type span struct{ first, end, telling int }

// span is the drawn runs of a part: those behind the scenarios of the corpus, which come first.
func (p *Part) span() span {
	drawn := p.Runs
	for i := range p.Checks {
		if p.Checks[i].scenario() {
			drawn--
		}
	}
	return span{p.First, p.First + max(0, drawn), p.telling()}
}

// holds reports whether all of another span's runs are among its own.
func (s span) holds(o span) bool { return s.first <= o.first && o.end <= s.end }

// taken is the runs that were counted, by source.
type taken map[source][]span

// take counts runs, and says how many of those that told something had not been counted before. Nobody knows which runs of a span told something, so where
// two overlap in part, as many as can be were counted before.
func (t taken) take(of source, s span) int {
	fresh := s.telling
	var apart []span
	for _, o := range t[of] {
		overlap := min(s.end, o.end) - max(s.first, o.first)
		switch {
		case overlap <= 0:
			apart = append(apart, o)
		case o.holds(s):
			return 0
		case s.holds(o):
			fresh -= o.telling
		default:
			fresh -= min(overlap, o.telling)
			apart = append(apart, o)
		}
	}
	t[of] = append(apart, s)
	return max(0, fresh)
}
