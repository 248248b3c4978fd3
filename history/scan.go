package history

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads one line of JSON strictly, without reflection: a journal of a million operations has two million lines. The
// first error stops it; every method then returns a zero value and every loop over more ends.
type scanner struct {
	b     []byte
	pos   int
	fresh bool // an object or list was just opened
	err   error
	known map[string]string // strings that come again and again (topics, errors) are made once
}

// knownMax bounds how many different strings are remembered.
const knownMax = 4096

func (s *scanner) reset(line []byte) {
	s.b, s.pos, s.fresh, s.err = line, 0, false, nil
}

// fail notes the first error, with the column where it is.
func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("column %d: %s", s.pos+1, fmt.Sprintf(format, args...))
	}
}

// found says what stands at the scanner's place.
func (s *scanner) found() string {
	if s.pos >= len(s.b) {
		return "the line's end"
	}
	return strconv.QuoteRune(rune(s.b[s.pos]))
}

// peek is the next byte that is no blank, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.b) {
		if c := s.b[s.pos]; c != ' ' && c != '\t' {
			return c
		}
		s.pos++
	}
	return 0
}

// expect passes over one byte.
func (s *scanner) expect(c byte) {
	if s.err == nil && s.peek() != c {
		s.fail("found %s, expected %q", s.found(), rune(c))
	}
	s.pos++
}

// open begins an object or list: for s.open('{'); s.more('}'); { ... }
func (s *scanner) open(c byte) {
	s.expect(c)
	s.fresh = true
}

// more passes over the comma before the next element, or over the end, where it returns false.
func (s *scanner) more(end byte) bool {
	if s.err != nil {
		return false
	}
	fresh := s.fresh
	s.fresh = false
	if s.peek() == end {
		s.pos++
		return false
	}
	if !fresh {
		s.expect(',')
	}
	return s.err == nil
}

// end makes sure that nothing follows.
func (s *scanner) end() {
	if s.peek(); s.err == nil && s.pos < len(s.b) {
		s.fail("found %s, expected the line's end", s.found())
	}
}

// key reads a field's name; it is valid until the next line.
func (s *scanner) key() []byte {
	k := s.text()
	s.expect(':')
	return k
}

// unknown reports a field that does not belong here.
func (s *scanner) unknown(key []byte, in string) {
	s.fail("field %q, expected one of %s", short(key), in)
}

// short keeps an error readable whatever it quotes.
func short(b []byte) []byte { return b[:min(len(b), 80)] }

// int reads an integer.
func (s *scanner) int(low, high int64) int64 {
	if s.err != nil {
		return 0
	}
	c := s.peek()
	start := s.pos
	if c == '-' {
		s.pos++
	}
	digits := s.pos
	var n uint64
	for s.pos < len(s.b) && s.b[s.pos] >= '0' && s.b[s.pos] <= '9' {
		if s.pos-digits >= 19 { // 19 digits cannot overflow an uint64
			s.fail("number of more than 19 digits, expected %d to %d", low, high)
			return 0
		}
		n = n*10 + uint64(s.b[s.pos]-'0')
		s.pos++
	}
	if s.pos == digits {
		s.fail("found %s, expected a whole number", s.found())
		return 0
	}
	if s.b[digits] == '0' && s.pos > digits+1 {
		s.fail("number %s, expected no leading zero", s.b[start:s.pos])
		return 0
	}
	signed := int64(n)
	if c == '-' {
		signed = -signed
	}
	fits := n <= 1<<63-1 || c == '-' && n == 1<<63
	if !fits || signed < low || signed > high {
		s.fail("number %s, expected %d to %d", s.b[start:s.pos], low, high)
		return 0
	}
	return signed
}

