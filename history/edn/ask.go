package edn

import (
	"fmt"
	"slices"

	"tidemark/history"
)

// asks names the kinds of operation that Jepsen's workload does not have, as process :tidemark tells them.
var asks = map[history.OpKind]string{history.ListOffsets: "list-offsets", history.DeleteRecords: "delete-records"}

// outcomes are the words for what came of one.
var outcomes = []string{history.Pending: "pending", history.OK: "ok", history.Fail: "fail", history.Info: "info"}

// ask writes the invocation or the completion of such an operation, each as one of process :tidemark: the client's own process would have
// Jepsen's checker meet an :f that it does not know. One that was still pending at the end has no completion.
func (w *writer) ask(op *history.Op, invocation bool) error {
	if op.Process < 0 {
		return fmt.Errorf("operation %d: of process %d, expected none below 0", op.ID, op.Process)
	}
	if invocation {
		w.head("info", asideAsk, aside, op.Invoke)
		w.word(quoted(asks[op.Kind])).field(fieldProcess).number(int64(op.Process)).field(fieldKey).key(op.Partition)
		w.field(fieldPosition).number(max(int64(op.Position), int64(history.Earliest)))
		w.turned(op).end()
		return nil
	}
	w.head("info", asideAnswer, aside, op.Return)
	w.word(quoted(outcomes[op.Outcome])).field(fieldProcess).number(int64(op.Process))
	w.field(fieldOffset).number(max(int64(op.Offset), -1)).field(fieldStart).number(max(int64(op.LogStart), -1))
	if op.Error != "" {
		w.field(":error").word(quoted(op.Error))
	}
	w.end()
	return nil
}

// readAsk reads an invocation that ask wrote.
func (b *builder) readAsk(e *entry) error {
	if e.own.key < 0 || e.own.process == nobody {
		return b.p.wrong(0, "found :%s without %s or %s, expected both", asideAsk, fieldProcess, fieldKey)
	}
	key, err := b.key(e.own.key)
	if err != nil {
		return err
	}
	op := history.Op{Process: e.own.process, Partition: key, Position: e.own.position, Broker: e.own.broker, Epoch: e.own.epoch, Invoke: e.at,
		InvokeIndex: b.index(0), ReturnIndex: -1, Offset: history.UnknownOffset, HW: history.UnknownOffset, LogStart: history.UnknownOffset}
	switch word := b.textValue(e); word {
	case asks[history.ListOffsets]:
		op.Kind = history.ListOffsets
	case asks[history.DeleteRecords]:
		op.Kind = history.DeleteRecords
	default:
		return b.p.wrong(max(e.value, 0), "found :%s of %q, expected %q or %q", asideAsk, short(word), asks[history.ListOffsets], asks[history.DeleteRecords])
	}
	b.asked[op.Process] = len(b.h.Ops)
	b.h.Ops = append(b.h.Ops, op)
	return nil
}

// readAnswer reads a completion that ask wrote.
func (b *builder) readAnswer(e *entry) error {
	at, known := b.asked[e.own.process]
	if !known {
		return b.p.wrong(0, "found :%s of process %d, expected a :%s of it before", asideAnswer, e.own.process, asideAsk)
	}
	delete(b.asked, e.own.process)
	outcome := slices.Index(outcomes, b.textValue(e))
	if outcome < int(history.OK) {
		return b.p.wrong(max(e.value, 0), "found :%s that is %q, expected \"ok\", \"fail\" or \"info\"", asideAnswer, short(b.textValue(e)))
	}
	op := &b.h.Ops[at]
	op.Outcome, op.Return, op.ReturnIndex = history.Outcome(outcome), e.at, b.index(0)
	op.Offset, op.LogStart, op.Error = e.own.offset, e.own.start, e.err
	return nil
}
