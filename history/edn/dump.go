package edn

import (
	"math"

	"tidemark/history"
)

// dumpRecords is how many records of a replica's dump stand in one entry: a log may have more than an entry may be long.
const dumpRecords = 4096

// dump writes a replica's dump as operations of process :tidemark, :value [[offset epoch value] ...]. A log that could not be read is an :error.
func (w *writer) dump(d *history.Dump) {
	for from := 0; from == 0 || from < len(d.Records); from += dumpRecords {
		w.head("info", asideDump, aside, d.Time)
		w.word("[")
		for i, r := range d.Records[from:min(from+dumpRecords, len(d.Records))] {
			if i > 0 {
				w.space()
			}
			w.word("[").number(int64(r.Offset)).space().number(int64(r.Epoch)).space().number(w.value(r.Value)).word("]")
		}
		w.word("]").field(fieldKey).key(d.Partition).field(fieldBroker).number(int64(d.Broker))
		w.field(fieldEnd).number(max(int64(d.LEO), -1)).field(fieldHW).number(max(int64(d.HW), -1)).field(fieldStart).number(max(int64(d.Start), -1))
		if from > 0 {
			w.field(fieldMore).word("true")
		}
		if d.Err != "" {
			w.field(":error").word(quoted(d.Err))
		}
		w.end()
	}
}

// readDump reads what dump wrote.
func (b *builder) readDump(e *entry) error {
	if e.own.key < 0 || e.value < 0 || !b.p.sequence(e.value) {
		return b.p.wrong(max(e.value, 0), "found :%s without records or %s, expected [[offset epoch value] ...] and a key", asideDump, fieldKey)
	}
	key, err := b.key(e.own.key)
	if err != nil {
		return err
	}
	n := len(b.h.Dumps)
	more := e.own.more && n > 0 && b.h.Dumps[n-1].Partition == key && b.h.Dumps[n-1].Broker == e.own.broker
	if !more {
		b.h.Dumps = append(b.h.Dumps, history.Dump{Index: b.index(0), Time: e.at, Broker: e.own.broker, Partition: key, LEO: e.own.end, HW: e.own.hw,
			Start: e.own.start, Err: e.err})
	}
	d := &b.h.Dumps[len(b.h.Dumps)-1]
	for r := range b.p.members(e.value) {
		offset := r + 1
		if !b.p.sequence(r) || b.p.forms[r].end != r+4 {
			return b.p.wrong(r, "found %s, expected [offset epoch value]", short(b.p.written(r)))
		}
		o, err := b.p.number(offset, 0, math.MaxInt64, "an offset")
		if err != nil {
			return err
		}
		epoch, err := b.p.number(offset+1, -1, math.MaxInt32, "a leader epoch")
		if err != nil {
			return err
		}
		value, err := b.message(offset+2, false)
		if err != nil {
			return err
		}
		d.Records = append(d.Records, history.DumpRecord{Offset: history.Offset(o), Epoch: history.Epoch(epoch), Value: value})
	}
	return nil
}
