package results

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// timeline is one partition over the run: every replica's log end and high watermark as lines, and its role, epoch and ISR
// membership as a lane.
type timeline struct {
	Name    string      `json:"name"`
	Brokers []int32     `json:"brokers"`
	T       column      `json:"t"`
	LEO     []column    `json:"leo"` // one a replica
	HW      []column    `json:"hw"`
	Lanes   [][]segment `json:"lanes"`

	partition history.Partition
}

// segment is a stretch of a replica's lane.
type segment struct {
	From  seconds `json:"f"`
	To    seconds `json:"t"`
	Role  role    `json:"r"`
	Epoch int32   `json:"e"` // the leader epoch that the replica is in, -1 if not known
}

// role is what a replica is to its partition.
type role string

// The roles, worst first: a replica that is down is nothing else.
const (
	roleDown    role = "down"    // down, or unreachable for the observer
	rolePaused  role = "paused"  // somebody paused it
	roleLeader  role = "leader"  // leads, and is the partition's leader
	roleDeposed role = "deposed" // believes that it leads; another was elected
	roleInSync  role = "isr"
	roleOutside role = "out"    // up, and not in the ISR
	roleUntold  role = "untold" // changes too often to be drawn further
)

const (
	rowsEven    = 1200 // rows of a timeline that are spread evenly
	rowsExtra   = 1800 // and rows more: changes of role, truncations, and what lies in a window
	segmentsMax = 1500
	replicasMax = 16
)

// timelines follows each partition through the observer's states and the brokers' own steps, merged by index: the states tell
// everything at intervals, the steps the moment at which something changed.
func timelines(h *history.History, findings []checker.Finding, spans []span, end time.Duration) []timeline {
	trackers := map[history.Partition]*tracker{}
	parts := chartedPartitions(h, findings)
	for _, p := range parts {
		trackers[p] = &tracker{end: end, spans: spans, leader: history.NoBroker, epoch: -1}
	}
	states, steps, pauses := h.States, h.Steps, pausesOf(h.Faults)
	next := func() int64 { // the index of what comes next of the steps and the states
		first := int64(math.MaxInt64)
		if len(states) > 0 {
			first = states[0].Index
		}
		if len(steps) > 0 {
			first = min(first, steps[0].Index)
		}
		return first
	}
	for len(states)+len(steps)+len(pauses) > 0 {
		if len(pauses) > 0 && pauses[0].index < next() {
			for _, p := range parts {
				trackers[p].pause(pauses[0])
			}
			pauses = pauses[1:]
			continue
		}
		if len(steps) == 0 || len(states) > 0 && states[0].Index < steps[0].Index {
			for _, ps := range states[0].Partitions {
				if t := trackers[ps.Partition]; t != nil {
					t.state(states[0].Time, ps)
				}
			}
			states = states[1:]
			continue
		}
		s := steps[0]
		steps = steps[1:]
		if s.Partition.Topic != "" {
			if t := trackers[s.Partition]; t != nil {
				t.step(s)
			}
			continue
		}
		for _, p := range parts {
			trackers[p].step(s)
		}
	}
	out := []timeline{}
	for _, p := range parts {
		out = append(out, trackers[p].timeline(p))
	}
	return out
}

// pauseEdge is where a pause of brokers begins or ends.
type pauseEdge struct {
	at      time.Duration
	index   int64
	brokers []history.BrokerID
	begins  bool
}

// pausesOf lists where the pauses that took effect begin and end: what an observer cannot tell from a broker that is down.
func pausesOf(events []history.FaultEvent) (edges []pauseEdge) {
	took := map[int]bool{}
	for _, l := range faultLives(events, nil) {
		took[l.fault] = (l.kind == "pause" || l.kind == "freeze") && l.struck()
	}
	for _, e := range events {
		if took[e.Fault] && (e.Phase == history.FaultApplied || e.Phase == history.FaultUndone) {
			edges = append(edges, pauseEdge{e.Time, e.Index, e.Targets, e.Phase == history.FaultApplied})
		}
	}
	return edges
}

// chartedPartitions picks the partitions that are drawn: those that findings name first, then the others in order.
func chartedPartitions(h *history.History, findings []checker.Finding) []history.Partition {
	all := allPartitions(h)
	named := func(p history.Partition) int {
		return slices.IndexFunc(findings, func(f checker.Finding) bool { return f.Partition == p })
	}
	rank := map[history.Partition]int{}
	for _, p := range all {
		rank[p] = len(findings)
		if i := named(p); i >= 0 {
			rank[p] = i
		}
	}
	slices.SortStableFunc(all, func(p, q history.Partition) int { return rank[p] - rank[q] })
	return all[:min(len(all), partitionsMax)]
}

