package edn

import (
	"strconv"
	"strings"
)

// writtenMax bounds what is written of a form that has members.
const writtenMax = 4096

// written is a form as EDN, one blank between members. It is cut off after writtenMax bytes.
func (p *parser) written(v int32) string {
	if f := &p.forms[v]; f.end == v+1 && f.kind > dict {
		return string(p.appendAtom(nil, v))
	}
	var out []byte
	type level struct {
		end    int32
		closer byte
	}
	var open []level
	for i := v; i < p.forms[v].end || len(open) > 0; {
		if n := len(open); n > 0 && i >= open[n-1].end {
			out = append(out, open[n-1].closer)
			open = open[:n-1]
			continue
		}
		if len(out) > writtenMax {
			return strings.ToValidUTF8(string(out[:writtenMax]), "") + "…"
		}
		if n := len(out); n > 0 && strings.IndexByte("[({", out[n-1]) < 0 {
			out = append(out, ' ')
		}
		f := &p.forms[i]
		if f.kind <= dict {
			out = append(out, [...]string{"(", "[", "#{", "{"}[f.kind]...)
			open = append(open, level{f.end, closers[f.kind]})
		} else {
			out = p.appendAtom(out, i)
		}
		i++
	}
	return string(out)
}

func (p *parser) appendAtom(out []byte, v int32) []byte {
	switch f := &p.forms[v]; f.kind {
	case integer:
		return strconv.AppendInt(out, f.n, 10)
	case text:
		return appendString(out, string(p.textOf(v)))
	case character:
		return append(append(out, '\\'), p.textOf(v)...)
	}
	return append(out, p.textOf(v)...)
}

// appendString appends an EDN string, as Clojure reads it. What is not UTF-8 is replaced.
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r < ' ' || r == 0x7f:
			const digits = "0123456789abcdef"
			out = append(out, '\\', 'u', '0', '0', digits[r>>4], digits[r&0xf])
		default:
			out = append(out, string(r)...)
		}
	}
	return append(out, '"')
}
