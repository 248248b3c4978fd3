package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestReadme runs each command that README.md and the pages of docs name, as testdata/readme.txt says: as it stands, shorter, or, where it takes
// a container engine or hours, as far as its words go, beside the test or script that carries it out. A command that is not listed there fails
// the test, and so does a line there that no page names.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("carries out some thirty commands")
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = slices.DeleteFunc(pages, func(page string) bool { return filepath.Base(page) == "bugs.md" }) // which make bugs writes, with the lines it ran
	named := map[string]string{}                                                                         // command → page
	for _, page := range append([]string{"../../README.md"}, pages...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range commandsIn(string(text)) {
			named[command] = page
		}
	}
	claims := readClaims(t)
	for command, page := range named {
		if !slices.ContainsFunc(claims, func(c claim) bool { return c.command == command }) {
			t.Errorf("%s names a command that testdata/readme.txt does not: %s", filepath.Base(page), command)
		}
	}
	dir := shelf(t)
	for _, c := range claims {
		if named[c.command] == "" {
			t.Errorf("no page names %s", c.command)
			continue
		}
		t.Run(strings.ReplaceAll(c.command, "/", "_"), func(t *testing.T) { c.hold(t, dir) })
	}
}

// TestEveryFigureHasItsCommand: a row of the README's evidence names the command that repeats its figures.
func TestEveryFigureHasItsCommand(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Evidence\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for line := range strings.SplitSeq(section, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.HasPrefix(line, "| ") || cells[1] == "command" {
			continue
		}
		if rows++; len(inTicks.FindAllString(cells[1], -1)) == 0 {
			t.Errorf("%.100s: the command is %q, expected one in ticks", cells[0], cells[1])
		}
	}
	if rows < 20 {
		t.Errorf("%d rows, expected more than twenty", rows)
	}
}

// inTicks matches a command in a line of text.
var inTicks = regexp.MustCompile("`((?:bin/tidemark|make|go test) [^`]*)`")

// commandsIn lists the commands of a page: in blocks that are set off, and in ticks. What follows two spaces and a # is a comment.
func commandsIn(text string) (out []string) {
	for line := range strings.SplitSeq(text, "\n") {
		indented := strings.TrimLeft(line, " ")
		if len(line)-len(indented) >= 4 && regexp.MustCompile(`^(bin/tidemark|make|go test|seq|kcat) `).MatchString(indented) {
			out = append(out, strings.TrimSpace(strings.SplitN(indented, "  ", 2)[0]))
			continue
		}
		for _, m := range inTicks.FindAllStringSubmatch(line, -1) {
			out = append(out, m[1])
		}
	}
	return out
}

// claim is a line of testdata/readme.txt.
type claim struct {
	command string
	how     string   // see hold
	args    []string // what that needs
}

// readClaims reads testdata/readme.txt: the command, and behind a bar how it is held to.
func readClaims(t *testing.T) (out []claim) {
	t.Helper()
	text, err := os.ReadFile("testdata/readme.txt")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.SplitSeq(string(text), "\n") {
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		at := strings.LastIndex(l, " | ")
		if at < 0 {
			t.Fatalf("testdata/readme.txt: %q, expected COMMAND | HOW", l)
		}
		words := strings.Fields(l[at+3:])
		c := claim{command: l[:at], how: words[0], args: words[1:]}
		out = append(out, c)
	}
	return out
}