func allPartitions(h *history.History) []history.Partition {
	seen := map[history.Partition]bool{}
	var all []history.Partition
	note := func(p history.Partition) {
		if p.Topic != "" && !seen[p] {
			seen[p] = true
			all = append(all, p)
		}
	}
	for i := range h.States {
		for _, ps := range h.States[i].Partitions {
			note(ps.Partition)
		}
	}
	for i := range h.Steps {
		note(h.Steps[i].Partition)
	}
	slices.SortFunc(all, history.Partition.Compare)
	return all
}

// tracker is a partition as of one moment, and the rows and lanes drawn so far.
type tracker struct {
	end    time.Duration
	spans  []span
	leader history.BrokerID
	epoch  history.Epoch
	isr    []history.BrokerID
	reps   []*trackedReplica
	rows   []row
	extra  int
	last   time.Duration // of the last row
}

type trackedReplica struct {
	broker    history.BrokerID
	up, leads bool
	gone      bool // by its own last step it is down, which a pause does not change
	paused    bool
	epoch     history.Epoch
	leo, hw   history.Offset
	lane      []segment
}

// row is one moment of the lines: LEO and HW of each replica known by then.
type row struct {
	at  time.Duration
	leo []float64
	hw  []float64
}

func (t *tracker) replica(b history.BrokerID) *trackedReplica {
	for _, r := range t.reps {
		if r.broker == b {
			return r
		}
	}
	if b < 0 || len(t.reps) == replicasMax {
		return nil
	}
	r := &trackedReplica{broker: b, up: true, epoch: -1, leo: history.UnknownOffset, hw: history.UnknownOffset}
	t.reps = append(t.reps, r)
	return r
}

func (t *tracker) state(now time.Duration, ps history.PartitionState) {
	t.leader, t.epoch, t.isr = ps.Leader, ps.Epoch, ps.ISR
	for _, rs := range ps.Replicas {
		r := t.replica(rs.Broker)
		if r == nil {
			continue
		}
		if r.up = rs.Up; rs.Up {
			r.gone, r.leads = false, rs.Leads
			r.epoch, r.leo, r.hw = rs.Epoch, rs.LEO, rs.HW
		}
	}
	t.draw(now, false)
}

// pause enters that brokers are paused, or go on. One that goes on is as it was, until somebody looks.
func (t *tracker) pause(e pauseEdge) {
	for _, r := range t.reps {
		if slices.Contains(e.brokers, r.broker) {
			r.paused = e.begins
			r.up = r.up || !e.begins && !r.gone
		}
	}
	t.draw(e.at, true)
}

func (t *tracker) step(s history.Step) {
	if s.Kind == history.StepISR {
		t.isr = s.ISR
		t.draw(s.Time, true)
		return
	}
	if s.Partition.Topic == "" && !slices.ContainsFunc(t.reps, func(r *trackedReplica) bool { return r.broker == s.Broker }) {
		return // a broker that has no replica of this partition
	}
	r := t.replica(s.Broker)
	if r == nil {
		return
	}
	steady := false
	switch s.Kind {
	case history.StepElection:
		r.leads, r.epoch = true, s.Epoch
		if s.Epoch >= t.epoch {
			t.leader, t.epoch = s.Broker, s.Epoch
		}
	case history.StepFollow:
		r.leads, r.epoch = false, s.Epoch
	case history.StepHW:
		r.hw, steady = s.To, true
	case history.StepAppend:
		r.leo, steady = s.To, true
	case history.StepTruncate, history.StepRecovery:
		r.leo = s.To
	case history.StepStart:
		r.up, r.gone, r.leads = true, false, false
		if s.Partition.Topic != "" {
			r.leo = s.To
		}
	case history.StepDown:
		r.up, r.gone, r.leads = false, true, false
	}
	t.draw(s.Time, !steady)
}

// draw adds what changed to the lanes, and a row to the lines unless the last one is near and this one is nothing special.
func (t *tracker) draw(now time.Duration, special bool) {
	for _, r := range t.reps {
		t.extend(r, now)
	}
	due := len(t.rows) == 0 || now-t.last >= t.end/rowsEven
	if !due {
		special = special || slices.ContainsFunc(t.spans, func(s span) bool { return s.holds(now) })
		if !special || t.extra == rowsExtra {
			return
		}
		t.extra++
	}
	t.last = now
	next := row{at: now}
	for _, r := range t.reps {
		next.leo = append(next.leo, known(r.up, r.leo))
		next.hw = append(next.hw, known(r.up, r.hw))
	}
	t.rows = append(t.rows, next)
}

