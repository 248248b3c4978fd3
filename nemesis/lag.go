package nemesis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// What a plan's lag may be. Less than lagMin is not told from what machines do by themselves; of overtaking packets more than reorderMax would leave no lag.
const (
	lagMin     = 10 * time.Millisecond
	lagMax     = 10 * time.Second
	reorderMin = 0.01
	reorderMax = 0.5
)

// A lag delays packets on links between brokers.
var lagKind = kind{
	ability: world.CanLag,
	asked:   true,
	read:    readLag,
	write:   writeLag,
	check:   checkSides,
	also:    alsoLag,
	resolve: resolveLinks,
	act:     func(l *life, links []link) action { return &lag{life: l, links: links} },
	useful:  twoBrokers,
	draw:    (*drawer).lag,
	steady:  true,
	length:  func(d *drawer) time.Duration { return d.span(min(d.telling, d.longest), d.longest) },
	opener: func(p history.Partition) Fault {
		f := cutKind.opener(p)
		f.Kind, f.By = world.CanLag, lagMax
		return f
	},
	bites: func(d *drawer, l Line) bool {
		return d.hasReplica(l.Fault.Targets) && l.For >= 2*d.telling && l.Fault.Shape == Split && l.Fault.By-l.Fault.Jitter >= d.telling && l.Fault.Share == 0
	},
}

// readLag reads two sides and a delay, and perhaps its jitter and a share of packets that overtake.
func readLag(w *words, f *Fault) (err error) {
	if err = w.sides(f, false); err != nil {
		return err
	}
	if err = w.want("by"); err != nil {
		return err
	}
	by, err := time.ParseDuration(w.peek())
	if err != nil || by < lagMin || by > lagMax {
		return w.expected(fmt.Sprintf("a duration from %v to %v", lagMin, lagMax))
	}
	w.next++
	f.By = by
	if w.take("jitter") {
		d, err := time.ParseDuration(w.peek())
		if err != nil || d <= 0 || d > by {
			return w.expected(fmt.Sprintf("a duration above 0s and up to the lag's %v", by))
		}
		w.next++
		f.Jitter = d
	}
	if w.take("reorder") {
		x, err := strconv.ParseFloat(w.peek(), 64)
		if err != nil || !(x >= reorderMin && x <= reorderMax) {
			return w.expected(fmt.Sprintf("a share of the packets from %v to %v", reorderMin, reorderMax))
		}
		w.next++
		f.Share = x
	}
	return nil
}

func writeLag(f Fault) string {
	s := f.sides() + " by " + Lasting(f.By)
	if f.Jitter > 0 {
		s += " jitter " + Lasting(f.Jitter)
	}
	if f.Share > 0 {
		s += " reorder " + decimal(f.Share)
	}
	return s
}

// alsoLag is what could stand behind what was read of a lag.
func alsoLag(f Fault) string {
	switch {
	case f.Share > 0:
		return ""
	case f.Jitter > 0:
		return `"reorder", `
	}
	return `"jitter", "reorder", `
}

// lag is the lag that a line of that kind asks for.
func (f Fault) lag() world.Lag { return world.Lag{By: f.By, Jitter: f.Jitter, Reorder: f.Share} }

// lag is a network on which packets are late, on a set of links. A link has one lag at a time: two would be a third one.
type lag struct {
	*life
	links []link
	done  []link                 // those on which this fault delays packets
	quick map[link]time.Duration // how long a message took on each before, where one could be sent
	seen  map[link]string        // what was seen of those that are late: one look may meet too few messages that are
}

func (l *lag) gaps() []gap { return at(world.AnyPort, l.links) }

func (l *lag) ready() string {
	if len(l.meaningful(l.gaps())) == 0 {
		return "no link of the lag has both ends up: " + text(l.gaps())
	}
	return ""
}

func (l *lag) claim(history.ClusterState) string {
	if taken := claim(l.lagged, l.event.Fault, l.links); len(taken) > 0 {
		return "another fault delays packets already on " + text(at(world.AnyPort, taken))
	}
	return ""
}

// apply measures every link before it is late.
func (l *lag) apply() (string, error) {
	l.quick = l.measure(l.undisturbed(), l.probeTime(l.line.For))
	said := ""
	for _, k := range l.links {
		detail, err := l.Cluster.Lag(k.from, k.to, l.line.Fault.lag())
		if err != nil {
			return "", fmt.Errorf("lag on %v: %w", k, err)
		}
		if detail != "" {
			said = ", " + detail
		}
		l.done = append(l.done, k)
	}
	_, late, _ := strings.Cut(writeLag(l.line.Fault), " by ")
	return fmt.Sprintf("late by %s on %s%s", late, text(l.gaps()), said), nil
}

// undisturbed lists the links that a message passes, and at once but for this fault.
func (l *lag) undisturbed() []link {
	var links []link
	for _, g := range l.uncut(l.gaps()) {
		if !l.disturbed(g.link) {
			links = append(links, g.link)
		}
	}
	return links
}

// disturbed reports whether packets are lost on a link, or late by another fault.
func (l *lag) disturbed(k link) (is bool) {
	l.locked(func() {
		_, is = l.lossy[k]
		if by, late := l.lagged[k]; late && by != l.event.Fault {
			is = true
		}
	})
	return is
}

