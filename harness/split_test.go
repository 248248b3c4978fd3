package harness

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/broker/refused"
	"tidemark/history"
)

// TestWhatARuleRefusesNearlyHappens carries out scenarios in which a known bug shows, with the bug and without: the rule that it breaks tells of the decision both
// times, at the same moment.
func TestWhatARuleRefusesNearlyHappens(t *testing.T) {
	for bug, want := range map[string]NearKind{
		"stale-fetch-answer":       {Refusal: refused.Refusal{Rule: refused.StaleFetchAnswer, Effect: refused.CutCommitted}},
		"unfenced-fetch":           {Refusal: refused.Refusal{Rule: refused.FencedFetch, Effect: refused.Raised}},
		"stale-broker-epoch":       {Refusal: refused.Refusal{Rule: refused.MemberGone, Effect: refused.Joined}, Untrue: true},
		"no-partition-epoch-check": {Refusal: refused.Refusal{Rule: refused.AlterStale, Effect: refused.Joined}, Untrue: true},
		"join-at-stale-hw":         {Refusal: refused.Refusal{Rule: refused.JoinBeforeEpoch, Effect: refused.Joined}},
	} {
		t.Run(bug, func(t *testing.T) {
			run := scenarioFile(t, "testdata/bugs/"+bug+".txt")
			var at [2]time.Duration
			for i, name := range []string{"", bug} {
				run.Bug = name
				res, err := Simulate(t.Context(), run, Watch{Blind: true, Near: true})
				if err != nil {
					t.Fatal(err)
				}
				n := slices.IndexFunc(res.Near, func(x Near) bool { return x.NearKind == want })
				if n < 0 {
					t.Fatalf("bug %q: %v, expected %v among them", name, res.Near, want)
				}
				at[i] = res.Near[n].At
			}
			if at[0] != at[1] {
				t.Errorf("told at %v without the bug, at %v with it, expected the same time", at[0], at[1])
			}
		})
	}
}

// splitting is a hunt with short runs that splits.
func splitting(workers int) Hunt {
	base := Defaults()
	base.Duration = 8 * time.Second
	kept := func(option string) bool { return option == "duration" || option == "acks" || option == "partitions" }
	base.Parts = 1
	return Hunt{
		Run: base, Master: 3, Seeds: splitLag + 16, Workers: workers, SplitAfter: 20,
		Draw: func(seed uint64, run history.Run) history.Run { return Draw(seed, run, kept) },
	}
}

// TestASplittingHuntIsTheSameForAnyWorkers carries out a hunt with one and with three workers: every number is the same run, and some go on from others. Each of
// those repeats by how it came about.
func TestASplittingHuntIsTheSameForAnyWorkers(t *testing.T) {
	var told [2][]string
	var split *Result
	for i, workers := range []int{1, 3} {
		h := splitting(workers)
		told[i] = make([]string, h.Seeds)
		h.Each = func(n int, res *Result, err error) {
			if err != nil {
				t.Errorf("run %d: %v", n, err)
				return
			}
			told[i][n] = fmt.Sprintf("%016x from %v", res.Hash, res.From)
			if len(res.From.Splits) > 0 {
				split = res
			}
		}
		h.Go(t.Context())
	}
	for n := range told[0] {
		if told[0][n] != told[1][n] {
			t.Errorf("run %d: %s with one worker, %s with three", n, told[0][n], told[1][n])
		}
	}
	if split == nil {
		t.Fatalf("no run goes on from another:\n%s", strings.Join(told[0], "\n"))
	}
	splits, err := ParseSplits(split.From.String())
	if err != nil || !slices.Equal(splits, split.From.Splits) {
		t.Fatalf("%v was read as %v (%v)", split.From, splits, err)
	}
	h := splitting(1)
	h.First, h.Seeds, h.SplitAfter, h.Splits = split.From.First, 1, 0, splits
	h.Each = func(_ int, res *Result, err error) {
		if err != nil || res.Hash != split.Hash {
			t.Errorf("%v, trace hash %x, expected %x", err, res.Hash, split.Hash)
		}
	}
	h.Go(t.Context())
}

// TestSplitsThatCannotBe reads what no hunt has printed.
func TestSplitsThatCannotBe(t *testing.T) {
	for _, text := range []string{"4", "4@", "@7", "-1@7", "4@-7", "4@7,", "4 @7", strings.Repeat("1@2,", splitsMax) + "1@2"} {
		if splits, err := ParseSplits(text); err == nil {
			t.Errorf("%q was read as %v, expected an error", text, splits)
		}
	}
}

// TestWhatIsRareIsWorthMost lets a kind be seen and tried, and compares what it is worth with one that is neither, and with one that said what was not so.
func TestWhatIsRareIsWorthMost(t *testing.T) {
	s := newSplits(Hunt{})
	common, tried, fresh := NearKind{Refusal: refused.Refusal{Rule: refused.FencedFetch}}, NearKind{Refusal: refused.Refusal{Rule: refused.AlterStale}}, NearKind{}
	s.seen[common], s.tries[tried] = 9, 9
	if s.worth(fresh) <= s.worth(common) || s.worth(common) != s.worth(tried) {
		t.Errorf("worth %v, %v and %v, expected the first above the others, and those the same", s.worth(fresh), s.worth(common), s.worth(tried))
	}
	if untrue := (NearKind{Untrue: true}); s.worth(untrue) <= s.worth(fresh) {
		t.Errorf("untrue is worth %v, true %v, expected more", s.worth(untrue), s.worth(fresh))
	}
}

// scenarioFile is the run that a scenario tells of.
func scenarioFile(t *testing.T, path string) history.Run {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	options, plan, _, err := ReadScenario(string(text))
	if err != nil {
		t.Fatal(err)
	}
	run, err := ScenarioRun(options, plan)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestSplitRunsMayBeWhole: where a hunt's runs are to last so long, those that go on from others do, too; else they end soon after what they differ in.
func TestSplitRunsMayBeWhole(t *testing.T) {
	run, err := Expand(Draw(SeedOf(1, 0), Defaults(), nil), "")
	if err != nil {
		t.Fatal(err)
	}
	for whole, want := range map[bool]bool{true: true, false: false} {
		split, err := varied(1, 5, run, nil, Near{At: 3 * time.Second}, whole)
		if err != nil || (split.Duration == run.Duration) != want {
			t.Errorf("whole %v: %v of %v, %v", whole, split.Duration, run.Duration, err)
		}
	}
}
