package edn

import (
	"errors"
	"io"
)

// input is the bytes that are read, with the place of the next one.
type input struct {
	r            io.Reader
	buf          []byte // what is read and not yet passed over
	store        []byte
	err          error
	line, column int
	read         int64
}

func newInput(r io.Reader) input {
	return input{r: r, store: make([]byte, 64<<10), line: 1, column: 1}
}

// ahead makes n more bytes available, or as many as there are, and returns them without passing over them.
func (in *input) ahead(n int) []byte {
	for empty := 0; len(in.buf) < n && in.err == nil; {
		kept := copy(in.store, in.buf)
		var got int
		got, in.err = in.r.Read(in.store[kept:])
		in.buf = in.store[:kept+got]
		if got > 0 {
			empty = 0
		} else if empty++; empty > 100 && in.err == nil {
			in.err = io.ErrNoProgress
		}
	}
	return in.buf[:min(n, len(in.buf))]
}

// passMark passes over the byte order mark that some editors put before UTF-8. It stands in no column.
func (in *input) passMark() {
	const mark = "\xEF\xBB\xBF"
	if string(in.ahead(len(mark))) == mark {
		in.buf = in.buf[len(mark):]
		in.read += int64(len(mark))
	}
}

// peek is the next byte; ok is false at the end.
func (in *input) peek() (c byte, ok bool, err error) {
	if len(in.buf) > 0 {
		return in.buf[0], true, nil
	}
	if b := in.ahead(1); len(b) > 0 {
		return b[0], true, nil
	}
	if errors.Is(in.err, io.EOF) {
		return 0, false, nil
	}
	return 0, false, at(in.line, in.column, "%v, expected to read on", in.err)
}

// skip passes over the byte that peek showed.
func (in *input) skip(c byte) {
	in.buf = in.buf[1:]
	in.read++
	switch {
	case c == '\n':
		in.line, in.column = in.line+1, 1
	case c&0xC0 != 0x80: // a character's further bytes are in no column of their own
		in.column++
	}
}

// delimits holds the bytes that end a token.
var delimits = func() (is [256]bool) {
	for c := range is {
		is[c] = isBlank(byte(c))
	}
	for _, c := range []byte(`()[]{}";`) {
		is[c] = true
	}
	return is
}()

// run passes over bytes of a token and returns them, valid until the next read: none where a delimiter or the end comes. They are not all where
// more have to be read.
func (in *input) run() ([]byte, error) {
	if _, ok, err := in.peek(); !ok {
		return nil, err
	}
	n := 0
	for n < len(in.buf) && !delimits[in.buf[n]] {
		if in.buf[n]&0xC0 != 0x80 {
			in.column++
		}
		n++
	}
	token := in.buf[:n]
	in.buf = in.buf[n:]
	in.read += int64(n)
	return token, nil
}
