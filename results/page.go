package results

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// page is what the template shows. Everything here is text that the template escapes; Data is for the charts and the table
// of operations, which a script draws.
type page struct {
	Title, Name             string
	Of                      string // whose page it is, for programs
	Status, Headline        string
	Reason, Truncated       string
	SecondJudge             string
	Blind                   []string // what was not looked at
	Picture                 string   // file of the second judge's picture, "" if there is none
	LoadBegan               string   // "" if the history does not tell
	Replay                  string
	Glance                  []fact
	Findings                []findingView
	NoFinding               string // what it means that there is none
	ReplayNote              string
	ReplayNeeds             string // what has to be at hand for the line, "" if it is enough
	FindingsLeft            int
	Windows                 []windowView
	Faults                  []faultView
	FaultsLeft, FaultsTotal int
	FaultsObserved          int
	NoFault                 string // what it means that none was requested
	Charted                 bool   // there is a latency or a rate to draw
	Bin                     string
	Lanes                   []laneView
	LanesLeft               int
	Promises                []promise
	Held                    []heldView
	Outcomes                outcomesView
	Contract                []fact
	Because                 string
	Stats                   []fact
	Errors                  []errorCount
	Environment             []fact
	Config                  []fact
	Plan                    string
	Shrunk                  *Shrunk // nil if the run was not shrunk
	OpsShown, OpsAll        int
	Data                    pageData
}

// fact is a name and what it is.
type fact struct{ Name, Value string }

// errorCount is how often operations of a kind ended in an error.
type errorCount struct {
	Kind, Outcome, Error string
	Count                int
}

// pageData is what the page's script draws.
type pageData struct {
	Begin      seconds      `json:"begin"` // what is shown at first: from where the load begins
	End        float64      `json:"end"`
	Bands      []band       `json:"bands"`
	Latency    latency      `json:"latency"`
	Rate       rate         `json:"rate"`
	Partitions []timeline   `json:"partitions"`
	Windows    []windowData `json:"windows"`
	Ops        opsTable     `json:"ops"`
}

// Bounds of the page, so that it stays readable and under 10 MB whatever the run.
const (
	findingsMax   = 25
	windowsMax    = 3
	faultsMax     = 400
	partitionsMax = 8
	errorsMax     = 40
	planBytesMax  = 256 << 10
	textRunesMax  = 2000
)

func newPage(o Outcome, h *history.History, logs Logs) page {
	v := o.Verdict
	end := endOf(o.Run, h)
	spans := windowsOf(v.Findings, h.Marks, end)
	lives := faultLives(h.Faults, h.Steps)
	charts := chart(h.Ops, end)
	lines := timelines(h, v.Findings, spans, end)
	table := tableOf(o.Run, h.Ops, v.Findings, spans)
	p := page{
		Name:        fmt.Sprintf("seed %d", o.Run.Seed),
		Status:      statusWord(v.Status),
		Headline:    headline(v),
		Reason:      clip(v.Reason, textRunesMax),
		Truncated:   clip(o.Truncated, textRunesMax),
		SecondJudge: clip(v.SecondJudge(), textRunesMax),
		Blind:       clipAll(v.Blind),
		Picture:     pictureOf(v),
		LoadBegan:   loadWord(h.Marks),
		Replay:      o.Replay,
		ReplayNote:  replayNote(o),
		ReplayNeeds: replayNeeds(o.Replay),
		NoFinding:   noFinding(v.Status, h),
		NoFault:     noFault(o.Run.Plan),
		Glance:      glance(o, h),
		Windows:     windowViews(spans, h, lives, v.Findings, logsIn(o, spans, v.Findings, logs)),
		Charted:     len(h.Ops) > 0,
		Bin:         secondsWord(binWidth(end)),
		Promises:    promises(v.Contract, v.Findings),
		Held:        heldViews(v.Findings),
		Outcomes:    outcomesOf(o.Run, h),
		Contract:    contractFacts(v.Contract),
		Because:     clip(v.Contract.Because, textRunesMax),
		Stats:       statFacts(v),
		Errors:      errorCounts(h.Ops),
		OpsShown:    len(table.ID),
		OpsAll:      len(h.Ops),
		Plan:        clipBytes(o.Run.Plan, planBytesMax),
		Shrunk:      shrunkView(o.Shrunk),
		Data: pageData{
			Begin: seconds(beginOf(h, end)), End: end.Seconds(), Bands: bandsOf(lives, end), Latency: charts.latency, Rate: charts.rate,
			Partitions: lines, Windows: windowsData(spans, lines, v.Findings), Ops: table,
		},
	}
	p.Title = p.Headline + " · " + p.Name
	p.Of = reportOf(o.Run)
	p.Findings, p.FindingsLeft = findingViews(v.Findings)
	for _, s := range spans {
		if d := diagramOf(o.Run, s, h, v.Findings[s.finding], lines, lives); d != nil {
			d.Number = s.finding + 1
			p.Findings[s.finding].Diagram = d
		}
	}
	p.Faults, p.FaultsObserved = faultViews(lives)
	p.FaultsTotal, p.FaultsLeft = len(lives), len(lives)-len(p.Faults)
	p.Lanes, p.LanesLeft = laneViews(lines, h)
	p.Environment, p.Config = environment(o)
	return p
}

