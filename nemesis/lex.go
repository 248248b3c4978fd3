package nemesis

import (
	"fmt"
	"strings"
)

// words is one line of a plan on its way through the parser. Every error names the line and the word, both from 1.
type words struct {
	line int
	list []string
	next int
}

// wordsMax bounds a line, so that a hostile text costs no more than its length.
const wordsMax = 200

// split cuts a line into words. The signs | -> , = are words of their own wherever they stand, so columns are free; a #
// starts a comment that runs to the line's end.
func split(line int, text string) (*words, error) {
	w := &words{line: line}
	text, _, _ = strings.Cut(text, "#")
	for rest := strings.TrimLeft(text, blanks); rest != ""; rest = strings.TrimLeft(rest, blanks) {
		if len(w.list) == wordsMax {
			return nil, fmt.Errorf("line %d: more than %d words", line, wordsMax)
		}
		n := wordLen(rest)
		w.list = append(w.list, rest[:n])
		rest = rest[n:]
	}
	return w, nil
}

const blanks = " \t\r"

func wordLen(s string) int {
	if strings.HasPrefix(s, "->") {
		return 2
	}
	if strings.IndexByte("|,=", s[0]) >= 0 {
		return 1
	}
	for i := range len(s) {
		if strings.IndexByte(blanks+"|,=", s[i]) >= 0 || strings.HasPrefix(s[i:], "->") {
			return i
		}
	}
	return len(s)
}

// peek is the next word, "" at the line's end.
func (w *words) peek() string {
	if w.next == len(w.list) {
		return ""
	}
	return w.list[w.next]
}

// take steps over the next word if it is the given one.
func (w *words) take(word string) bool {
	if w.peek() != word {
		return false
	}
	w.next++
	return true
}

// want steps over the next word, which must be the given one.
func (w *words) want(word string) error {
	if !w.take(word) {
		return w.expected(fmt.Sprintf("%q", word))
	}
	return nil
}

// expected is the error at the next word.
func (w *words) expected(what string) error {
	if w.next == len(w.list) {
		return fmt.Errorf("line %d: the line ends after word %d: expected %s", w.line, w.next, what)
	}
	return fmt.Errorf("line %d: word %d %s: expected %s", w.line, w.next+1, clip(w.peek()), what)
}

// clip quotes a word for an error, cut to a readable length.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "..."
	}
	return fmt.Sprintf("%q", s)
}
