package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/broker/bug"
	"tidemark/harness"
	"tidemark/history/plain"
	"tidemark/results/index"
)

// What a night does without a budget, and the least that it does with one.
const (
	nightSeeds   = 10_000      // of the hunt, each of a minute
	nightBug     = time.Minute // of search for one known bug
	nightDrawn   = 10          // known bugs that the date draws, with a budget
	nightShrunk  = 3           // failures that are shrunk
	canaryBug    = "ack-before-replication"
	canarySeeds  = 200
	canaryTime   = time.Minute                       // takes a second or two, and decides about all others
	nightLoad    = 30 * time.Second                  // of a run in containers
	nightRunTime = nightLoad + harness.ContainedRest // which takes about so long
)

// night is what the command line asks of a night.
type night struct {
	w       huntWanted
	bug     string
	master  uint64
	budget  time.Duration
	until   time.Time // the end of the budget, zero without one
	seeds   int       // of the hunt; 0 is as many as there is time for
	workers int
	without []string
	target  string
	known   []harness.Known
	started time.Time
	today   time.Time // draws the known bugs, and decides what is known still
	needed  bool      // containers must be there
	keep    index.Retention
}

func nightlyCommand() *cobra.Command {
	var n night
	var master, known, day string
	var keep retentionFlags
	c := &cobra.Command{
		Use:   "nightly",
		Short: "A night of CI: corpus, hunt, known bugs, a canary, containers, Apache Kafka; what is new since the night before",
		Long: "Carries out, one after another: a canary (a known bug that must be found, else nothing else proves anything), the corpus of what failed once, a\n" +
			"hunt over random seeds and configurations, known bugs by random search, runs in containers, and a run of Apache Kafka. With --budget they\n" +
			"share the time, and the date draws ten of the known bugs; without it everything runs. It leaves a campaign beside those of the nights before\n" +
			"and says what is new, still failing, resolved, not seen in too few runs to tell, and known. Where no container engine answers, or Apache Kafka\n" +
			"cannot be built, those parts are skipped and said to be, unless CI=true or TIDEMARK_DOCKER=1 is set. On GitHub it writes the job's summary and\n" +
			"annotations.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if n.master, err = parseSeed("master", master); err != nil {
				return err
			}
			if n.keep, err = keep.retention(); err != nil {
				return usage(err)
			}
			n.started = time.Now().UTC()
			if n.today, err = dayOf(day, n.started); err != nil {
				return usage(err)
			}
			n.needed = os.Getenv("TIDEMARK_DOCKER") == "1" || os.Getenv("CI") == "true"
			if err := n.check(); err != nil {
				return usage(err)
			}
			if n.w.corpus != "" {
				if _, err := readCorpus(n.w.corpus); err != nil {
					return usage(err)
				}
			}
			var h harness.Hunt
			if err := recall(c.ErrOrStderr(), &h, "", known); err != nil {
				return usage(err)
			}
			n.known = h.Known
			return n.carryOut(c)
		},
	}
	f := c.Flags()
	f.StringVar(&master, "master", "", "the seed that all others are drawn from (default: drawn, and printed)")
	f.StringVar(&day, "day", "", "the day, such as 2026-11-30, that draws the known bugs and on which known failures are expected or no longer (default: today, in UTC)")
	f.DurationVar(&n.budget, "budget", 0, "the time that the parts share, such as 20m; 0 is no limit, and everything runs")
	f.StringVar(&n.bug, "bug", "", "switch on a known bug of the broker in corpus, hunt and containers, to see the night find it. Give such nights an --out and\na --corpus of their own: what they find is no failure of the broker without it, and the next night there is compared with them")
	f.StringVar(&known, "known", "", "file with known failures, which count as none until they expire: a JSON array of {signature, reason, expires}")
	f.StringVar(&n.w.corpus, "corpus", "", "directory of scenarios of what failed once; the first failures whose signatures it lacks are added, three a night, one of each\nclass before others, shrunk as far as there is time")
	f.StringSliceVar(&n.without, "without", nil, "parts to leave out, of "+strings.Join(harness.NightParts, ", "))
	f.StringVar(&n.target, "kafka", "apache-kafka:4.1.0", "the release of Apache Kafka")
	f.StringVar(&n.w.out, "out", ".", "directory in which runs/ and campaigns/ stand")
	f.IntVar(&n.seeds, "max-seeds", 0, fmt.Sprintf("at most so many runs of the hunt (default: %d, or as many as there is time for)", nightSeeds))
	f.IntVar(&n.workers, "workers", runtime.NumCPU(), "simulated runs at a time")
	f.Float64Var(&n.w.allowVacuous, "allow-vacuous", 5, "per cent of the runs that may be vacuous; in containers 20")
	f.BoolVar(&n.w.json, "json", false, "print the campaign, and what is new, as JSON")
	keep.register(c, "30d", 200, "2g")
	return c
}

