package checker

import (
	"flag"
	"os"
	"testing"
)

// TestTable holds the documented table to the code; -rewrite, datadriven's flag, writes it anew.
func TestTable(t *testing.T) {
	const path = "../docs/anomalies.md"
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, []byte(Table()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stands, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(stands) != Table() {
		t.Errorf("%s is not what the code says; go test ./checker -run TestTable -rewrite makes it anew", path)
	}
}
