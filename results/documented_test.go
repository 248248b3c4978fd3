package results

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"tidemark/checker"
)

// TestDocumentedResults holds the page on formats to what results.json holds: every field is told.
func TestDocumentedResults(t *testing.T) {
	text, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## results.json")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/formats.md says nothing of results.json")
	}
	told := func(name string) {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("docs/formats.md does not tell of %s", name)
		}
	}
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
	for _, name := range append(fieldNames(reflect.TypeFor[checker.Finding]()), fieldNames(reflect.TypeFor[Shrunk]())...) {
		told(name)
	}
}

// fieldNames are the names of a structure's fields in JSON.
func fieldNames(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
