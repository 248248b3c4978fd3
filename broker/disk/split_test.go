package disk

import (
	"errors"
	"io/fs"
	"testing"
)

// TestSplitKeepsOneDirectoryElsewhere wipes the main volume and finds the other directory untouched.
func TestSplitKeepsOneDirectoryElsewhere(t *testing.T) {
	main, other := Mem(), Mem()
	s := Split(main, other, "meta-0")
	for _, dir := range []string{"meta-0", "orders-0"} {
		if err := s.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := Run(s, Step{Op: WriteFile, Path: dir + "/log", Data: []byte(dir)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SyncDir(""); err != nil {
		t.Fatal(err)
	}
	s = Split(Mem(), other, "meta-0")
	if data, err := ReadFile(s, "meta-0/log", 100); err != nil || string(data) != "meta-0" {
		t.Errorf("meta-0/log after the wipe: %q, %v", data, err)
	}
	if _, err := ReadFile(s, "orders-0/log", 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("orders-0/log after the wipe: %v, expected that it is missing", err)
	}
	if entries, err := main.ReadDir(""); err != nil || len(entries) != 1 || entries[0] != "orders-0/" {
		t.Errorf("the main volume holds %q, %v", entries, err)
	}
	if err := s.Rename("meta-0/log", "orders-0/log"); err == nil {
		t.Error("a rename from one volume to the other was accepted")
	}
}