// clipAll is texts short enough for the page.
func clipAll(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, clip(text, textRunesMax))
	}
	return out
}

// shrunkView is what shrinking left, short enough for the page.
func shrunkView(s *Shrunk) *Shrunk {
	if s == nil {
		return nil
	}
	view := Shrunk{Plan: clipBytes(s.Plan, planBytesMax), Replay: clip(s.Replay, textRunesMax), Done: s.Done}
	if view.Plan == "" {
		view.Plan = "# no faults\n"
	}
	return &view
}

// endOf is the last moment that the run tells of, at least its planned length.
func endOf(run history.Run, h *history.History) time.Duration {
	end := max(run.Duration, time.Millisecond)
	for i := range h.Ops {
		end = max(end, h.Ops[i].Invoke, h.Ops[i].Return)
	}
	for i := range h.Faults {
		end = max(end, h.Faults[i].Time)
	}
	for i := range h.States {
		end = max(end, h.States[i].Time)
	}
	for i := range h.Steps {
		end = max(end, h.Steps[i].Time)
	}
	for i := range h.Marks {
		end = max(end, h.Marks[i].Time)
	}
	return end
}

func statusWord(s checker.Status) string {
	switch s {
	case checker.Valid, checker.Invalid, checker.Vacuous:
		return string(s)
	default:
		return string(checker.Unknown)
	}
}

// headline is the verdict in a few words: what kind of trouble, or none.
func headline(v checker.Verdict) string {
	switch v.Status {
	case checker.Valid:
		return "Valid: the log kept its word"
	case checker.Vacuous:
		return "Vacuous: nothing was put to the test"
	case checker.Invalid:
		for _, f := range v.Findings {
			if f.Severity == checker.Violation {
				return "Invalid: " + clip(string(f.Class), 80)
			}
		}
		return "Invalid"
	default:
		return "Unknown: no verdict was reached"
	}
}

// noFinding says what it means that no anomaly was found: little where nothing was judged.
func noFinding(s checker.Status, h *history.History) string {
	switch {
	case len(h.Ops) == 0:
		return "No operation was recorded, so there was nothing in which an anomaly could be found."
	case s == checker.Valid:
		return "No anomaly was found."
	case s == checker.Vacuous:
		return "No anomaly was found, in a run in which nothing could go wrong."
	default:
		return "No anomaly was found in what there is of the run. That is no verdict."
	}
}

// noFault says why no fault was requested: the plan has none, or the run did not come to any.
func noFault(plan string) string {
	for line := range strings.Lines(plan) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return "No fault was requested: the run did not come to those of its plan."
		}
	}
	return "No fault was requested: this run is a baseline."
}

// replayNote says what the replay line does: the same again, the same from the start and then on to the end, or much alike.
func replayNote(o Outcome) string {
	switch {
	case o.contained():
		return "Again, not exact: in containers the line carries out the same options and plan once more, and says how the verdict compares with this one."
	case o.Hash == "" && o.Truncated == "" && o.Verdict.Status != checker.Unknown:
		return "With the same build every step comes again as here. No trace hash is stored that would say so: the line compares the events with trace.hashes."
	case o.Hash == "":
		return "With the same build every step comes again as here, and the line goes on to the end, which this run did not reach."
	default:
		return "Exact: with the same build every step comes again as here, and the trace hash says so."
	}
}

// replayNeeds says what a replay line asks for beside itself: one that names a run's directory is of no use to who has this page alone.
func replayNeeds(line string) string {
	if !strings.Contains(line, " replay ") {
		return ""
	}
	return "The line reads the run's directory, which this file does not hold: whoever was sent the file alone needs the directory too, or the zip of it that export --format zip writes."
}