// messages is how many messages a measurement sends over a link at a time, and how many of them must be late: what one of them met by chance, or that one
// of them overtook, does not count. Most are late by half of the lag where the jitter is smaller than that, and few overtake: so the median of a few tells. Else
// more are sent, and a third of those that are to be expected must be late.
func (f Fault) messages() (sent, late int) {
	share := 1 - f.Share
	if f.Jitter > f.By/2 { // which is drawn evenly on both sides
		share *= float64(f.Jitter+f.By/2) / float64(2*f.Jitter)
	}
	if share >= 0.9 {
		return 5, 3
	}
	return 31, int(math.Ceil(31 * share / 3))
}

// silence is how long nothing arrives before that alone tells of a lag, where a fault ends before half of its lag is over. Machines by themselves are seldom
// so slow.
const silence = time.Second

// measure tells how long messages take on some links, so many of them as must be late at least that long. A link over which one does not arrive in time is left out.
func (l *lag) measure(links []link, timeout time.Duration) map[link]time.Duration {
	sent, late := l.line.Fault.messages()
	times := make([]time.Duration, sent*len(links))
	passed := make([]bool, len(times))
	l.each("nemesis probe", len(times), func(i int) {
		k := links[i/sent]
		times[i], passed[i] = l.Cluster.Transit(k.from, k.to, timeout)
	})
	took := make(map[link]time.Duration, len(links))
	for i, k := range links {
		of := times[sent*i:][:sent]
		if slices.Contains(passed[sent*i:][:sent], false) {
			continue
		}
		slices.Sort(of)
		took[k] = of[sent-late]
	}
	return took
}

// late reports whether a link is slower than before by half of the lag: a jitter takes no more from most of its packets, and by itself no link is.
func (l *lag) late(k link, took time.Duration) bool { return took >= l.quick[k]+l.line.Fault.By/2 }

// patience is how long a message under the lag may take.
func (l *lag) patience() time.Duration {
	return l.line.Fault.By + l.line.Fault.Jitter + l.probeTime(0)
}

// probe measures every link again that was measured before: a message must take longer by about the lag.
func (l *lag) probe() (string, error) {
	var said []string
	open := slices.DeleteFunc(l.undisturbed(), func(k link) bool {
		_, known := l.quick[k]
		seen := l.seen[k]
		if seen != "" {
			said = append(said, seen)
		}
		return !known || seen != ""
	})
	wait := min(l.patience(), l.end-l.Env.Now()) // behind its end there is nothing to see
	took := l.measure(open, wait)
	still := l.undisturbed()
	var missing error
	for _, k := range open {
		now, arrived := took[k]
		switch {
		case !slices.Contains(still, k):
			continue
		case !arrived && wait < l.patience() && wait >= l.quick[k]+min(l.line.Fault.By/2, silence):
			l.saw(k, fmt.Sprintf("more than %s on %v, %s before", brief(wait), k, brief(l.quick[k])))
		case !arrived:
			missing = cmp.Or(missing, fmt.Errorf("nothing arrives on %v within %s", k, brief(wait)))
			continue
		case !l.late(k, now):
			missing = cmp.Or(missing, fmt.Errorf("a message takes %s on %v, %s before: expected about %s more", brief(now), k, brief(l.quick[k]), Lasting(l.line.Fault.By)))
			continue
		default:
			l.saw(k, fmt.Sprintf("%s on %v, %s before", brief(now), k, brief(l.quick[k])))
		}
		said = append(said, l.seen[k])
	}
	if missing != nil {
		return "", missing
	}
	if len(said) == 0 {
		return "", fmt.Errorf("%w: no link of the lag is uncut, loses nothing and has both ends up", errHidden)
	}
	return "a message takes " + strings.Join(said, "; "), nil
}

func (l *lag) saw(k link, what string) {
	if l.seen == nil {
		l.seen = map[link]string{}
	}
	l.seen[k] = what
}

// brief is a measured time to the digits that matter.
func brief(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}

func (l *lag) undo() error {
	var errs []error
	for i, k := range slices.Backward(l.done) {
		if err := l.Cluster.EndLag(k.from, k.to); err != nil {
			errs = append(errs, fmt.Errorf("lag on %v: %w", k, err))
			continue
		}
		l.done = slices.Delete(l.done, i, i+1)
	}
	if len(errs) == 0 {
		l.release()
	}
	return errors.Join(errs...)
}

// verify looks whether messages pass, and as fast as before.
func (l *lag) verify() (string, error) {
	open := l.undisturbed()
	took := l.measure(open, l.patience())
	still := l.undisturbed()
	for _, k := range open {
		if now, arrived := took[k]; slices.Contains(still, k) && arrived && l.late(k, now) {
			return "", fmt.Errorf("a message still takes %s on %v, %s before", brief(now), k, brief(l.quick[k]))
		}
	}
	return l.reopened(l.gaps())
}

// release gives the links back. It is called again after undo, when another fault may have them.
func (l *lag) release() {
	l.locked(func() {
		for _, k := range l.links {
			if l.lagged[k] == l.event.Fault {
				delete(l.lagged, k)
			}
		}
	})
}

// lag draws packets that are late, around one target: from a little, as between distant places, to beyond what sessions last. None overtakes: not every
// kernel can have that.
func (d *drawer) lag(p history.Partition) Fault {
	one, rest := []Target{d.target(p)}, []Target{{Role: Rest}}
	f := Fault{Kind: world.CanLag, Targets: one, Others: rest}
	switch x := d.rnd.Float64(); {
	case x < 0.6:
	case x < 0.8:
		f.Shape = OneWay
	default:
		f.Shape, f.Targets, f.Others = OneWay, rest, one
	}
	f.By = d.span(lagMin, lagMax)
	if d.chance(0.5) {
		f.Jitter = max(time.Millisecond, neat(time.Duration(d.rnd.Float64()*float64(f.By))))
	}
	return f
}
