package harness

import (
	"context"
	"slices"
	"time"

	"tidemark/broker/bug"
	"tidemark/checker"
	"tidemark/history"
)

// Proof shows of known bugs that random search finds each as what it is: the search that hunts in a correct broker, over the same
// configurations and plans, by which number n of every bug's runs has the same configuration, plan and seed. The draw does not see the bug.
type Proof struct {
	Base    history.Run // options; Draw draws the others around them
	Kept    func(option string) bool
	Master  uint64        // the seeds are drawn from it, the same ones for each bug
	Budget  time.Duration // of one bug's search
	Seeds   int           // at most so many runs of a bug
	Workers int
	// Shrinking is the budget for making the run that showed a bug smaller; 0 leaves it as it is.
	Shrinking time.Duration
}

// BugStatus is what became of the search for one bug.
type BugStatus string

// The outcomes of a search. Only BugFound is good.
const (
	BugFound      BugStatus = "found"
	BugOtherClass BugStatus = "found as another class" // the first violation is of a class that the registry does not name
	BugMissed     BugStatus = "not found"              // within the budget
	BugAnyway     BugStatus = "found with no bug on"   // the same run breaks its contract in a correct broker too
)

// BugRow is a row of the proof.
type BugRow struct {
	Bug       bug.Name      `json:"bug"`
	Row       int           `json:"row"` // in the catalogue, 0 beyond it
	Source    string        `json:"source"`
	Mutation  string        `json:"mutation"`
	Shows     []string      `json:"shows"` // the classes that count
	Visible   bool          `json:"visible"`
	Status    BugStatus     `json:"status"`
	Class     checker.Class `json:"class,omitempty"` // of the first violation
	Signature string        `json:"signature,omitempty"`
	Number    int           `json:"number"`                // of the run that showed it
	Seed      uint64        `json:"seed,string,omitempty"` // its seed
	From      Descent       `json:"from,omitzero"`         // how it came about, if it goes on from other runs
	Lead      []string      `json:"lead,omitempty"`        // the lines that were added to its plan, where an invariant was broken
	Pursued   int           `json:"runsThatPursuedLeads"`  // besides Runs
	Runs      int           `json:"runs"`                  // that came to their end
	Differed  int           `json:"runsThatDiffered"`      // in which the bug changed a decision
	Decisions int64         `json:"decisionsThatDiffered"` // over all runs
	Errors    int           `json:"errors"`                // runs that the harness could not carry out
	Error     string        `json:"error,omitempty"`       // the first of them
	Simulated float64       `json:"simulatedSeconds"`
	Seconds   float64       `json:"seconds"` // to detection, or of the whole search
	Shrunk    *ShrunkBug    `json:"shrunk,omitempty"`

	// Others are violations of other classes that the search has seen on its way, runs by class.
	Others map[checker.Class]int `json:"runsOfOtherClasses,omitempty"`

	result *Result // the run that showed it
}

// ShrunkBug is what shrinking left of the run that showed a bug.
type ShrunkBug struct {
	Lines   int      `json:"lines"`
	Plan    string   `json:"plan"`
	Options []string `json:"options"` // see ScenarioOptions
	Seconds float64  `json:"seconds"`
	Tries   int      `json:"runs"`
	Done    bool     `json:"done"`            // nothing smaller fails alike
	Replays int      `json:"replays"`         // of what is left
	Alike   int      `json:"alike"`           // of those, with the same signature
	Error   string   `json:"error,omitempty"` // why it could not be shrunk

	Run history.Run `json:"-"`
}

// Search looks for one bug. What clients can see must be found without the invariants. The error is ctx's end.
func (p Proof) Search(ctx context.Context, e bug.Entry) (BugRow, error) {
	row := BugRow{Bug: e.Name, Row: e.Row, Source: e.Source, Mutation: e.Mutation, Shows: e.Shows, Visible: e.Visible, Status: BugMissed}
	run := p.Base
	run.Bug = string(e.Name)
	h := Hunt{Run: run, Master: p.Master, Seeds: p.Seeds, Budget: p.Budget, Workers: p.Workers, Until: row.shownBy, SplitAfter: SplitAfter, Pursue: e.Visible}
	h.Draw = func(seed uint64, run history.Run) history.Run { return Draw(seed, run, p.Kept) }
	h.Each = func(n int, res *Result, err error) { row.take(n, res, err) }
	tally := h.Go(ctx)
	row.Runs, row.Seconds, row.Simulated = tally.Runs, tally.Seconds, tally.Virtual
	if row.result != nil {
		row.control(ctx)
	}
	if row.Status == BugFound && p.Shrinking > 0 {
		row.Shrunk = p.shrink(ctx, row.result.Run, e.Visible)
	}
	return row, ctx.Err()
}

