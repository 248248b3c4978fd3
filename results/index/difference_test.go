package index

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestDifferences tells stories of nights: what each found, and how that stands to the nights before. A night is parts, a line each, with
// what they check behind a colon; a line that is indented is a problem of the part above it.
func TestDifferences(t *testing.T) {
	datadriven.Walk(t, "testdata/differences", func(t *testing.T, path string) {
		var nights []Stored
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "night" {
				d.Fatalf(t, "command %q, expected night", d.Cmd)
			}
			night := readNight(t, d.CmdArgs[0].Key, len(nights), d.Input)
			if night.Master == 0 { // each draws its own
				night.Master = uint64(1000 + len(nights))
			}
			nights = append(nights, night)
			all := Differences(nights)
			return told(&all[len(all)-1]) + string(nights[len(nights)-1].Campaign.Status()) + "\n"
		})
	})
}

func told(d *Difference) string {
	var out strings.Builder
	for _, c := range d.Changes {
		fmt.Fprintf(&out, "%s: %s", c.Standing, c.Problem.Signature)
		if c.Subject != "" {
			fmt.Fprintf(&out, " on %s", c.Subject)
		}
		fmt.Fprintf(&out, " (by %s, %d runs, since %s, %d on end)", strings.Join(c.Parts, "+"), c.Problem.Count, c.Since, c.Nights)
		if c.How != "" {
			fmt.Fprintf(&out, ": %s", c.How)
		}
		if c.Standing == Expected {
			fmt.Fprintf(&out, ": until %s, %s", c.Problem.Until, c.Problem.Known)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// readNight reads a campaign as the stories tell it.
func readNight(t testing.TB, name string, n int, text string) Stored {
	t.Helper()
	c := Campaign{Format: Format, Label: "nightly", Started: time.Date(2026, 11, 1+n, 2, 0, 0, 0, time.UTC), Done: true}
	for l := range strings.SplitSeq(text, "\n") {
		if problem, ok := strings.CutPrefix(l, "  "); ok {
			p := &c.Parts[len(c.Parts)-1]
			p.Problems = append(p.Problems, readProblem(t, problem))
			continue
		}
		head, checks, _ := strings.Cut(l, ": ")
		words := strings.Fields(head)
		p := Part{Name: words[0], Runs: 100, Done: true, Seconds: 10, World: 1000}
		for _, word := range words[1:] {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "skipped":
				p.Status, p.Reason, p.Done, p.Runs = Skipped, "no engine answers", false, 0
			case "interrupted":
				p.Done = false
			case "runs":
				p.Runs = number(t, value)
			case "vacuous":
				p.Vacuous = number(t, value)
			case "of":
				p.Subject = value
			case "first":
				p.First = number(t, value)
			case "real":
				p.Real = true
			case "master": // these are the campaign's
				c.Master = uint64(number(t, value))
			case "build":
				c.Build = value
			default:
				t.Fatalf("word %q, expected skipped, interrupted, runs=N, vacuous=N, of=SUBJECT, first=N, real, master=N or build=NAME", word)
			}
		}
		for check := range strings.SplitSeq(checks, ", ") {
			check, unlooked := strings.CutSuffix(check, " (not carried out)")
			name, signature, _ := strings.Cut(check, " for ")
			p.Checks = append(p.Checks, Check{name, signature, unlooked})
		}
		c.Parts = append(c.Parts, p)
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		for _, q := range p.Problems {
			if q.Kind == Violation {
				p.Invalid += q.Count
				if q.Known != "" {
					p.Known += q.Count
				}
			}
		}
		p.Valid = p.Runs - p.Invalid - p.Vacuous
		p.Settle()
	}
	return Stored{name, c}
}

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readProblem reads: KIND CHECK; SIGNATURE; COUNT, and perhaps ; known until DAY: WHY.
func readProblem(t testing.TB, text string) Problem {
	t.Helper()
	fields := strings.Split(text, "; ")
	kind, check, _ := strings.Cut(fields[0], " ")
	p := Problem{Kind: Kind(kind), Check: check, Signature: fields[1], Count: number(t, fields[2]), Reason: "it broke"}
	if len(fields) > 3 {
		p.Until, p.Known, _ = strings.Cut(strings.TrimPrefix(fields[3], "known until "), ": ")
	}
	return p
}

// TestHowManyRunsAreEnough: as many as would have shown with a probability of 95 % what is still there.
func TestHowManyRunsAreEnough(t *testing.T) {
	for _, c := range []struct {
		rate rate
		want int
	}{
		{rate{1, 124}, 370}, {rate{1, 100}, 299}, {rate{1, 2}, 5}, {rate{9, 10}, 2}, {rate{10, 10}, 1}, {rate{20, 10}, 1}, {rate{1, 1_000_000}, 2_995_731},
		{rate{0, 10}, math.MaxInt}, {rate{1, 0}, math.MaxInt},
	} {
		n := c.rate.enough()
		if n != c.want {
			t.Errorf("seen in %v: %d runs are enough, expected %d", c.rate, n, c.want)
		}
		if p := float64(c.rate.seen) / float64(c.rate.runs); p > 0 && p < 1 && (math.Pow(1-p, float64(n)) > missedMost || math.Pow(1-p, float64(n-1)) <= missedMost) {
			t.Errorf("seen in %v: %d runs are not the least that are enough", c.rate, n)
		}
	}
}

// TestFamilies: signatures of one class are told together, whatever came of each; other brokers, and what is no violation, stand alone.
func TestFamilies(t *testing.T) {
	nights := []Stored{
		readNight(t, "one", 0, "hunt: lost, bug\n  violation lost; lost: election; 4\n  violation lost; lost: truncation; 3\n  missed bug; not found: a; 1\n  missed bug; not found: b; 1\nkafka of=kafka: lost\n  violation lost; lost: election; 1"),
		readNight(t, "two", 1, "corpus: kept.txt for lost: truncation\nhunt: lost, bug"),
	}
	nights[1].Master = 1
	all := Differences(nights)
	var told []string
	for i, s := range []Standing{New, Resolved} {
		for _, f := range all[i].Families(s) {
			told = append(told, fmt.Sprintf("%s: %s, %s. %s", s, f.Title(), f.Shown(), f.How()))
		}
	}
	want := []string{
		"new: lost, in 7 runs of hunt, by 2 signatures. ",
		"new: lost: election, in 1 run of kafka. ",
		"new: not found: a, in 1 run of hunt. ",
		"new: not found: b, in 1 run of hunt. ",
		"resolved: lost, in 7 runs of hunt, by 2 signatures. of 1: not seen in 100 runs; of 1: the scenario that was kept of it holds now",
		"resolved: not found: a, in 1 run of hunt. not seen in 100 runs of hunt",
		"resolved: not found: b, in 1 run of hunt. not seen in 100 runs of hunt",
	}
	if got := strings.Join(told, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("families:\n%s\nexpected\n%s", got, strings.Join(want, "\n"))
	}
	if got, want := all[0].Sentence(), "5 new of 4 kinds; the first campaign of its label"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}

// TestABusyMachineIsTold: what a night may have missed for lack of processors is said beside what it found.
func TestABusyMachineIsTold(t *testing.T) {
	c := readNight(t, "one", 0, "hunt: loss").Campaign
	c.Processors, c.Parts[0].Load = 2, 4
	if text := c.Busy(); text != "" {
		t.Errorf("a machine with a load of 4 on 2 processors is told to be busy: %s", text)
	}
	c.Parts[0].Load = 11.7
	c.Bug = "read-past-hw"
	text := html.UnescapeString(Summary(c, difference(c)))
	for _, want := range []string{"up to 12 programs wanted its 2 processors", "The known bug read-past-hw was switched on"} {
		if !strings.Contains(text, want) || !strings.Contains(string(JUnit(c)), want) {
			t.Errorf("%q is not told in the summary, or not in JUnit's XML:\n%s", want, text)
		}
	}
}

// TestLabelsAreApart: a hunt for something else says nothing about the nights.
func TestLabelsAreApart(t *testing.T) {
	night := readNight(t, "night", 0, "hunt: loss\n  violation loss; lost: election; 1")
	other := readNight(t, "other", 1, "hunt: loss")
	other.Label = "hunt --acks 1"
	of := Labels([]Stored{night, other})
	if len(of) != 2 || of[0][0].Name != "other" || of[1][0].Name != "night" {
		t.Fatalf("%v, expected two labels, the newest first", of)
	}
	x := Index{Campaigns: []Stored{night, other}}
	if d, ok := x.Difference("other"); !ok || len(d.Changes) != 0 || d.Previous != "" {
		t.Errorf("%+v, expected nothing to be resolved, and no campaign before", d)
	}
	if _, ok := x.Difference("nowhere"); ok {
		t.Error("there is a difference of a campaign that is not there")
	}
}

// TestStatus: a violation outranks everything, only passed is green.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		parts []Status
		runs  int // of each
		done  bool
		want  Status
	}{
		{nil, 1, true, Inconclusive},
		{[]Status{Skipped, Skipped}, 0, true, Inconclusive},
		{[]Status{Passed, Skipped}, 1, true, Passed},
		{[]Status{Passed, Passed}, 0, true, Inconclusive}, // nothing was carried out
		{[]Status{Passed, Passed}, 1, false, Interrupted},
		{[]Status{Passed, Inconclusive}, 1, true, Inconclusive},
		{[]Status{Inconclusive, Trouble, Passed}, 1, true, Trouble},
		{[]Status{Trouble, Failed, Interrupted}, 1, false, Failed},
	} {
		var campaign Campaign
		for _, s := range c.parts {
			campaign.Parts = append(campaign.Parts, Part{Status: s, Runs: c.runs})
		}
		campaign.Done = c.done
		if got := campaign.Status(); got != c.want {
			t.Errorf("parts %v, done %v: %s, expected %s", c.parts, c.done, got, c.want)
		}
	}
}