// dayOf is the day that a text names, or today for none.
func dayOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return now, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, fmt.Errorf("--day %.40q, expected a date as 2026-11-30", text)
	}
	return day, nil
}

// check looks at the flags.
func (n *night) check() error {
	for _, part := range n.without {
		if !slices.Contains(harness.NightParts, part) {
			return fmt.Errorf("--without %q, expected one of %s", part, strings.Join(harness.NightParts, ", "))
		}
	}
	if len(n.parts()) == 0 {
		return fmt.Errorf("--without %s leaves no part of the night, expected one at least to stay", strings.Join(n.without, ","))
	}
	if n.bug != "" {
		if _, err := bug.Parse(n.bug); err != nil {
			return err
		}
	}
	if n.seeds < 0 {
		return fmt.Errorf("--max-seeds %d, expected a positive number", n.seeds)
	}
	return bounds(harness.Hunt{Seeds: max(1, n.seeds), Workers: n.workers, Budget: n.budget}, n.w.allowVacuous)
}

// parts are those that the night is to carry out.
func (n *night) parts() []string {
	return slices.DeleteFunc(slices.Clone(harness.NightParts), func(part string) bool { return slices.Contains(n.without, part) })
}

// carryOut carries out the parts and leaves the campaign, which is written anew after each.
func (n *night) carryOut(c *cobra.Command) error {
	log, begun := c.ErrOrStderr(), time.Now()
	if n.budget > 0 {
		n.until = begun.Add(n.budget)
	}
	campaign := harness.NewCampaign("nightly", begun, n.master,
		harness.OptionsLine(c.Name(), givenBut(c, "master", "day"), "--day", n.today.Format(time.DateOnly), "--master", n.master))
	campaign.Bug, campaign.Processors = n.bug, runtime.NumCPU()
	name, err := index.Create(n.w.out, campaign)
	if err != nil {
		return trouble(err)
	}
	fmt.Fprintf(log, "tidemark %s, a night from master seed %d: %s\n", harness.Version, n.master, strings.Join(n.parts(), ", "))
	for _, word := range tooSmall(n.budget, n.parts()) {
		fmt.Fprintln(log, word)
	}
	var d index.Difference
	parts := n.parts()
	for i, part := range parts {
		fmt.Fprintf(log, "%s…\n", part)
		began := time.Now()
		p, err := n.timely(c, part, parts[i:])
		if err != nil {
			p = troubled(p, part, err)
		}
		if p.Again == "" {
			p.Again = n.again(c, part)
		}
		p.Seconds, p.Load = time.Since(began).Seconds(), machineLoad()
		fmt.Fprintf(log, "  %s after %v: %s\n", p.Status, time.Since(began).Round(time.Second), plain.Line(p.Reason))
		campaign.Parts = append(campaign.Parts, p)
		if c.Context().Err() != nil {
			for _, missed := range parts[i+1:] {
				left := harness.SkippedPart(missed, "the night was interrupted before it")
				left.Again = n.again(c, missed)
				campaign.Parts = append(campaign.Parts, left)
			}
		}
		campaign.Seconds = time.Since(begun).Seconds()
		campaign.Done = i == len(parts)-1 && c.Context().Err() == nil
		if d, err = index.Write(n.w.out, name, campaign, time.Now()); err != nil {
			return trouble(err)
		}
		if c.Context().Err() != nil {
			break
		}
	}
	tellUnread(log, d.Unread)
	pruned, err := index.Prune(n.w.out, n.keep, time.Now(), false)
	if err != nil {
		return trouble(err)
	}
	tellStaying(log, pruned.Kept)
	page := filepath.Join(n.w.out, "campaigns", name, "index.html")
	if err := tellGitHub(campaign, d, log); err != nil {
		return trouble(err)
	}
	for _, k := range idle(n.known, &campaign) {
		fmt.Fprintf(log, "tidemark: the known failure %s was not seen, its entry excused nothing\n", strconv.Quote(k.Signature))
	}
	if n.w.json {
		return printJSON(c.OutOrStdout(), map[string]any{"campaign": campaign, "difference": d, "page": page}, exitOfCampaign(&campaign))
	}
	fmt.Fprint(c.OutOrStdout(), nightText(campaign, d, columnsOf(c.OutOrStdout())))
	fmt.Fprintf(c.OutOrStdout(), "page: %s\nagain: %s\n", page, campaign.Again)
	return ended(exitOfCampaign(&campaign))
}

