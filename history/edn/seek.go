package edn

import (
	"fmt"

	"tidemark/history"
)

// seek writes that a consumer moved itself, as one operation of process :tidemark: nothing goes to a broker in between. What the consumer
// does next the format tells by an assignment.
func (w *writer) seek(op *history.Op, invocation bool) error {
	if !invocation {
		return nil
	}
	if op.Process < 0 {
		return fmt.Errorf("operation %d: of process %d, expected none below 0", op.ID, op.Process)
	}
	w.head("info", asideSeek, aside, op.Invoke)
	w.word("nil").field(fieldProcess).number(int64(op.Process)).field(fieldKey).key(op.Partition)
	w.field(fieldPosition).number(max(int64(op.Position), -1))
	w.turned(op).end()
	return nil
}

// turned writes which broker and leader epoch an operation went to, where that is known.
func (w *writer) turned(op *history.Op) *writer {
	if op.Broker != history.NoBroker {
		w.field(fieldBroker).number(int64(op.Broker))
	}
	if op.Epoch >= 0 {
		w.field(fieldEpoch).number(int64(op.Epoch))
	}
	return w
}

// readSeek reads what seek wrote.
func (b *builder) readSeek(e *entry) error {
	if e.own.key < 0 || e.own.process == nobody {
		return b.p.wrong(0, "found :%s without %s or %s, expected both", asideSeek, fieldProcess, fieldKey)
	}
	key, err := b.key(e.own.key)
	if err != nil {
		return err
	}
	b.h.Ops = append(b.h.Ops, history.Op{Process: e.own.process, Kind: history.Seek, Partition: key, Position: e.own.position, Outcome: history.OK,
		Broker: e.own.broker, Epoch: e.own.epoch, Invoke: e.at, Return: e.at, InvokeIndex: b.index(0), ReturnIndex: b.index(1),
		Offset: history.UnknownOffset, HW: history.UnknownOffset, LogStart: history.UnknownOffset})
	return nil
}
