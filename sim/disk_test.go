package sim

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/broker/disk"
	"tidemark/broker/disk/disktest"
)

func testDrive(seed uint64) *drive {
	return newDrive(&World{opt: Options{Seed: seed}, digest: newDigest(seed)}, 1)
}

func TestDriveIsAFileSystem(t *testing.T) {
	disktest.Run(t, func(*testing.T) disk.FS { return testDrive(1) })
}

// model is what is known of one file: what readers see, every value that a byte ever had, and what must survive.
type model struct {
	bytes    []byte
	ever     []map[byte]bool // by offset; 0 always counts
	synced   []byte          // as of the last finished sync
	dirty    []bool          // by offset of synced: written or cut off since that sync began
	low      int             // shortest and longest length since that sync began
	high     int
	begun    []byte // as of the sync under way; nil if none
	begunLow int
	begunTop int
	since    []bool // written since it began
}

func (m *model) size(n int) {
	for len(m.bytes) < n {
		m.bytes = append(m.bytes, 0)
	}
	for i := n; i < len(m.bytes); i++ {
		m.mark(i)
	}
	m.bytes = m.bytes[:n]
	m.low, m.high = min(m.low, n), max(m.high, n)
	m.begunLow, m.begunTop = min(m.begunLow, n), max(m.begunTop, n)
}

func (m *model) mark(i int) {
	if i < len(m.dirty) {
		m.dirty[i] = true
	}
	if i < len(m.since) {
		m.since[i] = true
	}
}

func (m *model) write(off int, p []byte) {
	if off+len(p) > len(m.bytes) {
		m.size(off + len(p))
	}
	for i, b := range p {
		m.bytes[off+i] = b
		for len(m.ever) <= off+i {
			m.ever = append(m.ever, map[byte]bool{})
		}
		m.ever[off+i][b] = true
		m.mark(off + i)
	}
}

func (m *model) begin() {
	m.begun = append([]byte{}, m.bytes...)
	m.since = make([]bool, len(m.bytes))
	m.begunLow, m.begunTop = len(m.bytes), len(m.bytes)
}

func (m *model) end() {
	m.synced, m.dirty, m.low, m.high = m.begun, m.since, m.begunLow, m.begunTop
	m.begun, m.since = nil, nil
}

// survived checks what a power failure left: what was synced and not touched since is there, and nothing was invented.
func (m *model) survived(t *rapid.T, got []byte) {
	if len(got) < m.low || len(got) > m.high {
		t.Fatalf("%d bytes left, expected %d to %d", len(got), m.low, m.high)
	}
	for i, b := range got {
		if i < len(m.synced) && i < m.low && !m.dirty[i] && b != m.synced[i] {
			t.Fatalf("byte %d is %d, but %d was synced there and nothing written since", i, b, m.synced[i])
		}
		if b != 0 && (i >= len(m.ever) || !m.ever[i][b]) {
			t.Fatalf("byte %d is %d, which was never written there", i, b)
		}
	}
	for i := len(got); i < len(m.ever); i++ {
		m.ever[i] = map[byte]bool{}
	}
	*m = model{bytes: got, ever: m.ever, synced: got, dirty: make([]bool, len(got)), low: len(got), high: len(got)}
}

func readAll(t interface{ Fatal(...any) }, f disk.File) []byte {
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, size)
	if n, err := f.ReadAt(got, 0); n != len(got) || err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(n, err)
	}
	return got
}

