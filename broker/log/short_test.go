package log

import (
	"io"
	"strings"

	"tidemark/broker/disk"
)

// shortFS is a disk that, once told to, writes only the first half of what it is given for a segment, and says so.
type shortFS struct {
	disk.FS
	short bool
}

func (s *shortFS) Open(path string, create bool) (disk.File, error) {
	f, err := s.FS.Open(path, create)
	if err != nil || !strings.HasSuffix(path, logSuffix) {
		return f, err
	}
	return shortFile{f, s}, nil
}

type shortFile struct {
	disk.File
	fs *shortFS
}

func (f shortFile) WriteAt(p []byte, off int64) (int, error) {
	if !f.fs.short {
		return f.File.WriteAt(p, off)
	}
	f.fs.short = false
	n, err := f.File.WriteAt(p[:len(p)/2], off)
	if err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}
