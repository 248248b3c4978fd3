package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// frameReader cuts a file into zstd frames (RFC 8878) before decoding them. A decoder that reads a stream would hand out the
// beginning of a frame whose end is missing; a journal is to end at its last whole frame.
type frameReader struct {
	r       *bufio.Reader
	decoder *zstd.Decoder
	max     int    // bytes that a frame may decode to
	frame   []byte // the last frame
	lines   []byte // and decoded
	at      int64  // where the next frame begins
	count   int    // whole frames so far
}

// damage is why a file's tail cannot be used.
type damage struct{ reason string }

func (d *damage) Error() string { return d.reason }

// errNotJournal is a file that does not even begin like a journal.
var errNotJournal = errors.New("not a journal")

// frameMagic begins every zstd frame.
const frameMagic = 0xFD2FB528

func newFrameReader(r io.Reader, frameMax int) (*frameReader, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(frameMax)))
	if err != nil {
		return nil, fmt.Errorf("reading a journal: %w", err)
	}
	return &frameReader{r: bufio.NewReaderSize(r, 64<<10), decoder: decoder, max: frameMax}, nil
}

// next returns the next frame's contents, valid until the call after; io.EOF after the last, a *damage where the file is cut or corrupt.
func (f *frameReader) next() ([]byte, error) {
	err := f.whole()
	if err != nil {
		return nil, err
	}
	f.lines, err = f.decoder.DecodeAll(f.frame, f.lines[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return nil, fmt.Errorf("frame %d at byte %d holds more than %d bytes", f.count, f.at, f.max)
	}
	if err != nil {
		return nil, f.corrupt(err.Error())
	}
	f.pass()
	return f.lines, nil
}

// skip is next without the contents.
func (f *frameReader) skip() error {
	err := f.whole()
	if err == nil {
		f.pass()
	}
	return err
}

// pass goes on behind a whole frame.
func (f *frameReader) pass() {
	f.at += int64(len(f.frame))
	f.count++
}

// whole reads one frame; io.EOF if there is none, a *damage where the file ends inside it.
func (f *frameReader) whole() error {
	f.frame = f.frame[:0]
	err := f.cut()
	switch {
	case err == io.EOF && len(f.frame) == 0:
		return io.EOF
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return &damage{fmt.Sprintf("cut inside frame %d: the last %d bytes, from byte %d on, are left out", f.count, len(f.frame), f.at)}
	}
	return err
}

// corrupt is damage inside a file: nothing behind it can be trusted.
func (f *frameReader) corrupt(why string) error {
	return &damage{fmt.Sprintf("frame %d at byte %d is corrupt (%s): it and all behind it are left out", f.count, f.at, why)}
}

// cut reads one frame: magic, header, blocks up to the last, checksum.
func (f *frameReader) cut() error {
	if err := f.take(4); err != nil {
		return err
	}
	if magic := binary.LittleEndian.Uint32(f.frame); magic != frameMagic {
		if f.count == 0 {
			return fmt.Errorf("%w: it begins with %x, expected %x", errNotJournal, f.frame[:4], binary.LittleEndian.AppendUint32(nil, frameMagic))
		}
		return f.corrupt("no frame begins there")
	}
	if err := f.take(1); err != nil {
		return err
	}
	descriptor := f.frame[4]
	size := [4]int{0, 2, 4, 8}[descriptor>>6] + [4]int{0, 1, 2, 4}[descriptor&3] // content size, dictionary id
	if single := descriptor&0x20 != 0; !single || descriptor>>6 == 0 {
		size++ // the window, or a content size of one byte
	}
	if err := f.take(size); err != nil {
		return err
	}
	for last := false; !last; {
		if err := f.take(3); err != nil {
			return err
		}
		h := f.frame[len(f.frame)-3:]
		block := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
		last = block&1 != 0
		size := block >> 3
		if kind := block >> 1 & 3; kind == 1 {
			size = 1 // one byte, repeated
		}
		if err := f.take(size); err != nil {
			return err
		}
	}
	if descriptor&4 != 0 {
		return f.take(4)
	}
	return nil
}

// take reads n more bytes of the frame, or as many as there are.
func (f *frameReader) take(n int) error {
	if len(f.frame)+n > f.max {
		return f.corrupt(fmt.Sprintf("more than %d bytes long", f.max))
	}
	start := len(f.frame)
	if cap(f.frame) < start+n {
		f.frame = append(make([]byte, 0, 2*(start+n)), f.frame...)
	}
	f.frame = f.frame[:start+n]
	got, err := io.ReadFull(f.r, f.frame[start:])
	f.frame = f.frame[:start+got]
	return err
}

func (f *frameReader) close() { f.decoder.Close() }
