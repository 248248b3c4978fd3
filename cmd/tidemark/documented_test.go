package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/broker/bug"
	"tidemark/harness"
)

// TestDocumentedJSON holds the page on formats to what commands print with --json: the fields of each structure, and the keys of each map that this
// package makes for it.
func TestDocumentedJSON(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "## What each command prints")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/formats.md says nothing of what commands print with --json")
	}
	told := func(name, of string) {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("docs/formats.md: nothing is told of %s of %s", name, of)
		}
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[harness.Tally](), reflect.TypeFor[harness.Failure](), reflect.TypeFor[harness.Group](), reflect.TypeFor[harness.Descent](), reflect.TypeFor[harness.Split](),
		reflect.TypeFor[campaignTold](), reflect.TypeFor[harness.Alike](), reflect.TypeFor[harness.BugTally](), reflect.TypeFor[harness.BugRow](), reflect.TypeFor[harness.ShrunkBug](),
		reflect.TypeFor[harness.BugSpread](), reflect.TypeFor[bug.Inapplicable](), reflect.TypeFor[harness.PastTable](), reflect.TypeFor[harness.PastRow](), reflect.TypeFor[harness.PastCell](),
	} {
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
				told(name, of.Name())
			}
		}
	}
	for where, names := range printedKeys(t) {
		for _, name := range names {
			told(name, where)
		}
	}
}

// printedKeys are the keys of maps of texts to anything, and the names of fields in JSON, that stand in this package's files.
func printedKeys(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		note := func(quoted string) {
			if key, err := strconv.Unquote(quoted); err == nil {
				keys[name] = append(keys[name], key)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				if n.Tag != nil {
					tag, _ := strconv.Unquote(n.Tag.Value)
					if key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); key != "" && key != "-" {
						keys[name] = append(keys[name], key)
					}
				}
			case *ast.CompositeLit:
				m, ok := n.Type.(*ast.MapType)
				value, isName := valueName(m, ok)
				if !isName || value != "any" {
					return true
				}
				for _, e := range n.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok {
						if key, ok := pair.Key.(*ast.BasicLit); ok {
							note(key.Value)
						}
					}
				}
			}
			return true
		})
	}
	return keys
}

// valueName is the name of the type of a map's values.
func valueName(m *ast.MapType, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	name, ok := m.Value.(*ast.Ident)
	if !ok {
		return "", false
	}
	return name.Name, true
}

// TestTheWordsTellEveryInvariant: whatever invariant the checker can call broken has a row in the table of docs/seed.md.
func TestTheWordsTellEveryInvariant(t *testing.T) {
	text, err := os.ReadFile("../../docs/seed.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for name := range strings.SplitSeq(cells[1], ",") {
				told = append(told, strings.TrimSpace(name))
			}
		}
	}
	files, err := filepath.Glob("../../checker/*.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^[A-Z][a-z]+([A-Z][a-z]+)+$`)
	var broken []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && spec.Type == nil && spec.Names[0].IsExported() {
				for _, v := range spec.Values {
					if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING && name.MatchString(strings.Trim(lit.Value, `"`)) {
						broken = append(broken, strings.Trim(lit.Value, `"`))
					}
				}
			}
			return true
		})
	}
	if len(broken) < 15 {
		t.Fatalf("%d invariants found in the checker, expected 15 at least", len(broken))
	}
	for _, invariant := range broken {
		if !slices.Contains(told, invariant) {
			t.Errorf("docs/seed.md has no row for the invariant %s", invariant)
		}
	}
}