func TestPowerFailureKeepsWhatWasSynced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := testDrive(rapid.Uint64().Draw(t, "seed"))
		f, err := d.Open("log", true)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.SyncDir(""); err != nil {
			t.Fatal(err)
		}
		m := &model{}
		value := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if got := readAll(t, f); string(got) != string(m.bytes) {
					t.Fatalf("readers see %d bytes that differ from the %d written", len(got), len(m.bytes))
				}
			},
			"append": func(t *rapid.T) {
				value++
				p := []byte(strings.Repeat(string(rune(value%100+1)), rapid.IntRange(1, 3000).Draw(t, "bytes")))
				off := len(m.bytes)
				if rapid.IntRange(0, 3).Draw(t, "overwrite") == 0 {
					off = rapid.IntRange(0, 20_000).Draw(t, "offset")
				}
				if _, err := f.WriteAt(p, int64(off)); err != nil {
					t.Fatal(err)
				}
				m.write(off, p)
			},
			"truncate": func(t *rapid.T) {
				n := rapid.IntRange(0, len(m.bytes)+2000).Draw(t, "size")
				if err := f.Truncate(int64(n)); err != nil {
					t.Fatal(err)
				}
				m.size(n)
			},
			"sync": func(t *rapid.T) {
				if m.begun != nil {
					t.Skip("one is under way")
				}
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
				m.begin()
				m.end()
			},
			"begin sync": func(t *rapid.T) {
				if m.begun != nil {
					t.Skip("one is under way")
				}
				d.beginSync("log")
				m.begin()
			},
			"end sync": func(t *rapid.T) {
				if m.begun == nil {
					t.Skip("none is under way")
				}
				if err := d.do(&disk.Step{Op: disk.SyncFile, Path: "log"}); err != nil {
					t.Fatal(err)
				}
				m.end()
			},
			"wait": func(*rapid.T) { d.w.now += 20 * time.Second },
			"power failure": func(t *rapid.T) {
				d.powerFail()
				if f, err = d.Open("log", false); err != nil {
					t.Fatal(err)
				}
				m.survived(t, readAll(t, f))
			},
		})
	})
}

// ReplaceFile leaves the old content or the new, wherever the power fails.
func TestReplaceFileIsAtomic(t *testing.T) {
	old, young := strings.Repeat("old ", 3000), strings.Repeat("new ", 2000)
	steps := disk.ReplaceFile("dir", "checkpoint", []byte(young))
	seen := map[string]int{}
	for seed := range uint64(200) {
		for crash := range len(steps) + 1 {
			d := testDrive(seed)
			if err := d.MkdirAll("dir"); err != nil {
				t.Fatal(err)
			}
			play(t, d, append(disk.ReplaceFile("dir", "checkpoint", []byte(old)), disk.Step{Op: disk.SyncDir})...)
			play(t, d, steps[:crash]...)
			d.powerFail()
			got, err := disk.ReadFile(d, "dir/checkpoint", 1<<20)
			if err != nil {
				t.Fatalf("seed %d, crash before step %d: %v", seed, crash, err)
			}
			switch s := string(got); {
			case s == old && crash < len(steps):
				seen["old"]++
			case s == young && crash > 1:
				seen["new"]++
			default:
				t.Fatalf("seed %d, crash before step %d: %d bytes that are neither old nor new, or too early or late", seed, crash, len(s))
			}
		}
	}
	if seen["old"] == 0 || seen["new"] == 0 {
		t.Errorf("saw %v, expected both", seen)
	}
}

func play(t *testing.T, d *drive, steps ...disk.Step) {
	t.Helper()
	for _, s := range steps {
		if s.Op == disk.SyncFile {
			d.beginSync(s.Path)
		}
		if err := d.do(&s); err != nil {
			t.Fatal(err)
		}
	}
}

// Every kind of loss that the model has comes about, over seeds.
func TestPowerFailureTakesInEveryWay(t *testing.T) {
	seen := map[string]int{}
	page := strings.Repeat("x", pageSize)
	for seed := range uint64(300) {
		d := testDrive(seed)
		f, err := d.Open("log", true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(page), 0); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), d.SyncDir("")); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(page+page+page), pageSize); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if _, err := d.Open(name, true); err != nil {
				t.Fatal(err)
			}
		}
		l := d.powerFail()
		got, err := disk.ReadFile(d, "log", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		names, err := d.ReadDir("")
		if err != nil {
			t.Fatal(err)
		}
		var pages strings.Builder
		for p := 0; p < len(got); p += pageSize {
			switch n := strings.Count(string(got[p:p+pageSize]), "x"); {
			case n == 0:
				pages.WriteByte('0')
			case n == pageSize:
				pages.WriteByte('x')
			case n%sectorSize == 0:
				pages.WriteByte('t')
			default:
				t.Fatalf("seed %d: a page of which %d bytes are left, expected whole sectors", seed, n)
			}
		}
		if pages.String()[0] != 'x' {
			t.Fatalf("seed %d: the synced page is lost: %s", seed, &pages)
		}
		seen["pages "+pages.String()]++
		seen["names "+strings.Join(names, ",")]++
		seen[fmt.Sprintf("torn %d", l.torn)]++
	}
	for _, want := range []string{"pages x", "pages xxxx", "pages xxxt", "pages x000", "pages x0x0", "pages xx", "names log", "names a,log", "names a,b,log"} {
		if seen[want] == 0 {
			t.Errorf("never %q in %v", want, seen)
		}
	}
	if seen["names b,log"] > 0 {
		t.Error("a later creation outlived an earlier one of the same directory")
	}
}

