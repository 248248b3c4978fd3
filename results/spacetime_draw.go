package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"tidemark/history"
)

// draw gives everything its place.
func (c *scene) draw(line *timeline, lives []life) *diagram {
	order := make([]int, len(c.marks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &c.marks[i], &c.marks[j]
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.index, b.index), cmp.Compare(len(a.text), len(b.text)))
	})
	d := &diagram{Width: diagramWidth, Top: diagramHead, TextX: diagramWidth - diagramText}
	if line != nil {
		for _, b := range line.Brokers {
			if !slices.Contains(c.brokers, history.BrokerID(b)) && len(c.brokers) < diagramBrokersMax {
				c.brokers = append(c.brokers, history.BrokerID(b))
			}
		}
	}
	slices.Sort(c.brokers)
	slices.SortStableFunc(c.clients, func(a, b client) int { return cmp.Compare(a.number, b.number) })
	x := c.columns(d)
	order, d.Left = c.thinned(order)
	d.OpsLeft = c.opsLeft
	y := make(map[int]int, len(order))
	c.rows(d, order, x, y)
	at := func(t time.Duration) int { return c.place(order, y, t, d) }
	for _, fl := range c.flights {
		y1, ok1 := y[fl.from]
		y2, ok2 := y[fl.to]
		x1, drawn1 := x[c.marks[fl.from].who]
		x2, drawn2 := x[c.marks[fl.to].who]
		if ok1 && ok2 && drawn1 && drawn2 {
			d.Arrows = append(d.Arrows, arrow{x1, y1, x2, y2, fl.kind})
		}
	}
	c.roles(d, line, x, at)
	c.bands(d, lives, x, at)
	return d
}

// thinned leaves out rows until the others find room, and counts them: first faults that the witness does not name, whose bands stay, then what
// does not touch the message, then what comes last. The told message's send and its answer stay.
func (c *scene) thinned(order []int) (kept []int, left int) {
	rows := 0
	for _, n := range order {
		if c.marks[n].text != "" {
			rows++
		}
	}
	for _, idle := range []func(m *mark) bool{
		func(m *mark) bool { return m.kind == "fault" && !m.key },
		func(m *mark) bool {
			return !m.key && m.kind != string(history.StepElection) && m.kind != string(history.StepTruncate)
		},
		func(*mark) bool { return true },
	} {
		for i := len(order) - 1; i >= 0 && rows > diagramRowsMax; i-- {
			if m := &c.marks[order[i]]; m.text != "" && !m.told && idle(m) {
				order = slices.Delete(order, i, i+1)
				rows, left = rows-1, left+1
			}
		}
	}
	return order, left
}

// columns places the lines, clients before brokers.
func (c *scene) columns(d *diagram) map[party]int {
	n := len(c.clients) + len(c.brokers)
	wide := min((d.TextX-diagramGutter-20)/max(n, 1), 104)
	x := map[party]int{nobody: -1}
	next := diagramGutter + wide/2
	for _, k := range c.clients {
		x[party{true, k.process}] = next
		d.Lines = append(d.Lines, lifeline{X: next, Name: "process " + strconv.Itoa(int(k.process)), Sub: c.names[k.number]})
		next += wide
	}
	for _, b := range c.brokers {
		x[brokerParty(b)] = next
		d.Lines = append(d.Lines, lifeline{X: next, Name: brokerWord(b)})
		next += wide
	}
	d.TextX = next - wide/2 + 26
	d.head(wide)
	return x
}

// head places the names of the lines, which stand wide apart: in one row, or, where they would touch, in two in turns.
func (d *diagram) head(wide int) {
	rows := 1
	for _, l := range d.Lines {
		if headWidth(l) > wide {
			rows = 2
		}
	}
	for i := range d.Lines {
		l := &d.Lines[i]
		l.Y = diagramHeadFirst + i%rows*diagramHeadRow
		l.SubY = l.Y + diagramHeadSub
	}
	d.Top += (rows - 1) * diagramHeadRow
}

// headWidth is how much room the name of a line takes, with what stands under it and a gap.
func headWidth(l lifeline) int {
	return int(diagramRuneWidth*float64(max(utf8.RuneCountInString(l.Name), utf8.RuneCountInString(l.Sub)))) + 6
}

// rows places the marks that have words, one below another, and those without between their neighbours.
func (c *scene) rows(d *diagram, order []int, x map[party]int, y map[int]int) {
	at := d.Top + diagramRowLeast
	var last time.Duration
	first := true
	for _, n := range order {
		m := &c.marks[n]
		if m.text == "" && !first { // a moment that the arrow alone tells
			if m.at > last {
				at += 8
			}
			y[n] = at
			continue
		}
		row := diagramRow{At: strconv.FormatFloat(m.at.Seconds(), 'f', 3, 64), Seconds: inSeconds(m.at), Kind: m.kind, Key: m.key, Text: clipped(m.text, int(float64(d.Width-d.TextX-8)/diagramRuneWidth)), Full: m.full}
		if !first {
			gap := rowGap(m.at - last)
			if m.at-last >= diagramGapLeast {
				row.Gap, row.GapY = "+ "+strconv.FormatFloat((m.at-last).Seconds(), 'f', 1, 64)+" s", at+gap/2+4
			}
			at += gap
		}
		first, last = false, m.at
		row.Y, y[n] = at, at
		if m.who != nobody {
			row.X, row.Dot = x[m.who]
		}
		d.Rows = append(d.Rows, row)
	}
	d.Foot = at + diagramRowLeast
	d.Height = d.Foot + 6
}

