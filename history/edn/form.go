package edn

// kind is what a form is.
type kind uint8

const (
	list kind = iota
	vector
	set
	dict // a map
	null
	boolean
	integer // of 64 bits; text as written
	number  // float, decimal, ratio or an integer beyond 64 bits: text alone
	text
	keyword // its text begins with the colon
	symbol
	character
	tagged  // on the parser's stack only: a tag waits for its value
	discard // likewise: #_ waits for what it discards
)

// kindNames is how errors call a form.
var kindNames = [...]string{"a list", "a vector", "a set", "a map", "nil", "a boolean", "an integer", "a number", "a string", "a keyword",
	"a symbol", "a character", "a tag", "#_"}

// closers are the ends of the collections.
var closers = [...]byte{list: ')', vector: ']', set: '}', dict: '}'}

// form is one value of an entry. The forms of an entry lie in one slice, a collection before its members, so that nothing is allocated
// for a form of its own.
type form struct {
	kind         kind
	end          int32 // where the next form behind this one and its members lies
	from, to     int32 // an atom's text
	line, column int32
	n            int64 // an integer's value
}

// opened is a collection, tag or discard that waits for more.
type opened struct {
	kind         kind
	form         int32 // where it lies, or where what it discards begins
	members      int32
	line, column int32
}

// complete is called when a value stands at the end of the forms: it hands the value to the tags and discards that wait for it. It reports
// whether the entry is whole.
func (p *parser) complete() bool {
	for n := len(p.stack); n > 0; n = len(p.stack) {
		top := &p.stack[n-1]
		switch top.kind {
		case tagged: // an unknown tag's value is read as it is
			p.stack = p.stack[:n-1]
		case discard:
			p.forms = p.forms[:top.form]
			p.stack = p.stack[:n-1]
			return false
		default:
			top.members++
			return false
		}
	}
	return true
}

// open begins a collection, a tag or a discard.
func (p *parser) open(k kind, line, column int) error {
	if len(p.stack) >= depthMax {
		return at(line, column, "nested more than %d deep, expected at most that", depthMax)
	}
	p.stack = append(p.stack, opened{kind: k, form: int32(len(p.forms)), line: int32(line), column: int32(column)})
	if k != tagged && k != discard {
		p.forms = append(p.forms, form{kind: k, line: int32(line), column: int32(column)})
	}
	return nil
}

// shut ends the innermost collection with c.
func (p *parser) shut(c byte) error {
	top := p.stack[len(p.stack)-1]
	if top.kind == tagged || top.kind == discard || closers[top.kind] != c {
		return p.fail("found %q, expected %s", rune(c), p.wanted(&top))
	}
	if top.kind == dict && top.members%2 != 0 {
		return p.fail("found %q, expected a value: a key of the map that begins at line %d, column %d has none", rune(c), top.line, top.column)
	}
	p.stack = p.stack[:len(p.stack)-1]
	p.forms[top.form].end = int32(len(p.forms))
	return nil
}

// wanted says what would complete what is open.
func (p *parser) wanted(top *opened) string {
	switch top.kind {
	case tagged:
		return "the tag's value"
	case discard:
		return "a value for #_ to discard"
	}
	return kindNames[top.kind] + "'s " + string(closers[top.kind]) + " (it begins at " + place(int(top.line), int(top.column)) + ")"
}

// atom appends a form without members; its text is what was appended to the text since from.
func (p *parser) atom(k kind, n int64, from, line, column int) {
	p.forms = append(p.forms, form{kind: k, end: int32(len(p.forms)) + 1, from: int32(from), to: int32(len(p.text)), line: int32(line), column: int32(column), n: n})
}

// textOf is an atom's text, valid until the next entry is read.
func (p *parser) textOf(i int32) []byte { return p.text[p.forms[i].from:p.forms[i].to] }

// is reports whether form i is the keyword.
func (p *parser) is(i int32, word string) bool {
	return p.forms[i].kind == keyword && string(p.textOf(i)) == word
}

// sequence reports whether form i is a vector or a list, which Clojure prints where a vector was mapped.
func (p *parser) sequence(i int32) bool { return p.forms[i].kind == vector || p.forms[i].kind == list }

// members yields the members of form i.
func (p *parser) members(i int32) func(yield func(int32) bool) {
	return func(yield func(int32) bool) {
		for m := i + 1; m < p.forms[i].end; m = p.forms[m].end {
			if !yield(m) {
				return
			}
		}
	}
}