// TestSettleBoundsAPart: what a part tells has a limit, and what was cut off is counted.
func TestSettleBoundsAPart(t *testing.T) {
	p := Part{Name: "hunt", Done: true}
	for i := range problemsMax + 7 {
		p.Problems = append(p.Problems, Problem{Kind: Doubt, Signature: fmt.Sprint(i), Reason: strings.Repeat("x", 3*textMax) + "\xff"})
	}
	p.Problems = append(p.Problems, Problem{Kind: Violation, Signature: "the worst", Count: 1})
	p.Settle()
	if len(p.Problems) != problemsMax || p.Left != 8 || p.Problems[0].Signature != "the worst" || p.Status != Failed {
		t.Errorf("%d problems, %d left, first %q, %s; expected %d, 8, the worst, failed", len(p.Problems), p.Left, p.Problems[0].Signature, p.Status, problemsMax)
	}
	if n := len(p.Problems[1].Reason); n > textMax+8 {
		t.Errorf("a reason of %d bytes, expected some %d", n, textMax)
	}
}

// TestWhatWasLeftOutIsSaidToBe: why no part can tell of a problem that was seen before: left out on purpose, skipped, not come to its turn, or not come to its
// end.
func TestWhatWasLeftOutIsSaidToBe(t *testing.T) {
	for _, c := range []struct {
		campaign Campaign
		want     string
	}{
		{Campaign{Done: true, Parts: []Part{{Name: "hunt"}}}, "containers and kafka were left out"},
		{Campaign{Done: true, Parts: []Part{{Name: "kafka", Status: Skipped}}}, "containers was left out, kafka was skipped"},
		{Campaign{Parts: []Part{{Name: "containers", Status: Interrupted}}}, "containers did not come to an end, or did not look for it, kafka did not get its turn"},
	} {
		if got := c.campaign.unlooked([]string{"containers", "kafka"}); got != c.want {
			t.Errorf("%q, expected %q", got, c.want)
		}
	}
	f := Family{Changes: []Change{{Problem: Problem{Kind: Doubt, Signature: "no time in containers"}, Parts: []string{"containers"}}}}
	if got, want := f.Shown(), "in no run of containers"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}
