// Package tidemark_test holds the house to its own rules: imports run downwards only, and what must replay exactly reads no
// clock, draws no global randomness and starts no goroutine.
package tidemark_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms lists each room with the rooms it may import. cmd may import all.
var rooms = map[string][]string{
	"harness":   {"results", "sim", "docker", "checker", "nemesis", "workloads", "world", "broker", "history"},
	"results":   {"checker", "nemesis", "history"},
	"sim":       {"broker", "nemesis", "workloads", "world", "history"},
	"docker":    {"broker", "nemesis", "workloads", "world", "history"},
	"checker":   {"history"},
	"nemesis":   {"world", "history"},
	"workloads": {"world", "history"},
	"world":     {"history"},
	"broker":    {},
	"history":   {},
}

func TestImportsRunDownwards(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); packages++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatalf("go list printed what is not JSON: %v", err)
		}
		for _, imported := range p.Imports {
			if !mayImport(p.ImportPath, imported) {
				t.Errorf("against the house: %s imports %s", p.ImportPath, imported)
			}
		}
	}
	if packages < len(rooms) {
		t.Errorf("go list named %d packages, expected at least one for each of %d rooms", packages, len(rooms))
	}
}

func TestTheArrowsAreEnforced(t *testing.T) {
	for _, upward := range [][2]string{
		{"tidemark/broker/log", "tidemark/history"}, {"tidemark/history", "tidemark/checker"},
		{"tidemark/checker", "tidemark/sim"}, {"tidemark/results", "tidemark/harness"}, {"tidemark/attic", "tidemark/history"},
	} {
		if mayImport(upward[0], upward[1]) {
			t.Errorf("%s may import %s, expected a refusal", upward[0], upward[1])
		}
	}
}

func mayImport(importer, imported string) bool {
	path, ours := strings.CutPrefix(imported, "tidemark/")
	if !ours {
		return true
	}
	from, to := room(strings.TrimPrefix(importer, "tidemark/")), room(path)
	return from == to || from == "cmd" || slices.Contains(rooms[from], to)
}

func room(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// simulated lists the rooms whose code runs inside a simulated run. broker/server, the shell for real life, is apart.
var simulated = []string{"broker", "sim", "nemesis", "workloads", "checker"}

// handedIn lists what a simulated room must be given rather than take. In math/rand only constructors and types are free.
var handedIn = map[string]func(name string) bool{
	"time": func(name string) bool {
		return slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, name)
	},
	"math/rand":    globalRandom,
	"math/rand/v2": globalRandom,
	"crypto/rand":  func(string) bool { return true },
	"sync":         func(name string) bool { return name == "WaitGroup" }, // whose Go starts goroutines
}

// afterRuns is the one file of a simulated room that may start goroutines. The checker's invariants watch a simulated run; its checks begin
// when the run is over, partition by partition, and its tests hold them to the same verdict however many run at a time.
var afterRuns = filepath.Join("checker", "parallel.go")

func globalRandom(name string) bool {
	return !strings.HasPrefix(name, "New") && !slices.Contains([]string{"Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf"}, name)
}

func TestSimulatedRoomsReplayExactly(t *testing.T) {
	files := 0
	for _, dir := range simulated {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path == filepath.Join("broker", "server"):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == afterRuns:
				return nil
			}
			files++
			found, err := irreplayable(path, nil)
			for _, f := range found {
				t.Error(f)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files == 0 {
		t.Error("no file was looked at")
	}
}

func TestTheClockIsNoticed(t *testing.T) {
	found, err := irreplayable("planted.go", `package planted
import ("sync"; clock "time"; "math/rand/v2")
var r = rand.New(rand.NewPCG(1, 2))
func f() { go f(); clock.Now(); rand.IntN(3); var d clock.Duration; _ = d; var wg sync.WaitGroup; wg.Go(f) }`)
	if err != nil || len(found) != 4 {
		t.Errorf("found %q, %v, expected a goroutine, a clock, a random draw and a group of goroutines", found, err)
	}
}

// irreplayable names each place in a file that would make two runs of one seed differ. src is as in parser.ParseFile.
func irreplayable(path string, src any) (found []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	imported := map[string]string{} // the name in this file → import path
	for _, spec := range file.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		if _, watched := handedIn[p]; !watched {
			continue
		}
		name := filepath.Base(strings.TrimSuffix(p, "/v2"))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = p
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, fset.Position(n.Pos()).String()+": starts a goroutine in a simulated room")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && imported[x.Name] != "" && handedIn[imported[x.Name]](n.Sel.Name) {
				found = append(found, fset.Position(n.Pos()).String()+": "+x.Name+"."+n.Sel.Name+" in a simulated room; it must be handed in")
			}
		}
		return true
	})
	return found, nil
}
