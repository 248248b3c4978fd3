package linear

import (
	"context"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/anishathalye/porcupine"
	"github.com/cespare/xxhash/v2"
)

// model is a partition's log as porcupine checks it, during one window.
type model struct {
	base  []*appended  // the log when the window begins, by offset; every order of the window begins with it
	words int64        // of the set of operations that porcupine copies with each step that it takes, which costs so many
	left  atomic.Int64 // steps of the budget; with none left every step is refused, and the outcome means nothing
}

func newModel(base []*appended, w *window, b Budget) *model {
	m := &model{base: base, words: int64(w.size()/64) + 1}
	m.left.Store(min(b.Steps, WindowSteps))
	return m
}

// logState is the log at one moment of a window: where it ends, and a hash for each record since the window began, chained so that the last
// one commits to them all. Two states are equal if end and hash are.
type logState struct {
	end   edge // the smallest offset that the next append may have
	chain uint64
	last  *link
}

// link is one record that was appended in the window.
type link struct {
	record *appended
	chain  uint64
	before *link
}

// porcupine is the model in porcupine's terms. Inputs are *appended and *read; there are no outputs apart from them.
func (m *model) porcupine() porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			s := logState{}
			if n := len(m.base); n > 0 {
				s.end = after(m.base[n-1].offset)
			}
			return s
		},
		StepContext: func(ctx context.Context, state, input, _ any) (bool, any) {
			s := state.(logState)
			if m.left.Add(-m.words) <= 0 {
				return false, s
			}
			switch in := input.(type) {
			case *appended:
				return s.append(in)
			case *read:
				return m.explains(ctx, &s, in), s
			}
			return false, s
		},
		Equal: func(a, b any) bool {
			x, y := a.(logState), b.(logState)
			return x.end == y.end && x.chain == y.chain
		},
		Hash: func(state any) uint64 {
			s := state.(logState)
			return s.chain ^ uint64(s.end)*0x9e3779b97f4a7c15
		},
		DescribeOperation: func(input, _ any) string { return describe(input) },
		DescribeState:     func(state any) string { return fmt.Sprintf("the log ends at %d", state.(logState).end) },
		DescribeOperationMetadata: func(m any) string {
			text, _ := m.(string)
			return text
		},
	}
}

// append puts a record at the end. Its offset is known, so it is legal where nothing stands at that offset or behind it. And it is the window's
// next by offset: an order that left one out below could never make good for it, and to find that out by trying takes time that doubles with
// each append that is under way.
func (s logState) append(a *appended) (bool, logState) {
	next := int32(0)
	if s.last != nil {
		next = s.last.record.rank + 1
	}
	if a.offset < 0 || edge(a.offset) < s.end || a.rank != next {
		return false, s
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], s.chain)
	binary.LittleEndian.PutUint64(b[8:], uint64(a.offset))
	d := xxhash.NewWithSeed(xxhash.Sum64(b[:]))
	_, _ = d.WriteString(a.op.Value) // a hash takes everything
	chain := d.Sum64()
	return true, logState{end: after(a.offset), chain: chain, last: &link{a, chain, s.last}}
}

// recordsAStep is how many records of the log a read may be compared with at the cost of a step.
const recordsAStep = 16

// explains reports whether a log in state s gives a read's answer. It goes through log and answer from their ends down.
func (m *model) explains(ctx context.Context, s *logState, in *read) bool {
	if in.ends && s.end > in.to {
		return false
	}
	if in.disordered || s.end < in.to && len(in.op.Records) > 0 {
		return false
	}
	records := in.op.Records
	i := len(records) - 1
	looked := int64(0)
	// step compares one record of the log; with more the next one below is wanted.
	step := func(a *appended) (more, ok bool) {
		looked++
		switch {
		case edge(a.offset) >= in.to:
			return true, true // behind the answer
		case i < 0:
			return false, !in.whole || a.offset < in.floor
		case a.offset > records[i].Offset:
			return true, !in.whole // left out
		case a.offset < records[i].Offset || a.op.Value != records[i].Value:
			return false, false
		}
		i--
		return true, true
	}
	defer func() { m.left.Add(-looked / recordsAStep) }()
	for l := s.last; l != nil; l = l.before {
		if more, ok := step(l.record); !more || !ok {
			return ok
		}
	}
	for n := sort.Search(len(m.base), func(n int) bool { return edge(m.base[n].offset) >= in.to }); n > 0; n-- {
		if looked%1024 == 0 && ctx.Err() != nil {
			return false
		}
		if more, ok := step(m.base[n-1]); !more || !ok {
			return ok
		}
	}
	return i < 0
}

// Bounds on what a picture says of one operation.
const (
	wordsRecords = 4
	wordsRunes   = 24
)

// describe tells an operation in a few words.
func describe(input any) string {
	switch in := input.(type) {
	case *appended:
		return fmt.Sprintf("append %s at %d", clip(in.op.Value), in.offset)
	case *read:
		records := in.op.Records
		if len(records) == 0 {
			return fmt.Sprintf("read nothing at %d%s", in.op.Position, in.endWords())
		}
		var b strings.Builder
		fmt.Fprintf(&b, "read from %d:", in.op.Position)
		for i, r := range records {
			if i == wordsRecords-1 && len(records) > wordsRecords {
				fmt.Fprintf(&b, " … %d more", len(records)-wordsRecords)
				r = records[len(records)-1]
			}
			fmt.Fprintf(&b, " %s at %d", clip(r.Value), r.Offset)
			if i == wordsRecords-1 {
				break
			}
			if i < len(records)-1 {
				b.WriteByte(',')
			}
		}
		return b.String() + in.endWords()
	}
	return ""
}

func (r *read) endWords() string {
	if r.ends {
		return ", the log's end"
	}
	return ""
}

// markup takes away what a page could take for its own: some of porcupine's texts are put into it as they are.
var markup = strings.NewReplacer("<", "‹", ">", "›", "&", "+", `"`, "'")

func clip(value string) string {
	runes := 0
	for i := range value {
		if runes++; runes > wordsRunes {
			return markup.Replace(strings.ToValidUTF8(value[:i], "?")) + "…"
		}
	}
	return markup.Replace(strings.ToValidUTF8(value, "?"))
}
