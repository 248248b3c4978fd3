package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/checker"
	"tidemark/history"
)

// opsTable is the table of operations by columns, as the page's script reads it. Partitions and Errors are named once.
type opsTable struct {
	ID         []int64  `json:"id"`
	Process    []int32  `json:"process"`
	Client     []int    `json:"client"`  // index into Clients
	Kind       []int    `json:"kind"`    // history.OpKind
	Outcome    []int    `json:"outcome"` // history.Outcome
	Broker     []int32  `json:"broker"`
	Epoch      []int32  `json:"epoch"`
	Partition  []int    `json:"partition"` // index into Partitions
	Invoke     column   `json:"invoke"`    // milliseconds
	Took       column   `json:"took"`      // milliseconds, null while pending
	Offset     []int64  `json:"offset"`    // of a send: where it was acknowledged; of a poll or seek: the position
	Text       []string `json:"text"`      // a send's value; what a poll got
	Error      []int    `json:"error"`     // index into Errors, -1 if none
	Clients    []string `json:"clients"`
	Partitions []string `json:"partitions"`
	Errors     []string `json:"errors"`
}

const (
	opsMax       = 60_000
	opRunesMax   = 96
	opBytesMax   = 3 << 20 // of all values together, as the page holds them
	opErrorsMax  = 300
	opErrorRunes = 200
)

// tableOf lists the operations in order of time, at most opsMax: those that findings name, then those in the findings' windows, then those
// that did not succeed, then others at even distances.
func tableOf(run history.Run, ops []history.Op, findings []checker.Finding, spans []span) opsTable {
	t := opsTable{
		ID: []int64{}, Process: []int32{}, Client: []int{}, Clients: clientNames(run), Kind: []int{}, Outcome: []int{}, Broker: []int32{}, Epoch: []int32{}, Partition: []int{},
		Invoke: column{}, Took: column{}, Offset: []int64{}, Text: []string{}, Error: []int{}, Partitions: []string{}, Errors: []string{},
	}
	parts, errs := interner{names: &t.Partitions, limit: opErrorsMax}, interner{names: &t.Errors, limit: opErrorsMax}
	bytes := 0
	listed := chosen(ops, findings, spans)
	slices.SortStableFunc(listed, func(i, j int) int { return cmp.Compare(ops[i].Invoke, ops[j].Invoke) })
	for _, i := range listed {
		op := &ops[i]
		text := clip(opText(op), opRunesMax)
		if bytes += len(text) + 5*escapes(text); bytes > opBytesMax {
			text = "…"
		}
		took, offset := math.NaN(), op.Position
		if op.Outcome != history.Pending {
			took = milliseconds(op.Return - op.Invoke)
		}
		if op.Kind == history.Send || op.Kind == history.ListOffsets {
			offset = op.Offset
		}
		t.ID = append(t.ID, op.ID)
		t.Process = append(t.Process, op.Process)
		t.Client = append(t.Client, clientOf(op.Process, len(t.Clients)))
		t.Kind = append(t.Kind, int(op.Kind))
		t.Outcome = append(t.Outcome, int(op.Outcome))
		t.Broker = append(t.Broker, int32(op.Broker))
		t.Epoch = append(t.Epoch, int32(op.Epoch))
		t.Partition = append(t.Partition, parts.index(clip(op.Partition.String(), 80)))
		t.Invoke = append(t.Invoke, milliseconds(op.Invoke))
		t.Took = append(t.Took, took)
		t.Offset = append(t.Offset, int64(offset))
		t.Text = append(t.Text, text)
		t.Error = append(t.Error, errs.index(clip(op.Error, opErrorRunes)))
	}
	return t
}

// escapes counts the bytes of a text that take six in the page.
func escapes(text string) (n int) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || strings.IndexByte("<>&\"'", c) >= 0 {
			n++
		}
	}
	return n
}

// clientsMax bounds the lanes of the timeline; more clients than that share them.
const clientsMax = 60

// clientNames lists a run's clients in the order of their first processes: see history.Op on how processes are numbered.
func clientNames(run history.Run) []string {
	var names []string
	for i := range min(max(run.Writers, 0), clientsMax) {
		names = append(names, fmt.Sprintf("producer %d", i))
	}
	for i := range min(max(run.Readers, 0), clientsMax) {
		names = append(names, fmt.Sprintf("consumer %d", run.Writers+i))
	}
	return append(names, "settling", "final reads")
}

// clientOf is which of so many clients a process belongs to.
func clientOf(process int32, clients int) int { return int(uint32(process)) % clients }

