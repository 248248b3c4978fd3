package edn

import (
	"fmt"
	"strconv"
)

// parser reads EDN (github.com/edn-format/edn, and what Clojure prints beyond it: ratios and ##Inf) one entry at a time. It does not recurse,
// and keeps nothing of an entry when the next is read.
type parser struct {
	input
	began   int64 // where the entry under way began
	forms   []form
	text    []byte
	stack   []opened
	outer   byte // the closer of the vector or list that holds the entries, 0 if there is none
	closed  bool // it was closed
	entries int64
}

// openers are the collections that begin with a byte alone.
var openers = [...]kind{'(': list, '[': vector, '{': dict}

// place says where.
func place(line, column int) string {
	return "line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column)
}

func at(line, column int, format string, args ...any) error {
	return fmt.Errorf("%s: %s", place(line, column), fmt.Sprintf(format, args...))
}

// fail is an error at the parser's place.
func (p *parser) fail(format string, args ...any) error { return at(p.line, p.column, format, args...) }

// wrong is an error at form i.
func (p *parser) wrong(i int32, format string, args ...any) error {
	return at(int(p.forms[i].line), int(p.forms[i].column), format, args...)
}

// blank passes over white space, commas and comments, and shows what comes then.
func (p *parser) blank() (c byte, ok bool, err error) {
	comment := false
	for {
		c, ok, err = p.peek()
		switch {
		case err != nil || !ok:
			return c, ok, err
		case c == '\n':
			comment = false
		case c == ';':
			comment = true
		case !comment && !isBlank(c):
			return c, true, nil
		}
		p.skip(c)
		if p.read > inputBytesMax {
			return 0, false, p.fail("more than %d bytes, expected at most that", int64(inputBytesMax))
		}
	}
}

func isBlank(c byte) bool {
	return c == ' ' || c == ',' || c >= '\t' && c <= '\r'
}

// next reads an entry into forms; false at the end of the input.
func (p *parser) next() (bool, error) {
	p.forms, p.text, p.stack = p.forms[:0], p.text[:0], p.stack[:0]
	for {
		c, ok, err := p.blank()
		if err != nil {
			return false, err
		}
		if !ok {
			return false, p.ended()
		}
		if len(p.stack) == 0 {
			p.began = p.read
			inside, err := p.outside(c)
			if err != nil {
				return false, err
			}
			if !inside {
				continue
			}
		}
		whole, err := p.piece(c)
		switch {
		case err != nil:
			return false, err
		case p.read-p.began > entryBytesMax:
			return false, p.fail("an operation of more than %d bytes, expected at most that", entryBytesMax)
		case whole:
			p.entries++
			return true, nil
		}
	}
}

// outside looks at what stands between entries: the vector that holds them begins or ends there. It reports whether c begins an entry.
func (p *parser) outside(c byte) (bool, error) {
	switch {
	case p.closed:
		return false, p.fail("found %q, expected nothing behind the vector of operations", rune(c))
	case p.outer != 0 && c == p.outer:
		p.closed = true
		p.skip(c)
		return false, nil
	case p.outer == 0 && p.entries == 0 && (c == '[' || c == '('):
		p.outer = ']'
		if c == '(' {
			p.outer = ')'
		}
		p.skip(c)
		return false, nil
	case c == ')' || c == ']' || c == '}':
		return false, p.fail("found %q, expected an operation", rune(c))
	}
	return true, nil
}

// ended is nil where the input may end.
func (p *parser) ended() error {
	if n := len(p.stack); n > 0 {
		return p.fail("found the end, expected %s", p.wanted(&p.stack[n-1]))
	}
	if p.outer != 0 && !p.closed {
		return p.fail("found the end, expected the %c that ends the operations", p.outer)
	}
	return nil
}

// piece reads an atom, or the beginning or end of a collection. It reports whether the entry is whole.
func (p *parser) piece(c byte) (whole bool, err error) {
	line, column := p.line, p.column
	switch c {
	case '[', '(', '{':
		p.skip(c)
		return false, p.open(openers[c], line, column)
	case ']', ')', '}':
		if err := p.shut(c); err != nil {
			return false, err
		}
		p.skip(c)
	case '"':
		err = p.string()
	case '\\':
		err = p.character()
	case '#':
		done, err := p.dispatch()
		if err != nil || !done {
			return false, err
		}
	default:
		err = p.token()
	}
	if err != nil {
		return false, err
	}
	return p.complete(), nil
}

// dispatch reads what begins with #. It reports whether that is a whole value.
func (p *parser) dispatch() (done bool, err error) {
	line, column := p.line, p.column
	p.skip('#')
	c, ok, err := p.peek()
	if err != nil {
		return false, err
	}
	switch {
	case ok && c == '{':
		p.skip(c)
		return false, p.open(set, line, column)
	case ok && c == '_':
		p.skip(c)
		return false, p.open(discard, line, column)
	case ok && c == '#':
		p.skip(c)
		from := len(p.text)
		if err := p.collect(); err != nil {
			return false, err
		}
		switch name := string(p.text[from:]); name {
		case "Inf", "-Inf", "NaN":
			p.atom(number, 0, from, line, column)
			return true, nil
		default:
			return false, at(line, column, "found ##%s, expected ##Inf, ##-Inf or ##NaN", short(name))
		}
	case ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
		from := len(p.text)
		if err := p.collect(); err != nil {
			return false, err
		}
		p.text = p.text[:from]
		return false, p.open(tagged, line, column)
	}
	return false, p.fail("found # and %s, expected a set, a tag, #_ or ##Inf", found(c, ok))
}

func found(c byte, ok bool) string {
	if !ok {
		return "the end"
	}
	return strconv.QuoteRune(rune(c))
}

// shortMax bounds what an error repeats of the input.
const shortMax = 40

func short[T ~string | ~[]byte](s T) string {
	if len(s) > shortMax {
		return string(s[:shortMax]) + "…"
	}
	return string(s)
}
