package results

import (
	"cmp"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/checker"
	"tidemark/checker/linear"
	"tidemark/history"
)

// telling reads what the page on formats says of a file, and returns what wants a field's name to be there.
func telling(t *testing.T, file string) func(name string) {
	t.Helper()
	text, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## "+file)
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatalf("docs/formats.md says nothing of %s", file)
	}
	return func(name string) {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("docs/formats.md, %s: nothing is told of %s", file, name)
		}
	}
}

// TestDocumentedRun holds the page on formats to what run.json holds: every field is told.
func TestDocumentedRun(t *testing.T) {
	told := telling(t, "run.json")
	for _, name := range fieldNames(reflect.TypeFor[history.Run]()) {
		told(name)
	}
}

// TestDocumentedResults holds it to what results.json holds likewise.
func TestDocumentedResults(t *testing.T) {
	told := telling(t, "results.json")
	for _, name := range fieldNames(reflect.TypeFor[storedOutcome]()) {
		if name != "verdict" {
			told(name)
		}
	}
	for _, name := range fieldNames(reflect.TypeFor[checker.Verdict]()) {
		if name != "format" {
			told("verdict." + name)
		}
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[checker.Finding](), reflect.TypeFor[checker.Implied](), reflect.TypeFor[checker.Witness](), reflect.TypeFor[checker.Removal](),
		reflect.TypeFor[checker.InForce](), reflect.TypeFor[checker.Contract](), reflect.TypeFor[checker.Stats](), reflect.TypeFor[checker.Second](),
		reflect.TypeFor[linear.Stretch](), reflect.TypeFor[history.Step](), reflect.TypeFor[history.Ground](), reflect.TypeFor[history.Listeners](),
		reflect.TypeFor[Shrunk](), reflect.TypeFor[Journal](),
	} {
		for _, name := range fieldNames(of) {
			told(name)
		}
	}
	for _, word := range []string{string(checker.WhenAcked), string(checker.WhenSent), string(checker.WhenLost), string(checker.WhenShown), string(checker.StepAck), string(history.StepElection),
		string(history.StepFollow), string(history.StepISR), string(history.StepHW), string(history.StepAppend), string(history.StepTruncate), string(history.StepTrim),
		string(history.StepStart), string(history.StepDown), string(history.StepRecovery), string(history.StepInvariant), checker.Agrees, checker.Objects,
		checker.OutOfBudget, checker.NotAsked, string(checker.Violation), string(checker.Allowed), string(checker.Info)} {
		told(word)
	}
}

// fieldNames are the names of a structure's fields in JSON.
func fieldNames(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		name = cmp.Or(name, of.Field(i).Name)
		names = append(names, name)
	}
	return names
}

// TestInvariantsAreTold: what the report says of a broken invariant is what the page on seeds says, of every one that it lists.
func TestInvariantsAreTold(t *testing.T) {
	text, err := os.ReadFile("../docs/seed.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| invariant | broken, it means that |\n|---|---|\n")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 4 {
			break
		}
		for name := range strings.SplitSeq(strings.TrimSpace(cells[1]), ", ") {
			rows++
			if got, want := checker.InvariantMeans(name), strings.TrimSpace(cells[2]); got != want {
				t.Errorf("%s: %q, expected %q", name, got, want)
			}
		}
	}
	if rows < 10 {
		t.Errorf("docs/seed.md tells of %d invariants, expected more", rows)
	}
}

// TestABrokenInvariantIsNoMessage: it is shown by its name and what it means, without the rows of a message.
func TestABrokenInvariantIsNoMessage(t *testing.T) {
	o, h := invalidRunWith("")
	broken := checker.Broken{Name: checker.ValidHighWatermark, Time: 5e9, Detail: "the log of broker 3 ends at 10", Partition: orders, Offset: 10}
	h.Steps = append(h.Steps, broken.Step())
	v := checker.Check(o.Run, h, checker.Options{})
	n := slices.IndexFunc(v.Findings, func(f checker.Finding) bool { return f.Class == checker.InvariantBroken })
	if n < 0 {
		t.Fatalf("no broken invariant in %+v", v.Findings)
	}
	var got []string
	for _, f := range witnessFields(v.Findings[n])[:4] {
		got = append(got, f.Name+": "+f.Value)
	}
	want := []string{"Invariant: ValidHighWatermark", "Broken, it means that: " + checker.InvariantMeans(checker.ValidHighWatermark), "Partition: orders/0", "Offset: 10"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, expected %q", got, want)
	}
}