// loadBegan is when the load began, from which a plan's times count; -1 if the history does not tell.
func loadBegan(marks []history.Mark) time.Duration {
	i := slices.IndexFunc(marks, func(m history.Mark) bool { return m.Name == "load" && !m.Failed })
	if i < 0 {
		return -1
	}
	return marks[i].Time
}

// loadWord is when the load began in words, "" if the history does not tell.
func loadWord(marks []history.Mark) string {
	if t := loadBegan(marks); t >= 0 {
		return at(t)
	}
	return ""
}

// beginOf is from when on the run is shown: brokers that start are idle for seconds, in containers for ten or more. So it is where the load
// begins, in whole seconds, or earlier if an operation or a fault is.
func beginOf(h *history.History, end time.Duration) time.Duration {
	begin := loadBegan(h.Marks)
	for i := range h.Ops {
		begin = min(begin, h.Ops[i].Invoke)
	}
	for i := range h.Faults {
		begin = min(begin, h.Faults[i].Time)
	}
	if begin < 0 || begin >= end {
		return 0
	}
	return begin.Truncate(time.Second)
}

// glance is the run on one line.
func glance(o Outcome, h *history.History) []fact {
	s := o.Verdict.Stats
	facts := []fact{
		{"world", o.Run.World},
		{"brokers", strconv.Itoa(o.Run.Brokers)},
		{"length", secondsWord(o.Run.Duration)},
		{"sends acknowledged", fmt.Sprintf("%s of %s", count(s.Acked), count(s.Sends))},
		{"outcome unknown", fmt.Sprintf("%s (%s in the log)", count(s.Unknown), count(s.UnknownInLog))},
		{"leader changes", count(s.LeaderChanges)},
		{"faults that took effect", fmt.Sprintf("%s of %s", count(s.FaultsObserved), count(s.Faults))},
	}
	if o.Run.Target != "" {
		facts = append(facts, fact{"brokers of", clip(o.Run.Target, 80)})
	}
	if o.Run.Bug != "" {
		facts = append(facts, fact{"bug switched on", clip(o.Run.Bug, 80)})
	}
	if len(h.Ops) == 0 {
		facts = append(facts, fact{"history", "empty"})
	}
	return facts
}

func statFacts(v checker.Verdict) []fact {
	s := v.Stats
	facts := []fact{
		{"Sends", count(s.Sends)},
		{"Sends acknowledged", count(s.Acked)},
		{"Sends failed", count(s.Failed)},
		{"Sends of unknown outcome", count(s.Unknown)},
		{"Of these in the log at the end", count(s.UnknownInLog)},
		{"Polls", count(s.Polls)},
		{"Records read", count(s.Records)},
		{"Leader changes", count(s.LeaderChanges)},
		{"ISR shrinks", count(s.ISRShrinks)},
		{"ISR growths", count(s.ISRGrowths)},
		{"Truncations", count(s.Truncations)},
		{"Torn tails recovered", count(s.TornRecoveries)},
		{"Faults", count(s.Faults)},
		{"Faults that took effect", count(s.FaultsObserved)},
		{"Replicas dumped", count(s.DumpedReplicas)},
		{"Dumps unreadable", count(s.DumpErrors)},
	}
	kinds := make([]string, 0, len(s.FaultsByKind))
	for kind := range s.FaultsByKind {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	for _, kind := range kinds[:min(len(kinds), errorsMax)] {
		facts = append(facts, fact{"Took effect: " + clip(kind, 40), count(s.FaultsByKind[kind])})
	}
	second := v.Porcupine.Outcome
	if v.Porcupine.Windows > 0 {
		second = fmt.Sprintf("%s (%d windows, %d undecided, budget %s)", second, v.Porcupine.Windows, v.Porcupine.Unknown, v.Porcupine.Budget)
	}
	return append(facts, fact{"Second judge (porcupine)", clip(second, 200)})
}

// pictureOf names the file of the second judge's picture, "" if there is none.
func pictureOf(v checker.Verdict) string {
	if _, ok := v.Picture(); !ok {
		return ""
	}
	return pictureFile
}

// sockets are the ends of a connection that an error of the net package names, "tcp 10.0.0.1:44972->10.0.0.2:9092": its port is another
// each time, and the broker is told beside.
var sockets = regexp.MustCompile(`( tcp[46]?)? (\d+(\.\d+){3}|\[[0-9a-fA-F:.]+(%[\w.-]+)?\]):\d+(->(\d+(\.\d+){3}|\[[0-9a-fA-F:.]+(%[\w.-]+)?\]):\d+)?`)

// clients are the names of clients that an error names: which of them it was, the operation's process tells.
var clients = regexp.MustCompile(`\b(producer|consumer)-\d+\b`)

// alike is an error without what tells it from others of its kind.
func alike(text string) string {
	return clients.ReplaceAllString(sockets.ReplaceAllString(text, ""), "$1")
}

// errorCounts groups what did not succeed by error, unknown outcomes first, the most frequent first.
func errorCounts(ops []history.Op) []errorCount {
	type key struct {
		kind    history.OpKind
		outcome history.Outcome
		err     string
	}
	counts := map[key]int{}
	for i := range ops {
		op := &ops[i]
		if op.Outcome != history.OK {
			counts[key{op.Kind, op.Outcome, alike(op.Error)}]++
		}
	}
	out := make([]errorCount, 0, len(counts))
	for k, n := range counts {
		text := clip(k.err, 200)
		if text == "" {
			text = "(no error told)"
		}
		out = append(out, errorCount{kindWord(k.kind), outcomeWord(k.outcome), text, n})
	}
	rank := func(e errorCount) int { return strings.Index("unknown pending failed", e.Outcome) }
	slices.SortFunc(out, func(a, b errorCount) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		if d := b.Count - a.Count; d != 0 {
			return d
		}
		return strings.Compare(a.Kind+a.Error, b.Kind+b.Error)
	})
	return out[:min(len(out), errorsMax)]
}