// A sync covers what was written before it began: an append during it may be lost, length and all.
func TestSyncCoversWhatWasThereAtItsBegin(t *testing.T) {
	sizes := map[int]int{}
	for seed := range uint64(100) {
		d := testDrive(seed)
		f, err := d.Open("log", true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("synced"), 0); err != nil {
			t.Fatal(err)
		}
		d.beginSync("log")
		if _, err := f.WriteAt([]byte(" and not"), 6); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.do(&disk.Step{Op: disk.SyncFile, Path: "log"}), d.SyncDir("")); err != nil {
			t.Fatal(err)
		}
		d.powerFail()
		got, err := disk.ReadFile(d, "log", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(got), "synced") {
			t.Fatalf("seed %d: %q is left, expected what was synced", seed, got)
		}
		sizes[len(got)]++
	}
	if len(sizes) != 2 || sizes[6] == 0 || sizes[14] == 0 {
		t.Errorf("lengths %v, expected 6 and 14", sizes)
	}
}

// A rename between two directories is one operation: whatever lasts, the file is there once.
func TestRenameAcrossDirectories(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(100) {
		d := testDrive(seed)
		if err := errors.Join(d.MkdirAll("from"), d.MkdirAll("to"), d.SyncDir("")); err != nil {
			t.Fatal(err)
		}
		play(t, d, disk.ReplaceFile("from", "f", []byte("data"))...)
		if err := d.Rename("from/f", "to/f"); err != nil {
			t.Fatal(err)
		}
		if seed%3 == 0 {
			if err := d.SyncDir("from"); err != nil {
				t.Fatal(err)
			}
		}
		d.powerFail()
		from, _ := d.ReadDir("from")
		to, _ := d.ReadDir("to")
		if len(from)+len(to) != 1 {
			t.Fatalf("seed %d: from has %v, to has %v", seed, from, to)
		}
		if seed%3 == 0 && len(to) == 0 {
			t.Fatalf("seed %d: a synced rename was lost", seed)
		}
		seen[fmt.Sprint(len(to))]++
	}
	if len(seen) != 2 {
		t.Errorf("moved or not: %v, expected both", seen)
	}
}

// After a failed fsync readers see the data, but no later sync writes it: only writing it again does.
func TestFailedSync(t *testing.T) {
	d := testDrive(1)
	f, err := d.Open("log", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SyncDir(""); err != nil {
		t.Fatal(err)
	}
	page := strings.Repeat("x", pageSize)
	if _, err := f.WriteAt([]byte(page+page), 0); err != nil {
		t.Fatal(err)
	}
	d.syncErr = errors.New("input/output error")
	if err := f.Sync(); err == nil {
		t.Fatal("the sync succeeded")
	}
	if got := string(readAll(t, f)); got != page+page {
		t.Errorf("readers see %d bytes, expected %d", len(got), 2*pageSize)
	}
	if _, err := f.WriteAt([]byte(page), pageSize); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	d.powerFail()
	got, err := disk.ReadFile(d, "log", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != strings.Repeat("\x00", pageSize)+page {
		t.Errorf("the platter has %d bytes, the first %q; expected a page of zeros and the page that was written again", len(got), got[0])
	}
}

func TestClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clock{local: time.Hour, rate: ppb}
		now := time.Duration(0)
		for range 10 {
			if err := c.setRate(now, rapid.Float64Range(clockRateMin, clockRateMax).Draw(t, "rate")); err != nil {
				t.Fatal(err)
			}
			before := c.at(now)
			due := before + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "due"))
			at := c.when(due)
			if c.at(at) < due || at > now && c.at(at-1) >= due {
				t.Fatalf("shows %v at %v and %v just before, expected %v first then", c.at(at), at, c.at(at-1), due)
			}
			now = max(at, now)
		}
		if c.when(forever) != forever {
			t.Fatal("forever comes")
		}
	})
}
