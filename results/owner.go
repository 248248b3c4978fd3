package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/history/plain"
)

// ErrAnotherRun is of files that lie beside each other and are of two runs.
var ErrAnotherRun = errors.New("of another run")

// valueMax bounds a value that an error names, in characters.
const valueMax = 120

// SameRun looks whether two runs are one: what was to be carried out, and when it was, whatever program did so. The error, an ErrAnotherRun, names what
// differs first, the seed before all else, with both values.
func SameRun(found, expected history.Run) error {
	fields := func(run history.Run) (out map[string]json.RawMessage) {
		run.Started, run.Tool, run.Build = run.Started.UTC(), "", ""
		text, err := json.Marshal(run)
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil {
			return nil // it was read as JSON
		}
		return out
	}
	f, e := fields(found), fields(expected)
	names := slices.Sorted(maps.Keys(f))
	for name := range e {
		if _, there := f[name]; !there {
			names = append(names, name)
		}
	}
	for _, name := range append([]string{"seed", "started"}, names...) {
		if string(f[name]) != string(e[name]) {
			return fmt.Errorf("%w: its %s is %s, expected %s", ErrAnotherRun, name, value(f[name]), value(e[name]))
		}
	}
	return nil
}

func value(text json.RawMessage) string {
	if len(text) == 0 {
		return "not set"
	}
	return plain.Line(clip(string(text), valueMax))
}

// OwnHistory looks whether a journal is the history of a run. One that does not say whose it is, as those of older builds, is not refused.
func OwnHistory(journal io.Reader, run history.Run) error {
	found, err := history.ReadJournalRun(journal)
	if err != nil || found == nil {
		return err
	}
	if err := SameRun(*found, run); err != nil {
		return fmt.Errorf("%w as in %s", err, runFile)
	}
	return nil
}

// ErrAnotherPlan is of a plan.txt that does not hold the plan of the run beside it: it was changed, or is another run's.
var ErrAnotherPlan = errors.New("not the plan that was carried out")

// OwnPlan looks whether a plan.txt holds the plan of a run. The error, an ErrAnotherPlan, names the first line that differs.
func OwnPlan(text []byte, run history.Run) error {
	if string(text) == planText(run) {
		return nil
	}
	found, expected := strings.Split(string(text), "\n"), strings.Split(planText(run), "\n")
	line := func(lines []string, at int) string {
		if at >= len(lines)-1 && (at >= len(lines) || lines[at] == "") {
			return "missing"
		}
		return fmt.Sprintf("%q", clip(lines[at], valueMax))
	}
	at := 0
	for at < min(len(found), len(expected))-1 && found[at] == expected[at] {
		at++
	}
	return fmt.Errorf("%w: its line %d is %s, expected %s as in %s", ErrAnotherPlan, at+1, line(found, at), line(expected, at), runFile)
}

// reportTag is how a report says whose it is, in its head.
var reportTag = regexp.MustCompile(`<meta name="tidemark-run" content="([0-9]{1,20}) ([0-9TZ:.-]{1,40})">`)

// reportHead is where the tag stands at the latest, in bytes.
const reportHead = 4 << 10

// reportOf is what the tag says.
func reportOf(run history.Run) string {
	return fmt.Sprintf("%d %s", run.Seed, run.Started.UTC().Format(time.RFC3339Nano))
}

// OwnReport looks whether a report is that of a run. One that does not say whose it is, as those of older builds, is not refused.
func OwnReport(page io.Reader, run history.Run) error {
	head, err := io.ReadAll(io.LimitReader(page, reportHead))
	if err != nil {
		return err
	}
	tag := reportTag.FindSubmatch(head)
	if tag == nil {
		return nil
	}
	seed, started, _ := strings.Cut(reportOf(run), " ")
	for i, f := range []struct{ name, own string }{{"seed", seed}, {"started", started}} {
		if found := string(tag[i+1]); found != f.own {
			return fmt.Errorf("%w: its %s is %s, expected %s as in %s", ErrAnotherRun, f.name, found, f.own, runFile)
		}
	}
	return nil
}

// OwnReport looks whether the directory's report, if there is one, is that of its run.
func (d Dir) OwnReport(run history.Run) error {
	f, err := history.OpenFile(d.file(reportFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if err := OwnReport(f, run); err != nil {
		return fmt.Errorf("%s: %w", d.file(reportFile), err)
	}
	return nil
}

// ownHistory looks whether the directory's history is that of its run.
func (d Dir) ownHistory() error {
	f, err := history.OpenFile(d.file(historyFile))
	if err != nil {
		return fmt.Errorf("read the run's history: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	_, run, err := Open(d.Path)
	if err != nil {
		return err
	}
	if err := OwnHistory(f, run); err != nil {
		return fmt.Errorf("%s: %w", d.file(historyFile), err)
	}
	return nil
}
