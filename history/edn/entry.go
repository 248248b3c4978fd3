package edn

import (
	"math"
	"time"

	"tidemark/history"
)

// entry is one map as its fields say. A form of -1 is a field that is missing.
type entry struct {
	outcome   history.Outcome // Pending of an invocation
	f         string
	process   int32 // nemesis and aside are no clients
	at        time.Duration
	index     int64 // -1 if it is missing
	value     int32
	err       string
	beginning bool  // :seek-to-beginning?
	rebalance int32 // :rebalance-log
	own       own
}

// own holds the fields that tidemark adds to what the format has, so that nothing is lost between writing and reading. Jepsen's checker
// leaves fields that it does not know alone.
type own struct {
	key             int32 // of a poll, form of its key
	position        history.Offset
	hw, start       history.Offset
	acks            int16
	final, marker   bool
	pending, failed bool
	phase, kind     string
	number          int64
	detail          string
	broker          history.BrokerID // of a dump, or that an operation went to
	epoch           history.Epoch    // of the leader that an operation went to
	process         int32            // of a seek
	end             history.Offset   // of a dump: its log end offset
	more            bool             // likewise: it goes on from the entry before
	offset          history.Offset   // of an answer
	targets         []history.BrokerID
}

// The fields that tidemark adds.
const (
	fieldKey      = ":tidemark/key"
	fieldPosition = ":tidemark/position"
	fieldHW       = ":tidemark/high-watermark"
	fieldStart    = ":tidemark/log-start"
	fieldAcks     = ":tidemark/acks"
	fieldFinal    = ":tidemark/final"
	fieldMarker   = ":tidemark/marker"
	fieldPending  = ":tidemark/pending"
	fieldFault    = ":tidemark/fault"
	fieldPhase    = ":tidemark/phase"
	fieldKind     = ":tidemark/kind"
	fieldFailed   = ":tidemark/failed"
	fieldDetail   = ":tidemark/detail"
	fieldBroker   = ":tidemark/broker"
	fieldEpoch    = ":tidemark/epoch"
	fieldProcess  = ":tidemark/process"
	fieldEnd      = ":tidemark/log-end"
	fieldMore     = ":tidemark/more"
	fieldOffset   = ":tidemark/offset"
	fieldTargets  = ":tidemark/targets"
)

// fields reads the fields of the map at form 0. A field that is known stands once.
func (p *parser) fields() (e entry, err error) {
	if p.forms[0].kind != dict {
		return e, p.wrong(0, "found %s, expected an operation: a map", p.described(0))
	}
	e = entry{process: nobody, index: -1, value: -1, rebalance: -1,
		own: own{key: -1, position: history.UnknownOffset, hw: history.UnknownOffset, start: history.UnknownOffset, acks: -1, number: -1,
			broker: history.NoBroker, epoch: -1, process: nobody, end: history.UnknownOffset, offset: history.UnknownOffset}}
	var seen uint64
	typed := false
	for k := int32(1); k < p.forms[0].end; {
		v := p.forms[k].end
		after := p.forms[v].end
		if p.forms[k].kind == keyword {
			if bit, known := fieldBits[string(p.textOf(k))]; known {
				if seen&(1<<bit) != 0 {
					return e, p.wrong(k, "found %s a second time, expected it once", p.textOf(k))
				}
				seen |= 1 << bit
				typed = typed || string(p.textOf(k)) == ":type"
				if err := p.field(&e, string(p.textOf(k)), v); err != nil {
					return e, err
				}
			}
		}
		k = after
	}
	switch {
	case !typed:
		return e, p.wrong(0, "found an operation without :type, expected :invoke, :ok, :fail or :info")
	case e.f == "":
		return e, p.wrong(0, "found an operation without :f, expected what it does")
	case e.process == nobody:
		return e, p.wrong(0, "found an operation without :process, expected a number or :nemesis")
	}
	return e, nil
}

// fieldBits numbers the fields that are read.
var fieldBits = func() map[string]uint {
	m := map[string]uint{}
	for i, name := range []string{":type", ":f", ":process", ":time", ":index", ":value", ":error", ":seek-to-beginning?", ":rebalance-log",
		fieldKey, fieldPosition, fieldHW, fieldStart, fieldAcks, fieldFinal, fieldMarker, fieldPending, fieldFault, fieldPhase, fieldKind,
		fieldFailed, fieldDetail, fieldBroker, fieldEpoch, fieldProcess, fieldEnd, fieldMore, fieldOffset, fieldTargets} {
		m[name] = uint(i)
	}
	return m
}()

