package checker

import (
	"flag"
	"os"
	"slices"
	"testing"
)

// TestReach holds the documented table to the code, and the code to every class; -rewrite, datadriven's flag, writes it anew.
func TestReach(t *testing.T) {
	const path = "../docs/second-judge.md"
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, []byte(ReachTable()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stands, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(stands) != ReachTable() {
		t.Errorf("%s is not what the code says; go test ./checker -run TestReach -rewrite makes it anew", path)
	}
	for _, class := range Classes {
		if !slices.ContainsFunc(Reaches, func(r Reach) bool { return r.Class == class && r.How != "" }) {
			t.Errorf("nothing is said of %s", class)
		}
	}
	if len(Reaches) != len(Classes) {
		t.Errorf("%d classes, expected %d", len(Reaches), len(Classes))
	}
}
