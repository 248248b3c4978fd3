package harness

import "testing"

// TestAnEntryIsOfABug where it tells how a bug's search went, so that it is only looked for where that bug is.
func TestAnEntryIsOfABug(t *testing.T) {
	for signature, want := range map[string]string{"not found: truncate-to-hw": "truncate-to-hw", "not found: *": "", "lost acknowledged write: election": ""} {
		if name, is := (Known{Signature: signature}).OfBug(); is != (want != "") || is && name != want {
			t.Errorf("%q is of the bug %q, %v; expected %q", signature, name, is, want)
		}
	}
}

// TestOneWorkerIsOne in the line that ends a table, also where nothing was found.
func TestOneWorkerIsOne(t *testing.T) {
	if got, want := (BugTally{Workers: 1, Generator: "g", Master: 7}).Summary(), "0 of 0 found by 1 worker; generator g, master seed 7"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}