// field reads one field's value, form v.
func (p *parser) field(e *entry, name string, v int32) (err error) {
	switch name {
	case ":type":
		e.outcome, err = p.outcome(v)
	case ":f":
		if p.forms[v].kind != keyword {
			return p.wrong(v, "found %s, expected a keyword: what the operation does", p.described(v))
		}
		e.f = p.name(v)
	case ":process":
		switch {
		case p.is(v, ":nemesis"):
			e.process = nemesis
			return nil
		case p.is(v, ":tidemark"):
			e.process = aside
			return nil
		}
		var n int64
		n, err = p.number(v, 0, math.MaxInt32, "a process: :nemesis or a number")
		e.process = int32(n)
	case ":time":
		var n int64
		n, err = p.number(v, 0, math.MaxInt64, "a time in nanoseconds")
		e.at = time.Duration(n)
	case ":index":
		e.index, err = p.number(v, 0, math.MaxInt64, "an index")
	case ":value":
		e.value = v
	case ":error":
		switch p.forms[v].kind {
		case null:
		case text:
			e.err = string(p.textOf(v))
		default:
			e.err = p.written(v)
		}
	case ":seek-to-beginning?":
		e.beginning = p.holds(v)
	case ":rebalance-log":
		e.rebalance = v
	default:
		err = p.ownField(&e.own, name, v)
	}
	return err
}

// ownField reads a field that tidemark adds.
func (p *parser) ownField(o *own, name string, v int32) error {
	offset := func(to *history.Offset) error {
		n, err := p.number(v, -1, math.MaxInt64, "an offset, or -1")
		*to = history.Offset(n)
		return err
	}
	switch name {
	case fieldKey:
		o.key = v
	case fieldPosition:
		n, err := p.number(v, int64(history.Earliest), math.MaxInt64, "a position")
		o.position = history.Offset(n)
		return err
	case fieldOffset:
		return offset(&o.offset)
	case fieldTargets:
		return p.brokers(v, &o.targets)
	case fieldHW:
		return offset(&o.hw)
	case fieldStart:
		return offset(&o.start)
	case fieldAcks:
		n, err := p.number(v, -1, 1, "acks")
		o.acks = int16(n)
		return err
	case fieldFault:
		n, err := p.number(v, 0, math.MaxInt32, "a fault's number")
		o.number = n
		return err
	case fieldEnd:
		return offset(&o.end)
	case fieldBroker:
		n, err := p.number(v, -1, math.MaxInt32, "a broker")
		o.broker = history.BrokerID(n)
		return err
	case fieldEpoch:
		n, err := p.number(v, -1, math.MaxInt32, "a leader epoch")
		o.epoch = history.Epoch(n)
		return err
	case fieldProcess:
		n, err := p.number(v, 0, math.MaxInt32, "a process")
		o.process = int32(n)
		return err
	case fieldMore:
		o.more = p.holds(v)
	case fieldFinal:
		o.final = p.holds(v)
	case fieldMarker:
		o.marker = p.holds(v)
	case fieldPending:
		o.pending = p.holds(v)
	case fieldFailed:
		o.failed = p.holds(v)
	case fieldPhase:
		o.phase = p.name(v)
	case fieldKind:
		o.kind = p.name(v)
	case fieldDetail:
		o.detail = string(p.textOf(v))
	}
	return nil
}

// brokers reads a vector of brokers.
func (p *parser) brokers(v int32, to *[]history.BrokerID) error {
	if !p.sequence(v) {
		return p.wrong(v, "found %s, expected a vector of brokers", p.described(v))
	}
	for b := range p.members(v) {
		n, err := p.number(b, -1, math.MaxInt32, "a broker")
		if err != nil {
			return err
		}
		*to = append(*to, history.BrokerID(n))
	}
	return nil
}

func (p *parser) outcome(v int32) (history.Outcome, error) {
	if p.forms[v].kind == keyword {
		switch p.name(v) {
		case "invoke":
			return history.Pending, nil
		case "ok":
			return history.OK, nil
		case "fail":
			return history.Fail, nil
		case "info":
			return history.Info, nil
		}
	}
	return 0, p.wrong(v, "found %s, expected :invoke, :ok, :fail or :info", p.described(v))
}

// number reads an integer.
func (p *parser) number(v int32, least, most int64, what string) (int64, error) {
	f := &p.forms[v]
	if f.kind != integer || f.n < least || f.n > most {
		return 0, p.wrong(v, "found %s, expected %s from %d to %d", p.described(v), what, least, most)
	}
	return f.n, nil
}

// holds reports whether a form is true, as Clojure sees it: neither nil nor false.
func (p *parser) holds(v int32) bool {
	f := &p.forms[v]
	return f.kind != null && (f.kind != boolean || string(p.textOf(v)) == "true")
}

// name is a keyword without its colon, or a string.
func (p *parser) name(v int32) string {
	word := p.textOf(v)
	if p.forms[v].kind == keyword {
		word = word[1:]
	}
	return string(word)
}

// described is how an error calls a form.
func (p *parser) described(v int32) string {
	f := &p.forms[v]
	switch f.kind {
	case list, vector, set, dict, null:
		return kindNames[f.kind]
	case text:
		return "the string " + short(p.written(v))
	}
	return short(p.textOf(v))
}