// chosen picks the indices of the operations that are listed, in order.
func chosen(ops []history.Op, findings []checker.Finding, spans []span) []int {
	if len(ops) <= opsMax {
		all := make([]int, len(ops))
		for i := range all {
			all[i] = i
		}
		return all
	}
	named := map[int64]bool{}
	for _, f := range findings {
		for _, id := range f.Ops[:min(len(f.Ops), witnessOpsMax)] {
			named[id] = true
		}
		for _, m := range f.Implied[:min(len(f.Implied), impliedMax)] {
			for _, id := range m.Ops[:min(len(m.Ops), witnessOpsMax)] {
				named[id] = true
			}
		}
	}
	picked := make([]bool, len(ops))
	left := opsMax
	// pick takes the operations that are wanted, no more than share, spread evenly if there are more.
	pick := func(share int, want func(op *history.Op) bool) {
		var found []int
		for i := range ops {
			if !picked[i] && want(&ops[i]) {
				found = append(found, i)
			}
		}
		n := min(share, left, len(found))
		for k := range n {
			picked[found[k*len(found)/n]] = true
		}
		left -= n
	}
	pick(opsMax/4, func(op *history.Op) bool { return named[op.ID] })
	pick(opsMax/4, func(op *history.Op) bool {
		return slices.ContainsFunc(spans, func(s span) bool { return s.holds(op.Invoke) || s.holds(op.Return) })
	})
	pick(opsMax/4, func(op *history.Op) bool { return op.Outcome != history.OK })
	pick(opsMax, func(*history.Op) bool { return true })
	out := make([]int, 0, opsMax)
	for i, yes := range picked {
		if yes {
			out = append(out, i)
		}
	}
	return out
}

// interner numbers names; past its limit all further ones share the last number.
type interner struct {
	names *[]string
	limit int
	known map[string]int
}

func (n *interner) index(name string) int {
	if name == "" {
		return -1
	}
	if i, ok := n.known[name]; ok {
		return i
	}
	if n.known == nil {
		n.known = map[string]int{}
	}
	switch len(*n.names) {
	case n.limit:
		*n.names = append(*n.names, "(another; the journal tells)")
		return n.limit
	case n.limit + 1:
		return n.limit
	}
	n.known[name] = len(*n.names)
	*n.names = append(*n.names, name)
	return n.known[name]
}

func opText(op *history.Op) string {
	switch {
	case op.Kind == history.Send:
		return op.Value
	case op.Kind == history.Poll && op.Outcome == history.OK:
		text := fmt.Sprintf("%d records", len(op.Records))
		if len(op.Records) == 1 {
			text = "1 record"
		}
		if n := len(op.Records); n > 0 {
			text += ", " + rangeWord(op.Records[0].Offset, op.Records[n-1].Offset)
		}
		if op.HW >= 0 {
			text += fmt.Sprintf(", high watermark %d", op.HW)
		}
		return text
	case op.Kind == history.ListOffsets:
		return placeWord(op.Position)
	case op.Kind == history.DeleteRecords && op.Outcome == history.OK:
		return fmt.Sprintf("the log starts at %d", op.LogStart)
	default:
		return ""
	}
}

// placeWord is what a ListOffsets asks for.
func placeWord(at history.Offset) string {
	if at == history.Earliest {
		return "the log's start"
	}
	return "the log's end"
}

func invokeWord(op history.Op) string {
	switch op.Kind {
	case history.Send:
		return fmt.Sprintf("operation %d: process %d sends %s to %s", op.ID, op.Process, clip(op.Value, opRunesMax), brokerWord(op.Broker))
	case history.Poll:
		return fmt.Sprintf("operation %d: process %d polls %s from offset %s", op.ID, op.Process, brokerWord(op.Broker), offsetWord(op.Position))
	case history.ListOffsets:
		return fmt.Sprintf("operation %d: process %d asks %s for %s", op.ID, op.Process, brokerWord(op.Broker), placeWord(op.Position))
	case history.DeleteRecords:
		return fmt.Sprintf("operation %d: process %d asks %s to remove the records below offset %s", op.ID, op.Process, brokerWord(op.Broker), offsetWord(op.Position))
	default:
		return fmt.Sprintf("operation %d: process %d seeks to offset %s", op.ID, op.Process, offsetWord(op.Position))
	}
}

func returnWord(op history.Op) string {
	text := fmt.Sprintf("operation %d: %s", op.ID, outcomeWord(op.Outcome))
	switch {
	case op.Kind == history.Send && op.Outcome == history.OK:
		text = fmt.Sprintf("operation %d: process %d gets the acknowledgement of %s at offset %s", op.ID, op.Process, clip(op.Value, opRunesMax), offsetWord(op.Offset))
	case op.Kind == history.Poll && op.Outcome == history.OK:
		text = fmt.Sprintf("operation %d: process %d gets %s", op.ID, op.Process, opText(&op))
	case op.Kind == history.ListOffsets && op.Outcome == history.OK:
		text = fmt.Sprintf("operation %d: process %d is told offset %s", op.ID, op.Process, offsetWord(op.Offset))
	case op.Kind == history.DeleteRecords && op.Outcome == history.OK:
		text = fmt.Sprintf("operation %d: process %d is told that %s", op.ID, op.Process, opText(&op))
	}
	if op.Error != "" {
		text += " (" + clip(op.Error, opErrorRunes) + ")"
	}
	return text
}