// counted is a number of things in words.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func environment(o Outcome) (env, config []fact) {
	r := o.Run
	env = []fact{
		{"Seed", strconv.FormatUint(r.Seed, 10)},
		{"Tidemark", orDash(r.Tool)},
		{"Build", orDash(r.Build)},
		{"Checker", orDash(o.Verdict.Checker)},
		{"World", orDash(r.World)},
		{"Whose brokers", targetWord(r)},
		{"Times, elections and faults like (--like)", orDash(r.Like)},
		{"Kinds of faults in a drawn plan (--faults)", cmp.Or(r.Faults, "all that the world can do")},
		{"Started", r.Started.UTC().Format(time.RFC3339)},
		{"Real time taken", tookWord(o.Wall)},
		{"Length of the load", secondsWord(r.Duration)},
		{"Bound on settling", secondsWord(r.Settle)},
		{"Brokers", strconv.Itoa(r.Brokers)},
		{"Topic", fmt.Sprintf("%s, %s, replication factor %d", r.Topic, counted(r.Parts, "partition"), r.Factor)},
		{"Clients", fmt.Sprintf("%s: %s, %s, %g operations a second", clientWord(r.Client), counted(r.Writers, "producer"), counted(r.Readers, "consumer"), r.Rate)},
		{"acks", acksWord(r.Acks)},
		{"min.insync.replicas", strconv.Itoa(r.MinISR)},
		{"unclean.leader.election.enable", strconv.FormatBool(r.Unclean)},
		{"eligible.leader.replicas.enable", strconv.FormatBool(r.ELR)},
		{"Idempotent producers", yesNo(r.Idempotent)},
		{"Consumers read from followers", yesNo(r.FollowerFetch)},
		{"Oldest records removed every", boundWord(r.Trim)},
		{"Topic deleted and created again", orDash(r.Recreated)},
		{"Bound on stale reads", boundWord(r.ReadBound)},
		{"Bug switched on", orDash(r.Bug)},
		{"Beyond the fault budget", yesNo(r.Beyond)},
	}
	if o.Hash != "" {
		env = append(env, fact{"Trace hash", o.Hash})
	}
	if o.contained() {
		env = append(env, limitFacts(r)...)
	}
	if o.Ground != nil {
		env = append(env, groundFacts(o.Ground)...)
	}
	keys := make([]string, 0, len(r.Config))
	for key := range r.Config {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys[:min(len(keys), 200)] {
		config = append(config, fact{clip(key, 100), clip(r.Config[key], 200)})
	}
	for i := range env {
		env[i].Value = clip(env[i].Value, 300)
	}
	return env, config
}

// targetWord says whose brokers ran.
func targetWord(r history.Run) string {
	if r.Target == "" {
		return "Tidemark's own"
	}
	return r.Target
}

// tookWord is how many seconds a run took. None takes no time: nothing is what is left where results.json was lost.
func tookWord(seconds float64) string {
	if seconds == 0 {
		return "not known"
	}
	return strconv.FormatFloat(seconds, 'f', 2, 64) + " s"
}