// bool reads true or false.
func (s *scanner) bool() bool {
	if s.err != nil {
		return false
	}
	s.peek()
	rest := s.b[min(s.pos, len(s.b)):]
	switch {
	case len(rest) >= 4 && string(rest[:4]) == "true":
		s.pos += 4
		return true
	case len(rest) >= 5 && string(rest[:5]) == "false":
		s.pos += 5
	default:
		s.fail("found %s, expected true or false", s.found())
	}
	return false
}

// string reads a string that is likely to be unique.
func (s *scanner) string() string { return string(s.bytes()) }

// word reads a string that is likely to come again.
func (s *scanner) word() string {
	b := s.bytes()
	if w, ok := s.known[string(b)]; ok {
		return w
	}
	w := string(b)
	if len(s.known) < knownMax && len(w) < 256 {
		s.known[w] = w
	}
	return w
}

// bytes reads a string, or {"base64":"..."}; what it returns may alias the line.
func (s *scanner) bytes() []byte {
	if s.err != nil || s.peek() != '{' {
		return s.text()
	}
	s.open('{')
	if key := s.key(); s.err == nil && string(key) != "base64" {
		s.unknown(key, "base64")
	}
	coded := s.text()
	s.expect('}')
	s.fresh = false
	if s.err != nil {
		return nil
	}
	b, err := base64.StdEncoding.AppendDecode(nil, coded)
	if err != nil {
		s.fail("%v, expected base64", err)
		return nil
	}
	return b
}

// text reads a JSON string; what it returns may alias the line.
func (s *scanner) text() []byte {
	s.expect('"')
	if s.err != nil {
		return nil
	}
	start, ascii := s.pos, true
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; {
		case c == '"':
			text := s.b[start:s.pos]
			if !ascii && !utf8.Valid(text) {
				s.fail("string that is not UTF-8")
				return nil
			}
			s.pos++
			return text
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			s.fail("control character %#02x in a string, expected an escape", c)
			return nil
		default:
			ascii = ascii && c < utf8.RuneSelf
			s.pos++
		}
	}
	s.fail("string without end")
	return nil
}

// escapes are JSON's two-character escapes.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped reads on in a string that began at start, from its first backslash.
func (s *scanner) escaped(start int) []byte {
	text := append([]byte(nil), s.b[start:s.pos]...)
	for s.pos < len(s.b) {
		c := s.b[s.pos]
		switch {
		case c == '"':
			if !utf8.Valid(text) {
				s.fail("string that is not UTF-8")
				return nil
			}
			s.pos++
			return text
		case c < ' ':
			s.fail("control character %#02x in a string, expected an escape", c)
			return nil
		case c != '\\':
			text = append(text, c)
			s.pos++
		case s.pos+1 < len(s.b) && s.b[s.pos+1] == 'u':
			r := s.unicode()
			if utf16.IsSurrogate(r) {
				if s.err == nil && s.pos+1 < len(s.b) && s.b[s.pos] == '\\' && s.b[s.pos+1] == 'u' {
					r = utf16.DecodeRune(r, s.unicode())
				} else {
					r = utf8.RuneError
				}
				if r == utf8.RuneError {
					s.fail("half of a surrogate pair")
				}
			}
			if s.err != nil {
				return nil
			}
			text = utf8.AppendRune(text, r)
		case s.pos+1 < len(s.b) && escapes[s.b[s.pos+1]] != 0:
			text = append(text, escapes[s.b[s.pos+1]])
			s.pos += 2
		default:
			s.fail("bad escape in a string")
			return nil
		}
	}
	s.fail("string without end")
	return nil
}

// unicode reads a \u escape.
func (s *scanner) unicode() rune {
	if s.pos+6 > len(s.b) {
		s.fail("string without end")
		return 0
	}
	n, err := strconv.ParseUint(string(s.b[s.pos+2:s.pos+6]), 16, 16)
	if err != nil {
		s.fail("escape \\u%s, expected four hexadecimal digits", s.b[s.pos+2:s.pos+6])
		return 0
	}
	s.pos += 6
	return rune(n)
}
