package edn

import (
	"encoding/json"
	"fmt"
	"math"

	"tidemark/history"
)

// tellKeys gives every partition its key, and writes of those that are not of the run's topic, as operations of process :tidemark, which key
// they have. All keys are numbers, as Jepsen's checker sorts them.
func (w *writer) tellKeys(run history.Run, h *history.History, events []event) error {
	w.keys = map[history.Partition]int32{}
	free := int32(max(run.Parts, 0))
	var others []history.Partition
	for _, e := range events {
		var p history.Partition
		switch e.what {
		case invoked:
			p = h.Ops[e.at].Partition
		case dumped:
			p = h.Dumps[e.at].Partition
		default:
			continue
		}
		if _, known := w.keys[p]; known {
			continue
		}
		if p.Topic == "" || p.Index < 0 || p.Index == math.MaxInt32 {
			return fmt.Errorf("on %q, expected a topic and a partition from 0 to %d", p, math.MaxInt32-1)
		}
		w.keys[p] = p.Index
		if p.Topic == run.Topic {
			free = max(free, p.Index+1)
		} else {
			others = append(others, p)
		}
	}
	if int64(free)+int64(len(others)) > math.MaxInt32 {
		return fmt.Errorf("%d partitions beside keys up to %d, expected at most %d keys", len(others), free-1, math.MaxInt32)
	}
	for _, p := range others {
		w.keys[p] = free
		free++
		plain, err := json.Marshal(p)
		if err != nil {
			return err
		}
		w.head("info", asideKey, aside, 0)
		w.word(quoted(string(plain))).field(fieldKey).key(p).end()
	}
	return nil
}

// key writes the key of a partition.
func (w *writer) key(p history.Partition) *writer { return w.number(int64(w.keys[p])) }

// readKey reads what tellKeys wrote.
func (b *builder) readKey(e *entry) error {
	if !b.ours || e.own.key < 0 || b.p.forms[e.own.key].kind != integer {
		return b.p.wrong(0, "found :%s, expected it behind :%s, with a number as %s", asideKey, asideRun, fieldKey)
	}
	var p history.Partition
	if err := b.readJSON(e, &p); err != nil {
		return err
	}
	if _, err := b.key(e.own.key); err != nil {
		return err
	}
	b.keys[string(b.scratch)] = p
	return nil
}