func known(up bool, o history.Offset) float64 {
	if !up || o < 0 {
		return math.NaN()
	}
	return float64(o)
}

func (t *tracker) extend(r *trackedReplica, now time.Duration) {
	role := t.role(r)
	n := len(r.lane)
	if n > 0 {
		open := &r.lane[n-1]
		if open.Role == role && open.Epoch == int32(r.epoch) || open.Role == roleUntold {
			return
		}
		open.To = seconds(now)
		if n == segmentsMax {
			role = roleUntold
		}
	}
	r.lane = append(r.lane, segment{From: seconds(now), To: seconds(t.end), Role: role, Epoch: int32(r.epoch)})
}

func (t *tracker) role(r *trackedReplica) role {
	switch {
	case r.gone:
		return roleDown
	case r.paused:
		return rolePaused
	case !r.up:
		return roleDown
	case r.leads && r.broker == t.leader:
		return roleLeader
	case r.leads:
		return roleDeposed
	case slices.Contains(t.isr, r.broker):
		return roleInSync
	default:
		return roleOutside
	}
}

// timeline turns rows into columns, the replicas in order of their ids.
func (t *tracker) timeline(p history.Partition) timeline {
	order := make([]int, len(t.reps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(t.reps[i].broker, t.reps[j].broker) })
	out := timeline{Name: clip(p.String(), 120), partition: p, T: make(column, len(t.rows)), Brokers: []int32{}, LEO: []column{}, HW: []column{}, Lanes: [][]segment{}}
	for i, r := range t.rows {
		out.T[i] = r.at.Seconds()
	}
	for _, i := range order {
		leo, hw := make(column, len(t.rows)), make(column, len(t.rows))
		for j, r := range t.rows {
			leo[j], hw[j] = math.NaN(), math.NaN()
			if i < len(r.leo) {
				leo[j], hw[j] = r.leo[i], r.hw[i]
			}
		}
		lane := t.reps[i].lane
		if lane == nil {
			lane = []segment{}
		}
		out.Brokers = append(out.Brokers, int32(t.reps[i].broker))
		out.LEO, out.HW, out.Lanes = append(out.LEO, leo), append(out.HW, hw), append(out.Lanes, lane)
	}
	return out
}

// laneView is what stands beside a partition's charts: its replicas at the end, and its changes in words.
type laneView struct {
	Name        string
	Index       int
	Final       []replicaRow
	Changes     []stepView
	ChangesLeft int
}

// replicaRow is one replica at the end of the run.
type replicaRow struct {
	Broker, Role, Epoch, LEO, HW string
}

const laneChangesMax = 200

// laneViews tells each drawn partition in words; left counts the partitions that are not drawn.
func laneViews(lines []timeline, h *history.History) (views []laneView, left int) {
	for i, line := range lines {
		view := laneView{Name: line.Name, Index: i}
		for j, b := range line.Brokers {
			r := replicaRow{Broker: brokerWord(history.BrokerID(b)), Role: "–", Epoch: "–", LEO: lastKnown(line.LEO[j]), HW: lastKnown(line.HW[j])}
			if n := len(line.Lanes[j]); n > 0 {
				last := line.Lanes[j][n-1]
				r.Role, r.Epoch = last.Role.word(), epochWord(history.Epoch(last.Epoch))
			}
			view.Final = append(view.Final, r)
		}
		for _, s := range h.Steps {
			if s.Partition.Topic != "" && s.Partition != line.partition || s.Kind == history.StepAppend || s.Kind == history.StepHW {
				continue
			}
			if len(view.Changes) == laneChangesMax {
				view.ChangesLeft++
				continue
			}
			view.Changes = append(view.Changes, viewStep(s))
		}
		views = append(views, view)
	}
	return views, len(allPartitions(h)) - len(lines)
}

func (r role) word() string {
	switch r {
	case roleDown:
		return "down or unreachable"
	case rolePaused:
		return "paused"
	case roleLeader:
		return "leader"
	case roleDeposed:
		return "believes that it leads"
	case roleInSync:
		return "in sync"
	case roleOutside:
		return "out of sync"
	default:
		return "not drawn"
	}
}

func lastKnown(c column) string {
	for i := len(c) - 1; i >= 0; i-- {
		if !math.IsNaN(c[i]) {
			return offsetWord(history.Offset(c[i]))
		}
	}
	return "–"
}