// rowGap is the distance of two rows.
func rowGap(dt time.Duration) int {
	return min(diagramRowLeast+int(6*math.Log10(1+max(dt, 0).Seconds()*1000)), diagramRowMost)
}

// place is where a time lies between the rows.
func (c *scene) place(order []int, y map[int]int, t time.Duration, d *diagram) int {
	before, after := -1, -1
	for _, n := range order {
		if _, ok := y[n]; !ok {
			continue
		}
		if c.marks[n].at <= t {
			before = n
			continue
		}
		after = n
		break
	}
	switch {
	case before < 0:
		return d.Top
	case after < 0:
		return d.Foot
	}
	share := float64(t-c.marks[before].at) / float64(c.marks[after].at-c.marks[before].at)
	return y[before] + int(share*float64(y[after]-y[before]))
}

// roles colours the brokers' lines.
func (c *scene) roles(d *diagram, line *timeline, x map[party]int, at func(time.Duration) int) {
	if line == nil {
		return
	}
	for i, b := range line.Brokers {
		column, ok := x[brokerParty(history.BrokerID(b))]
		if !ok {
			continue
		}
		for _, s := range line.Lanes[i] {
			top, foot := at(time.Duration(s.From)), at(time.Duration(s.To))
			if foot <= top {
				continue
			}
			d.Roles = append(d.Roles, roleBox{column - 4, top, foot - top, s.Role, fmt.Sprintf("broker %d: %s, epoch %s", b, s.Role.word(), epochWord(history.Epoch(s.Epoch)))})
		}
	}
}

// bands shades the brokers that a fault had in its grip.
func (c *scene) bands(d *diagram, lives []life, x map[party]int, at func(time.Duration) int) {
	taken := map[int]int{}
	for i := range lives {
		l := &lives[i]
		if !l.struck() {
			continue
		}
		top, foot := at(l.begun), d.Foot
		if l.ended() >= 0 {
			foot = at(l.ended())
		}
		if foot <= top {
			continue
		}
		struck := l.targets
		if len(struck) == 0 {
			struck = c.brokers
		}
		for _, b := range struck {
			column, ok := x[brokerParty(b)]
			if !ok || len(d.Bands) == 2*diagramRowsMax {
				continue
			}
			shift := 4 * (taken[column] % 4) // so that two on one broker are told apart
			taken[column]++
			d.Bands = append(d.Bands, bandBox{column - 26 + shift, top, 44, foot - top, hueOf(lives, l.kind), fmt.Sprintf("#%d", l.fault+1), fmt.Sprintf("fault #%d: %s", l.fault+1, clip(l.line, 200)) + l.lateWord(), nil})
		}
	}
	labelBands(d.Bands, d.Foot)
}

// Sizes of a band's label.
const (
	labelRuneWidth = 6.4
	labelHeight    = 11
	labelLower     = 3 // rows that a label may stand below the head of its band
)

// labelBands names the bands, from above: at the head of a band, in its left or its right half, or in a row further down where another name stands
// already. One that finds no room stays without; the name that is in its way gets an ellipsis, and tells of it in its title.
func labelBands(bands []bandBox, foot int) {
	order := make([]int, len(bands))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(bands[i].Y, bands[j].Y) })
	width := func(name string) int { return int(labelRuneWidth * float64(len(name)+1)) } // with the ellipsis that it may get
	var named []int
	inTheWay := func(x, y, w int) int {
		return slices.IndexFunc(named, func(n int) bool {
			l := bands[n].Label
			return x < l.X+width(bands[n].Name) && l.X < x+w && y < l.Y+labelHeight && l.Y < y+labelHeight
		})
	}
	for _, n := range order {
		b := &bands[n]
		w := width(b.Name)
		first := -1 // the name that is in its way
		for slot := range 2 * (labelLower + 1) {
			x, y := b.X+2+slot%2*(b.W-w-2), b.Y+labelHeight-1+slot/2*labelHeight
			if slot > 1 && y > foot {
				break
			}
			in := inTheWay(x, y, w)
			if in < 0 {
				b.Label = &bandLabel{x, y, b.Name}
				named = append(named, n)
				break
			}
			if first < 0 {
				first = named[in]
			}
		}
		if b.Label == nil {
			other := &bands[first]
			other.Label.Text = other.Name + "…"
			other.Title = clip(other.Title+"; and "+b.Title, textRunesMax)
		}
	}
}

// clipped shortens text without saying by how much: the whole stands beside it.
func clipped(text string, runes int) string {
	n := 0
	for i := range text {
		if n == runes-1 && len([]rune(text[i:])) > 1 {
			return text[:i] + "…"
		}
		n++
	}
	return text
}
