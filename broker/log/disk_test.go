package log

import (
	"bytes"
	"errors"
	"testing"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// story does everything that touches files, and returns the first error.
func story(fs disk.FS) error {
	cfg := Config{SegmentBytes: 300, IndexIntervalBytes: 0, MaxBatchBytes: 300}
	l, _, err := Open(fs, "a/t", cfg, 0, false)
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return appendOne(l, 1) },
		func() error { return appendOne(l, 2) },
		func() error { return appendOne(l, 2) },
		func() error { return flushAll(fs, l) },
		func() error { _, err := l.AppendFetched(BuildBatch(l.End(), 2, 0, make([]byte, 50))); return err },
		func() error { _, err := l.Read(0, l.End(), 1000, true); return err },
		func() error { return l.EachBatch(0, func(Batch) bool { return true }) },
		func() error { _, _, err := l.OffsetForTime(0); return err },
		func() error { _, err := l.Truncate(1); return err },
		func() error { return appendOne(l, 3) },
		func() error { return l.TruncateFully(50) },
		func() error { return appendOne(l, 4) },
		func() error { return appendOne(l, 4) },
		func() error { return flushAll(fs, l) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			// A broker stops here; what looks at its log until then must still get answers.
			_, _, _ = l.Start(), l.End(), l.LatestEpoch()
			return errors.Join(err, l.Close())
		}
	}
	if err := l.Close(); err != nil {
		return err
	}
	for _, clean := range []bool{true, false} {
		l, _, err := Open(fs, "a/t", cfg, l.RecoveryPoint(), clean)
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	_, err = Dump(fs, "a/t")
	return err
}

func appendOne(l *Log, epoch kafka.Epoch) error {
	first, end, err := l.Append(BuildBatch(0, 0, 0, make([]byte, 50)), epoch)
	if err == nil && end != first+1 {
		return errors.New("wrong end")
	}
	return err
}

func flushAll(fs disk.FS, l *Log) error {
	steps, end := l.FlushSteps()
	for _, s := range steps {
		if err := disk.Run(fs, s); err != nil {
			return err
		}
	}
	l.Flushed(end)
	return nil
}

func TestOnTheRealDisk(t *testing.T) {
	fs, err := disk.OS(t.TempDir())
	must(t, err)
	must(t, story(fs))
	c, err := Dump(fs, "a/t")
	must(t, err)
	if c.Start != 50 || c.End != 52 || len(c.Records) != 2 || c.Records[0].Epoch != 4 {
		t.Errorf("dump is %+v", c)
	}
}

// TestFailingDisk lets each file operation of the story fail once: the error comes out, as the disk's own and not as a bad
// batch's, and nothing panics.
func TestFailingDisk(t *testing.T) {
	for n := 0; ; n++ {
		f := &failing{FS: disk.Mem(), left: n}
		err := story(f)
		if f.left >= 0 {
			must(t, err)
			if n < 50 {
				t.Errorf("the story has %d operations, expected more", n)
			}
			return
		}
		var bad *InvalidBatch
		if !errors.Is(err, errBroken) || errors.As(err, &bad) {
			t.Fatalf("operation %d failed, and the story ended with %v", n, err)
		}
	}
}

var errBroken = errors.New("broken disk")

// failing fails the operation that finds left at zero.
type failing struct {
	disk.FS
	left int
}

func (f *failing) next() error {
	if f.left--; f.left == -1 {
		return errBroken
	}
	return nil
}

func (f *failing) Open(path string, create bool) (disk.File, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(path, create)
	if err != nil {
		return nil, err
	}
	return failingFile{file, f}, nil
}

func (f *failing) Remove(path string) error {
	if err := f.next(); err != nil { // and nothing else: that the file was not there would be no error
		return err
	}
	return f.FS.Remove(path)
}

func (f *failing) Rename(from, to string) error { return errors.Join(f.next(), f.FS.Rename(from, to)) }

func (f *failing) MkdirAll(path string) error { return errors.Join(f.next(), f.FS.MkdirAll(path)) }

func (f *failing) SyncDir(path string) error { return errors.Join(f.next(), f.FS.SyncDir(path)) }

func (f *failing) ReadDir(path string) ([]string, error) {
	if err := f.next(); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(path)
}

type failingFile struct {
	disk.File
	fs *failing
}

func (f failingFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.next(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f failingFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.next(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f failingFile) Size() (int64, error) {
	if err := f.fs.next(); err != nil {
		return 0, err
	}
	return f.File.Size()
}

func (f failingFile) Truncate(size int64) error {
	return errors.Join(f.fs.next(), f.File.Truncate(size))
}

func (f failingFile) Sync() error { return errors.Join(f.fs.next(), f.File.Sync()) }

func (f failingFile) Close() error { return errors.Join(f.fs.next(), f.File.Close()) }

// TestReadBytesStay: what a reader got does not change when the log is truncated and written again.
func TestReadBytesStay(t *testing.T) {
	l := openNew(t, Config{SegmentBytes: 1000, IndexIntervalBytes: 0, MaxBatchBytes: 300})
	must(t, appendOne(l, 1))
	must(t, appendOne(l, 1))
	got, err := l.Read(0, 2, 1000, true)
	must(t, err)
	before := bytes.Clone(got)
	_, err = l.Truncate(1)
	must(t, err)
	must(t, appendOne(l, 7))
	if !bytes.Equal(got, before) {
		t.Error("bytes handed out were changed")
	}
}
