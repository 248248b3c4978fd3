package edn

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// collect appends to the text what stands before the next delimiter.
func (p *parser) collect() error {
	from := len(p.text)
	for {
		token, err := p.run()
		if err != nil || len(token) == 0 {
			return err
		}
		if p.text = append(p.text, token...); len(p.text)-from > tokenBytesMax {
			return p.tooLong()
		}
	}
}

func (p *parser) tooLong() error {
	return p.fail("a token of more than %d bytes, expected at most that", tokenBytesMax)
}

// token reads a number, a keyword, or a symbol.
func (p *parser) token() error {
	from, line, column := len(p.text), p.line, p.column
	if err := p.collect(); err != nil {
		return err
	}
	word := p.text[from:]
	k, n, wrong := symbol, int64(0), ""
	switch c := word[0]; {
	case !utf8.Valid(word):
		wrong = "UTF-8"
	case c >= '0' && c <= '9', (c == '-' || c == '+') && len(word) > 1 && word[1] >= '0' && word[1] <= '9':
		k, n, wrong = classify(string(word))
	case c == ':':
		k = keyword
		if len(word) == 1 || word[1] == ':' || word[1] == '/' {
			wrong = "a keyword"
		}
	case c == '@' || c == '`' || c == '~' || c == '^' || c == '\'' || c < ' ' || c == 0x7f:
		wrong = "a value"
	default:
		switch string(word) {
		case "nil":
			k = null
		case "true", "false":
			k = boolean
		}
	}
	if wrong != "" {
		return at(line, column, "found %q, expected %s", short(word), wrong)
	}
	p.atom(k, n, from, line, column)
	return nil
}

// classify reads a number: an integer (3, +3, 3N), a float or decimal (1.5, 1e3, 1.5M) or a ratio (1/3).
func classify(word string) (k kind, n int64, wrong string) {
	const expected = "a number: decimal digits, a fraction, a ratio"
	body := strings.TrimLeft(word, "+-")
	digits := strings.Trim(body, "0123456789") == ""
	if whole, big := strings.CutSuffix(body, "N"); big && strings.Trim(whole, "0123456789") == "" {
		word, body, digits = word[:len(word)-1], whole, true
	}
	switch {
	case len(word)-len(body) > 1:
		return 0, 0, expected
	case digits && len(body) > 1 && body[0] == '0':
		return 0, 0, "a number without leading zeros"
	case digits:
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return number, 0, "" // beyond 64 bits
		}
		return integer, n, ""
	}
	if above, below, ratio := strings.Cut(body, "/"); ratio {
		if strings.Trim(above, "0123456789") != "" || below == "" || strings.Trim(below, "0123456789") != "" {
			return 0, 0, expected
		}
		return number, 0, ""
	}
	decimal := strings.TrimSuffix(body, "M")
	if strings.Trim(decimal, "0123456789.eE+-") != "" {
		return 0, 0, expected
	}
	if f, err := strconv.ParseFloat(decimal, 64); err != nil && !math.IsInf(f, 0) {
		return 0, 0, expected
	}
	return number, 0, ""
}

// escapes are those of Clojure's strings, but for \u.
var escapes = map[byte]byte{'t': '\t', 'r': '\r', 'n': '\n', 'b': '\b', 'f': '\f', '\\': '\\', '"': '"'}

// string reads a string; its text is what it means.
func (p *parser) string() error {
	from, line, column := len(p.text), p.line, p.column
	p.skip('"')
	for {
		c, ok, err := p.peek()
		switch {
		case err != nil:
			return err
		case !ok:
			return p.fail("found the end, expected the string's \" (it begins at %s)", place(line, column))
		case len(p.text)-from >= tokenBytesMax:
			return p.tooLong()
		}
		p.skip(c)
		switch c {
		case '"':
			if !utf8.Valid(p.text[from:]) {
				return at(line, column, "found a string that is not UTF-8, expected one that is")
			}
			p.atom(text, 0, from, line, column)
			return nil
		case '\\':
			if err := p.escape(); err != nil {
				return err
			}
		default:
			p.text = append(p.text, c)
		}
	}
}

// escape reads what stands behind a backslash in a string.
func (p *parser) escape() error {
	c, ok, err := p.peek()
	if err != nil {
		return err
	}
	if e, simple := escapes[c]; ok && simple {
		p.skip(c)
		p.text = append(p.text, e)
		return nil
	}
	if !ok || c != 'u' {
		return p.fail(`found \ and %s, expected \t, \r, \n, \b, \f, \\, \" or \u and four hexadecimal digits`, found(c, ok))
	}
	r, err := p.unit()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		b := p.ahead(2)
		if len(b) < 2 || b[0] != '\\' || b[1] != 'u' {
			return p.fail("found half a surrogate pair, expected the other half")
		}
		p.skip('\\')
		low, err := p.unit()
		if err != nil {
			return err
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return p.fail("found two halves of no surrogate pair, expected a high and a low one")
		}
	}
	p.text = utf8.AppendRune(p.text, r)
	return nil
}

// unit reads u and four hexadecimal digits.
func (p *parser) unit() (rune, error) {
	b := p.ahead(5)
	if len(b) == 5 {
		if n, err := strconv.ParseUint(string(b[1:]), 16, 16); err == nil {
			for _, c := range []byte{b[0], b[1], b[2], b[3], b[4]} {
				p.skip(c)
			}
			return rune(n), nil
		}
	}
	return 0, p.fail("found %q, expected u and four hexadecimal digits", short(b))
}

// characterNames are those that Clojure writes with a word.
var characterNames = map[string]rune{"newline": '\n', "space": ' ', "tab": '\t', "return": '\r', "formfeed": '\f', "backspace": '\b'}

// character reads \a, \newline or \u0041; its text is the character.
func (p *parser) character() error {
	from, line, column := len(p.text), p.line, p.column
	p.skip('\\')
	c, ok, err := p.peek()
	if err != nil {
		return err
	}
	if !ok || isBlank(c) {
		return p.fail("found %s, expected a character behind the backslash", found(c, ok))
	}
	p.text = append(p.text, c)
	p.skip(c)
	if err := p.collect(); err != nil {
		return err
	}
	word := string(p.text[from:])
	r, named := characterNames[word]
	if one, size := utf8.DecodeRuneInString(word); !named && size == len(word) && one != utf8.RuneError {
		r, named = one, true
	}
	if hex, is := strings.CutPrefix(word, "u"); !named && is && len(hex) == 4 {
		if n, err := strconv.ParseUint(hex, 16, 16); err == nil && !utf16.IsSurrogate(rune(n)) {
			r, named = rune(n), true
		}
	}
	if !named {
		return at(line, column, "found \\%s, expected one character, its name or u and four hexadecimal digits", short(strings.ToValidUTF8(word, "�")))
	}
	p.text = utf8.AppendRune(p.text[:from], r)
	p.atom(character, 0, from, line, column)
	return nil
}
