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
}

// BugStatus is what became of the search for one bug.
type BugStatus string

// The outcomes of a search. Only BugFound is good.
const (
	BugFound      BugStatus = "found"
	BugOtherClass BugStatus = "found as another class" // the first violation is of a class that the registry does not name
	BugMissed     BugStatus = "not found"              // within the budget
)

// BugRow is a row of the proof.
type BugRow struct {
	Bug       bug.Name      `json:"bug"`
	Row       int           `json:"row"` // in the catalogue
	Source    string        `json:"source"`
	Mutation  string        `json:"mutation"`
	Shows     []string      `json:"shows"` // the classes that count
	Visible   bool          `json:"visible"`
	Status    BugStatus     `json:"status"`
	Class     checker.Class `json:"class,omitempty"` // of the first violation
	Signature string        `json:"signature,omitempty"`
	Number    int           `json:"number"`                // of the run that showed it
	Seed      uint64        `json:"seed,string,omitempty"` // its seed
	Runs      int           `json:"runs"`                  // that came to their end
	Differed  int           `json:"runsThatDiffered"`      // in which the bug changed a decision
	Decisions int64         `json:"decisionsThatDiffered"` // over all runs
	Errors    int           `json:"errors"`                // runs that the harness could not carry out
	Error     string        `json:"error,omitempty"`       // the first of them
	Simulated float64       `json:"simulatedSeconds"`
	Seconds   float64       `json:"seconds"` // to detection, or of the whole search

	result *Result // the run that showed it
}

// Search looks for one bug. What clients can see must be found without the invariants. The error is ctx's end.
func (p Proof) Search(ctx context.Context, e bug.Entry) (BugRow, error) {
	row := BugRow{Bug: e.Name, Row: e.Row, Source: e.Source, Mutation: e.Mutation, Shows: e.Shows, Visible: e.Visible, Status: BugMissed}
	run := p.Base
	run.Bug = string(e.Name)
	h := Hunt{Run: run, Master: p.Master, Seeds: p.Seeds, Budget: p.Budget, Workers: p.Workers, UntilFirst: true}
	h.Draw = func(seed uint64, run history.Run) history.Run { return Draw(seed, run, p.Kept) }
	h.Carry = func(ctx context.Context, run history.Run) (*Result, error) {
		return Simulate(ctx, run, Watch{Blind: e.Visible})
	}
	h.Each = func(n int, res *Result, err error) { row.take(n, res, err) }
	tally := h.Go(ctx)
	row.Runs, row.Seconds, row.Simulated = tally.Runs, tally.Seconds, tally.Virtual
	return row, ctx.Err()
}

// take counts a run, and keeps the first by number that broke the contract.
func (r *BugRow) take(n int, res *Result, err error) {
	if err != nil {
		if r.Errors++; r.Errors == 1 {
			r.Error = err.Error()
		}
		return
	}
	r.Decisions += res.Differs
	if res.Differs > 0 {
		r.Differed++
	}
	if res.Verdict.Status != checker.Invalid || r.result != nil && r.Number < n {
		return
	}
	first := &res.Verdict.Findings[0]
	r.result, r.Number, r.Seed, r.Class, r.Signature = res, n, res.Run.Seed, first.Class, first.Signature
	r.Status = BugOtherClass
	if slices.Contains(r.Shows, string(first.Class)) {
		r.Status = BugFound
	}
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
}

// Tally sums rows up.
func (p Proof) Tally(rows []BugRow) BugTally {
	t := BugTally{Tool: Version, Generator: GeneratorHash(), Master: p.Master, Budget: p.Budget.Seconds(), Workers: p.Workers, Rows: rows}
	var seconds []float64
	for i := range rows {
		if rows[i].Status == BugFound {
			seconds = append(seconds, rows[i].Seconds)
		}
	}
	slices.Sort(seconds)
	if t.Found = len(seconds); t.Found > 0 {
		t.Median, t.Worst = seconds[t.Found/2], seconds[t.Found-1]
	}
	return t
}
