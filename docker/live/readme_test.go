package live_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wholeReadme names the variable that makes TestTheReadmesCommands carry out those of other brokers, too, which take some minutes.
const wholeReadme = "TIDEMARK_README"

// TestTheReadmesCommands carries out the commands of README.md and docs that need an engine, as cmd/tidemark/testdata/readme.txt says: with more
// words behind each that make it short, to one of the exit codes named there.
func TestTheReadmesCommands(t *testing.T) {
	engine(t)
	dir := readmeShelf(t)
	for _, c := range readmeCommands(t) {
		t.Run(strings.ReplaceAll(c.line, "/", "_"), func(t *testing.T) {
			if c.kafka && os.Getenv(wholeReadme) != "1" {
				t.Skip("of Apache Kafka, which takes minutes; with " + wholeReadme + "=1 it is carried out")
			}
			line := strings.NewReplacer("runs/<time>-<seed>/plan.txt", "'runs/<time>-<seed>/plan.txt'", "runs/<time>-<seed> ", "'runs/<time>-<seed>' ").Replace(c.line + " " + c.more)
			out, code := said(t, dir, line)
			if !slices.Contains(c.codes, code) {
				t.Errorf("%s: exit code %d, expected one of %v\n%.5000s", line, code, c.codes, out)
			}
		})
	}
}

// readmeCommand is one that needs an engine.
type readmeCommand struct {
	line, more string
	codes      []int
	kafka      bool // other brokers than this program's own
}

// readmeCommands are the lines COMMAND | engine CODES MORE, and kafka instead of engine.
func readmeCommands(t *testing.T) (out []readmeCommand) {
	t.Helper()
	text, err := os.ReadFile("../../cmd/tidemark/testdata/readme.txt")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.SplitSeq(string(text), "\n") {
		at := strings.LastIndex(l, " | ")
		if at < 0 {
			continue
		}
		words := strings.Fields(l[at+3:])
		if words[0] != "engine" && words[0] != "kafka" {
			continue
		}
		c := readmeCommand{line: l[:at], more: strings.Join(words[2:], " "), kafka: words[0] == "kafka"}
		for code := range strings.SplitSeq(words[1], ",") {
			n, err := strconv.Atoi(code)
			if err != nil {
				t.Fatalf("%s: %v", l, err)
			}
			c.codes = append(c.codes, n)
		}
		out = append(out, c)
	}
	if len(out) < 5 {
		t.Fatalf("%d commands, expected some ten", len(out))
	}
	return out
}

// readmeShelf is a directory with bin/tidemark, a failing run under the name that the pages use, whose plan containers can carry out, and the scenarios that they name.
func readmeShelf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	defects, err := filepath.Abs("../../harness/defects")
	if err != nil {
		t.Fatal(err)
	}
	script := "mkdir bin docs harness && cp " + tool(t) + " bin/tidemark && cp -r " + defects + ` harness/defects
bin/tidemark hunt --like apache-kafka:0.10.2.2 --faults kill,pause,stop --bug ack-before-replication --master 7 --max-seeds 30 --duration 20s --until-first >/dev/null 2>&1
mv "$(ls -d runs/* | head -n 1)" 'runs/<time>-<seed>'`
	if out, code := said(t, dir, script); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	return dir
}

// said is what a shell's script says in a directory, and its exit code.
func said(t *testing.T, dir, script string) (string, int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", script)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}
