// Package plain is the one way by which text that somebody else wrote reaches a terminal, a page or a report: what a message, a name, a log or
// a file may hold can steer a terminal, turn the direction of writing, or look like a line of its own. What cannot be shown becomes U+FFFD.
package plain

import (
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line is a text in one line: its line ends and tabs become spaces.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return shown(r)
	}, text)
}

// Lines is a text whose line ends and tabs stay; otherwise as Line.
func Lines(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return shown(r)
	}, text)
}

// JSON is a JSON text whose strings mean the same, and in which nothing but printable characters and line ends stands: the others are escaped.
func JSON(text []byte) []byte {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r == '\n' || unicode.IsPrint(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		units := []uint16{uint16(r)} //nolint:gosec // those beyond have two, below
		if r > 0xFFFF {
			high, low := utf16.EncodeRune(r)
			units = []uint16{uint16(high), uint16(low)} //nolint:gosec // surrogates have 16 bits
		}
		for _, u := range units {
			out = append(out, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
		}
	}
	return out
}

func shown(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// Writer writes text as Lines has it, however it is cut into pieces. It is safe for concurrent use as far as what it writes to is.
type Writer struct {
	w io.Writer

	mu   sync.Mutex
	open []byte // the beginning of a character whose rest is to come
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Raw is what stands behind a Writer, for what a program draws itself and for data that machines read; any other writer is itself.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(*Writer); ok {
		return p.w
	}
	return w
}

// Write writes text. It returns how much of it was taken: all, or nothing if there is an error.
func (p *Writer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	whole := append(p.open, text...)
	end := len(whole)
	for back := 1; back <= min(utf8.UTFMax-1, len(whole)); back++ {
		if tail := whole[len(whole)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				end = len(whole) - back
			}
			break
		}
	}
	p.open = append([]byte(nil), whole[end:]...)
	if end == 0 {
		return len(text), nil
	}
	if _, err := io.WriteString(p.w, Lines(string(whole[:end]))); err != nil {
		return 0, err
	}
	return len(text), nil
}
