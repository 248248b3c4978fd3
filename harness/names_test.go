package harness

import (
	"strings"
	"testing"

	"tidemark/results"
)

// TestALineCanBePasted: whatever the directory of a run is called, the lines that name it name it, and give no option.
func TestALineCanBePasted(t *testing.T) {
	for path, want := range map[string]string{
		"out/runs/a-1":   "out/runs/a-1",
		"-x/runs/a-1":    "./-x/runs/a-1",
		"--json":         "./--json",
		"-my runs/a-1":   "'./-my runs/a-1'",
		"it's/runs/a-1":  `'it'\''s/runs/a-1'`,
		"./-x/runs/a-1":  "./-x/runs/a-1",
		"/tmp/-x/runs/1": "/tmp/-x/runs/1",
	} {
		d := results.Dir{Path: path}
		for line, command := range map[string]string{ReplayLine(d): "replay", Line("shrink", d): "shrink"} {
			if !strings.HasSuffix(line, " "+command+" "+want) {
				t.Errorf("%s: %q, expected it to end with %s", path, line, want)
			}
		}
	}
}
