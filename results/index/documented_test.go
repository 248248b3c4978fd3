package index

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestDocumented holds the page on formats to the structures that are written: every field is told, in the section of its own.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	section := func(head string) string {
		_, behind, found := strings.Cut(string(text), "## "+head)
		if !found {
			t.Fatalf("docs/formats.md has no section %s", head)
		}
		section, _, _ := strings.Cut(behind, "\n## ")
		return section
	}
	for _, c := range []struct {
		head string
		of   []reflect.Type
	}{
		{"campaign.json", []reflect.Type{reflect.TypeFor[Campaign](), reflect.TypeFor[Part](), reflect.TypeFor[Check](), reflect.TypeFor[Problem]()}},
		{"The difference and the index", []reflect.Type{reflect.TypeFor[Difference](), reflect.TypeFor[Change](), reflect.TypeFor[Listing](),
			reflect.TypeFor[Point](), reflect.TypeFor[Run]()}},
	} {
		told := section(c.head)
		for _, of := range c.of {
			for i := range of.NumField() {
				if !of.Field(i).IsExported() {
					continue
				}
				name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
				if !strings.Contains(told, "`"+name+"`") {
					t.Errorf("docs/formats.md, %s: nothing is told of %s of %s", c.head, name, of.Name())
				}
			}
		}
	}
	told := section("campaign.json") + section("The difference and the index")
	for word := range rank {
		if !strings.Contains(told, "`"+string(word)+"`") {
			t.Errorf("docs/formats.md says nothing of the status %s", word)
		}
	}
	for word := range kindRank {
		if !strings.Contains(told, "`"+string(word)+"`") {
			t.Errorf("docs/formats.md says nothing of the kind %s", word)
		}
	}
	for _, word := range Standings {
		if !strings.Contains(told, "`"+string(word)+"`") {
			t.Errorf("docs/formats.md says nothing of the standing %s", word)
		}
	}
}
