package near

import "testing"

// TestHint: a slip of the pen has a hint, what is further off has none.
func TestHint(t *testing.T) {
	names := []string{"ack-before-replication", "truncate-to-hw", "stale read"}
	for misspelt, want := range map[string]string{
		"ack-before-replicaton":  " (did you mean ack-before-replication?)",
		"truncate-to-high-water": "",
		"trucnate-to-hw":         " (did you mean truncate-to-hw?)",
		"stale reads":            " (did you mean stale read?)",
		"":                       "",
	} {
		if got := Hint(misspelt, names); got != want {
			t.Errorf("%q: hint %q, expected %q", misspelt, got, want)
		}
	}
}
