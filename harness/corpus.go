package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/history"
)

// A corpus is a directory of scenarios: runs that failed once, which a hunt carries out before any random seed. They name the
// bug that was on, which a hunt ignores: it has its own, or none.

// corpusMax bounds a corpus, corpusFileMax one of its files in bytes.
const (
	corpusMax     = 10_000
	corpusFileMax = 1 << 20
)

// CorpusRun is a run of a corpus.
type CorpusRun struct {
	Name      string // of its file
	Path      string // its file, as whoever reads the corpus reaches it
	Line      int    // of the file, on which it begins
	Run       history.Run
	Signature string // of the failure for which it was kept
}

// At is where the scenario stands, as FILE:LINE.
func (c CorpusRun) At() string { return fmt.Sprintf("%s:%d", c.Path, c.Line) }

// ReadCorpus reads the runs of a corpus, in order of their names; a directory that is missing has none. The error names the file.
func ReadCorpus(dir string) ([]CorpusRun, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []CorpusRun
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".txt" {
			continue
		}
		if len(out) == corpusMax {
			return nil, fmt.Errorf("%s: more than %d scenarios", dir, corpusMax)
		}
		path := filepath.Join(dir, f.Name())
		switch info, err := os.Stat(path); {
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular() || info.Size() > corpusFileMax:
			return nil, fmt.Errorf("%s: %v of %d bytes, expected a file of at most %d", path, info.Mode(), info.Size(), corpusFileMax)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		options, plan, outcome, err := ReadScenario(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		run, err := ScenarioRun(options, plan)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if run.World != Simulated {
			return nil, fmt.Errorf("%s: world=%s, expected %s, in which alone runs repeat exactly", path, run.World, Simulated)
		}
		_, signature, _ := strings.Cut(outcome, ": ")
		out = append(out, CorpusRun{Name: f.Name(), Path: path, Line: scenarioLine(string(text)), Run: run, Signature: signature})
	}
	return out, nil
}

// ReadScenario takes the text of one scenario apart: its options, its plan, and the first line of its outcome. Before the plan stand as many empty lines as
// there are lines before it in the text, so that who finds something wrong in it names the line of the text.
func ReadScenario(text string) (options []string, plan, outcome string, err error) {
	var lines []string
	number, begun, ended := 0, false, 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case ended > 0 && opensScenario(line):
			return nil, "", "", fmt.Errorf("line %d: a second scenario, expected a file for each", number)
		case ended > 0:
			if number == ended+1 {
				outcome = line
			}
		case begun && line == "----":
			plan, ended = strings.Join(lines, "\n")+"\n", number
		case begun:
			lines = append(lines, line)
		case line == "" || strings.HasPrefix(line, "#"):
			lines = append(lines, "")
		case opensScenario(line):
			options, begun = strings.Fields(line)[1:], true
			lines = append(lines, "")
		default:
			return nil, "", "", fmt.Errorf("line %d: %.80q, expected run and its options", number, line)
		}
	}
	if ended == 0 {
		return nil, "", "", errors.New("the scenario has no end, expected run, a plan and ----")
	}
	return options, plan, outcome, nil
}

// opensScenario reports whether a line of a scenario's text is that of its options.
func opensScenario(line string) bool { return line == "run" || strings.HasPrefix(line, "run ") }

// scenarioLine is the line of a scenario's text on which its options stand, from 1.
func scenarioLine(text string) int {
	number := 0
	for line := range strings.Lines(text) {
		if number++; opensScenario(strings.TrimRight(line, "\r\n")) {
			break
		}
	}
	return number
}

// AddToCorpus keeps a failing run, unless the corpus has one for its signature. It returns the file's path, "" if there was one already.
func AddToCorpus(dir string, corpus []CorpusRun, run history.Run, signature string) (string, error) {
	if slices.ContainsFunc(corpus, func(c CorpusRun) bool { return c.Signature == signature }) {
		return "", nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.txt", slug(signature), run.Seed))
	text := ScenarioText(run, "# "+signature+"\n", "invalid: "+signature+"\n")
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// slug is a text as part of a file's name.
func slug(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words, "-")
	return strings.TrimRight(name[:min(len(name), 80)], "-")
}