// shelf is a directory with bin/tidemark, a failing run under the name that the pages use, and the files that they name.
func shelf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "tidemark"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	script := `bin/tidemark hunt --bug ack-before-replication --max-seeds 200 --master 7 --until-first >/dev/null 2>&1; test $? = 1 || exit 1
mv "$(ls -d runs/* | head -n 1)" 'runs/<time>-<seed>'; mkdir -p nightly; mv campaigns nightly/; cp -r runs nightly/`
	if out, err := shell(dir, script); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	corpus, err := filepath.Abs("../../corpus")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := shell(dir, "cp -r "+corpus+" corpus"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func shell(dir, script string) ([]byte, error) {
	c := exec.Command("sh", "-c", script)
	c.Dir = dir
	c.Env = append(os.Environ(), "GITHUB_ACTIONS=") // the summary is that of who runs the tests
	return c.CombinedOutput()
}

// hold does what the claim says.
func (c claim) hold(t *testing.T, dir string) {
	switch c.how {
	case "exits": // exits CODE [MORE...]: carried out as it stands, with more words behind it
		code, err := strconv.Atoi(c.args[0])
		if err != nil {
			t.Fatal(err)
		}
		line := strings.ReplaceAll(c.command, "runs/<time>-<seed>", "'runs/<time>-<seed>'") + " " + strings.Join(c.args[1:], " ")
		line = strings.ReplaceAll(line, "'runs/<time>-<seed>'/plan.txt", "'runs/<time>-<seed>/plan.txt'")
		out, err := shell(dir, line)
		got := 0
		if exit, ok := err.(*exec.ExitError); ok {
			got, err = exit.ExitCode(), nil
		}
		if err != nil || got != code {
			t.Errorf("%s: exit code %d, expected %d (%v)\n%.3000s", line, got, code, err, out)
		}
	case "engine", "kafka": // engine CODES MORE...: its words are taken, and TestTheReadmesCommands of docker/live carries it out
		parsed(t, c.command)
		inPackage(t, "go test -run ^TestTheReadmesCommands$ ./docker/live")
	case "live": // live TEST: its words are taken, and that test of docker/live carries it out
		parsed(t, c.command)
		inPackage(t, "go test -run ^"+c.args[0]+"$ ./docker/live")
	case "words": // words PATH NAME: its words are taken, and a test or script carries it out
		parsed(t, c.command)
		holds(t, c.args)
	case "shown": // shown PATH NAME: no command of this program
		holds(t, c.args)
	case "target": // a target of the Makefile
		holds(t, []string{"Makefile", "\n" + strings.Fields(c.command)[1] + ":"})
	case "test": // a test, or a benchmark, that is there
		inPackage(t, c.command)
	default:
		t.Errorf("%s: how %q, expected exits, engine, kafka, live, words, shown, target or test", c.command, c.how)
	}
}

// holds wants a file that names something.
func holds(t *testing.T, args []string) {
	t.Helper()
	if len(args) != 2 {
		t.Fatalf("%q, expected PATH NAME", args)
	}
	text, err := os.ReadFile(filepath.Join("../..", args[0]))
	if err != nil || !strings.Contains(string(text), args[1]) {
		t.Errorf("%s does not hold %s: %v", args[0], args[1], err)
	}
}

// parsed has the command line accept the words of a command, without carrying it out.
func parsed(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(command)[1:]
	found, rest, err := rootCommand().Find(words)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	if err := found.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v", command, err)
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		t.Errorf("%s: %v", command, err)
	}
}

// inPackage wants the tests that a go test line selects to be there.
func inPackage(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(strings.ReplaceAll(command, "'", ""))
	pattern, dir, prefix := "", "", "Test"
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "./") && dir == "":
			dir = strings.TrimSuffix(w, "/...")
		case w == "-run" && words[i+1] != "^$":
			pattern = words[i+1]
		case w == "-bench":
			pattern, prefix = words[i+1], "Benchmark"
		}
	}
	match, err := regexp.Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, prefix) && match.MatchString(f.Name.Name) {
				return
			}
		}
	}
	t.Errorf("%s selects no test in %d files of %s", command, len(files), dir)
}

// TestCheckWritesWhenAskedAlone, as the README and the page for reviewers say.
func TestCheckWritesWhenAskedAlone(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(string(readme)), " ")
	if want := "It writes nothing, unless `--write` asks for `results.json` and `report.html` anew."; !strings.Contains(said, want) {
		t.Errorf("README.md does not say of check: %s", want)
	}
	out := t.TempDir()
	if code := execute(t.Context(), []string{"run", "--seed", "1", "--duration", "5s", "--out", out}, io.Discard, io.Discard); code == exitUsage {
		t.Fatalf("run ended with %d", code)
	}
	found, err := filepath.Glob(filepath.Join(out, "runs", "*", "results.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	before, err := os.Stat(found[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(found[0])
	for _, c := range []struct {
		args   []string
		writes bool
	}{{[]string{"check", dir}, false}, {[]string{"check", dir, "--as", "acks=1"}, false}, {[]string{"check", dir, "--outcomes"}, false}, {[]string{"check", dir, "--write"}, true}} {
		if code := execute(t.Context(), c.args, io.Discard, io.Discard); code == exitUsage || code == exitHarness {
			t.Errorf("%v ended with %d", c.args, code)
		}
		if after, err := os.Stat(found[0]); err != nil || os.SameFile(before, after) && after.ModTime().Equal(before.ModTime()) == c.writes {
			t.Errorf("%v: results.json is of %v, before %v, %v; expected it anew: %v", c.args, after.ModTime(), before.ModTime(), err, c.writes)
		}
	}
}