// shrink makes a run that showed a bug smaller.
func (p Proof) shrink(ctx context.Context, run history.Run, blind bool) *ShrunkBug {
	begun := time.Now()
	state, _, err := Shrink{Run: run, Blind: blind, Budget: p.Shrinking, Workers: p.Workers}.Go(ctx)
	out := &ShrunkBug{
		Lines: Lines(state.Best), Plan: state.Best.Plan, Options: ScenarioOptions(state.Best), Seconds: time.Since(begun).Seconds(),
		Tries: state.Tries, Done: state.Done, Run: state.Best,
	}
	if err != nil {
		out.Error = err.Error()
		return out
	}
	for range shrunkReplays {
		if ctx.Err() != nil {
			break
		}
		out.Replays++
		if res, err := Simulate(ctx, state.Best, Watch{Blind: blind}); err == nil && Signature(res.Verdict) == state.Signature {
			out.Alike++
		}
	}
	return out
}

// shrunkReplays is how often what shrinking left is carried out again: it must fail alike each time.
const shrunkReplays = 3

// control carries the run that showed the bug out once more without it: whatever that breaks was not the bug's doing.
func (r *BugRow) control(ctx context.Context) {
	run := r.result.Run
	run.Bug = ""
	switch res, err := Simulate(ctx, run, Watch{Blind: r.Visible}); {
	case ctx.Err() != nil:
	case err != nil:
		r.Errors++
		r.Error, r.Status = err.Error(), BugMissed
	case res.Verdict.Status == checker.Invalid:
		r.Status = BugAnyway
	}
}

// take counts a run, and keeps the first by number that showed the bug as what it is, or, until there is one, that broke the contract.
func (r *BugRow) take(n int, res *Result, err error) {
	if err != nil {
		if r.Errors++; r.Errors == 1 {
			r.Error = err.Error()
		}
		return
	}
	r.Decisions += res.Differs
	r.Pursued += res.Tries
	if res.Differs > 0 {
		r.Differed++
	}
	if res.Verdict.Status != checker.Invalid {
		return
	}
	first, shown := &res.Verdict.Findings[0], r.shownBy(res)
	if !shown {
		if r.Others == nil {
			r.Others = map[checker.Class]int{}
		}
		r.Others[first.Class]++
	}
	if was := r.Status == BugFound; r.result != nil && (was && !shown || was == shown && r.Number < n) {
		return
	}
	r.result, r.Number, r.Seed, r.From, r.Lead, r.Class, r.Signature = res, n, res.Run.Seed, res.From, res.Lead, first.Class, first.Signature
	r.Status = BugOtherClass
	if shown {
		r.Status = BugFound
	}
}

// shownBy reports whether a run shows the bug as what it is.
func (r *BugRow) shownBy(res *Result) bool {
	return res.Verdict.Status == checker.Invalid && slices.Contains(r.Shows, string(res.Verdict.Findings[0].Class))
}

// BugTally is the proof as a whole.
type BugTally struct {
	Tool      string   `json:"tool"`
	Generator string   `json:"generator"` // GeneratorHash
	Master    uint64   `json:"master,string"`
	Budget    float64  `json:"budgetSeconds"` // of one bug
	Workers   int      `json:"workers"`
	Rows      []BugRow `json:"rows"`
	Found     int      `json:"found"`
	Median    float64  `json:"medianSeconds"` // to detection, over the rows that were found
	Worst     float64  `json:"worstSeconds"`
	Shrunk    int      `json:"shrunk"` // rows whose run was shrunk until nothing smaller failed alike
	Lines     int      `json:"medianLines"`
	Longest   int      `json:"mostLines"`
	Replays   int      `json:"replays"` // of the shrunk runs
	Alike     int      `json:"alike"`   // of those, with the same signature
	// NotApplicable lists the rows of the catalogue that this broker cannot have, with why.
	NotApplicable []bug.Inapplicable `json:"notApplicable"`
}

// Tally sums rows up.
func (p Proof) Tally(rows []BugRow) BugTally {
	t := BugTally{Tool: Version, Generator: GeneratorHash(), Master: p.Master, Budget: p.Budget.Seconds(), Workers: p.Workers, Rows: rows}
	if slices.ContainsFunc(rows, func(r BugRow) bool { return r.Row != 0 }) {
		t.NotApplicable = bug.NotApplicable
	}
	var seconds []float64
	for i := range rows {
		if rows[i].Status == BugFound {
			seconds = append(seconds, rows[i].Seconds)
		}
	}
	var lines []int
	for i := range rows {
		if s := rows[i].Shrunk; s != nil && s.Error == "" {
			lines = append(lines, s.Lines)
			t.Replays, t.Alike = t.Replays+s.Replays, t.Alike+s.Alike
			if s.Done {
				t.Shrunk++
			}
		}
	}
	slices.Sort(lines)
	if n := len(lines); n > 0 {
		t.Lines, t.Longest = lines[n/2], lines[n-1]
	}
	slices.Sort(seconds)
	if t.Found = len(seconds); t.Found > 0 {
		t.Median, t.Worst = seconds[t.Found/2], seconds[t.Found-1]
	}
	return t
}
