package results

import (
	"cmp"
	"os"
	"reflect"
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
		reflect.TypeFor[Shrunk](),
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
