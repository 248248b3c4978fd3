package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/broker/disk"
	"tidemark/broker/disk/disktest"
)

func TestMem(t *testing.T) { disktest.Run(t, func(*testing.T) disk.FS { return disk.Mem() }) }

func TestOS(t *testing.T) {
	disktest.Run(t, func(t *testing.T) disk.FS {
		d, err := disk.OS(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}

func TestOSNeedsItsRoot(t *testing.T) {
	if _, err := disk.OS(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing root was opened")
	}
}

func TestOSStaysInside(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	d, err := disk.OS(root)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := d.Open("link/f", true); err == nil {
		f.Close()
		t.Error("a symbolic link led out of the root")
	}
}