// tooSmall says of a budget, before anything begins, which parts it has no run in containers for, and the least that has: a part's share is less than a run takes,
// unless those before it leave some of theirs.
func tooSmall(budget time.Duration, parts []string) (words []string) {
	for _, part := range parts {
		if part != harness.NightContainers && part != harness.NightKafka || budget <= 0 {
			continue
		}
		share := harness.NightShare(budget, part, parts)
		if share >= nightRunTime {
			continue
		}
		least := time.Duration(float64(budget)*float64(nightRunTime)/float64(max(1, share))).Truncate(time.Second) + time.Second
		words = append(words, fmt.Sprintf("tidemark: of --budget %v %s gets %v, and a run takes some %v: the night cannot be green unless other parts leave it time. --budget %v is enough, or --without %s",
			budget, part, share.Round(time.Second), nightRunTime, least, part))
	}
	return words
}

// again is the line that carries out one part of the night alone.
func (n *night) again(c *cobra.Command, part string) string {
	others := slices.DeleteFunc(slices.Clone(harness.NightParts), func(p string) bool { return p == part })
	return harness.OptionsLine(c.Name(), givenBut(c, "master", "day", "without"), "--without", strings.Join(others, ","), "--day", n.today.Format(time.DateOnly), "--master", n.master)
}

// idle are the known failures that no part of a night has seen: mended, misspelt, or not looked for.
func idle(known []harness.Known, c *index.Campaign) []harness.Known {
	return slices.DeleteFunc(slices.Clone(known), func(k harness.Known) bool {
		if name, ofBug := k.OfBug(); ofBug && !slices.ContainsFunc(c.Parts, func(p index.Part) bool {
			return slices.ContainsFunc(p.Checks, func(check index.Check) bool { return check.Name == name && !check.Unlooked })
		}) {
			return true // the night did not look for it
		}
		return slices.ContainsFunc(c.Parts, func(p index.Part) bool {
			return slices.ContainsFunc(p.Problems, func(q index.Problem) bool { return k.Matches(q.Signature) })
		})
	})
}

// troubled is a part that the harness had trouble with, beside what it found before.
func troubled(p index.Part, name string, err error) index.Part {
	if p.Name == "" {
		p = index.Part{Name: name, Done: true, Reason: err.Error()}
	}
	p.Checks = append(p.Checks, index.Check{Name: "the night"})
	p.Problems = append(p.Problems, index.Problem{Check: "the night", Kind: index.Broken, Signature: "trouble of the harness in " + name, Reason: err.Error(), Count: 1})
	p.Settle()
	return p
}

// timely carries out one part in its share of what is left of the budget, where the named ones are still to come. The error is the harness's own trouble.
func (n *night) timely(c *cobra.Command, part string, toCome []string) (index.Part, error) {
	if n.until.IsZero() {
		return n.part(c, part, 0)
	}
	left := time.Until(n.until)
	if left <= 0 {
		return harness.UnbegunPart(part), nil
	}
	return n.part(c, part, max(time.Second, harness.NightShare(left, part, toCome))) // 0 would be no bound
}

// part carries out one part. The error is the harness's own trouble.
func (n *night) part(c *cobra.Command, part string, share time.Duration) (index.Part, error) {
	switch part {
	case harness.NightCanary:
		return n.canary(c, share)
	case harness.NightCorpus:
		return n.corpus(c, share)
	case harness.NightHunt:
		return n.hunt(c, share)
	case harness.NightBugs:
		return n.bugs(c, share)
	case harness.NightContainers:
		return n.contained(c, part, "", share)
	default:
		return n.contained(c, part, n.target, share)
	}
}

// exitOfCampaign is the exit code of a campaign's status.
func exitOfCampaign(c *index.Campaign) int {
	switch c.Status() {
	case index.Passed:
		return exitValid
	case index.Failed:
		return exitViolation
	case index.Trouble:
		return exitHarness
	case index.Interrupted:
		return exitInterrupted
	default:
		return exitInconclusive
	}
}
