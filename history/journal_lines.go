package history

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"
)

// How each kind of entry becomes a line; journal.go says what the keys mean, journal_entries.go reads them back.

// The names of operations and outcomes in a journal, by value.
var (
	kindNames    = [kinds]string{Send: "send", Poll: "poll", Seek: "seek", ListOffsets: "listOffsets", DeleteRecords: "deleteRecords"}
	outcomeNames = [...]string{Pending: "pending", OK: "ok", Fail: "fail", Info: "info"}
)

func appendInvoke(b []byte, op *Op) []byte {
	b = appendHead(b, "invoke", op.InvokeIndex, op.Invoke)
	b = appendNumber(b, `,"id":`, op.ID)
	b = appendNumber(b, `,"p":`, op.Process)
	b = append(b, `,"f":"`...)
	b = append(b, kindNames[op.Kind]...)
	b = append(b, '"')
	b = appendNumber(b, `,"b":`, op.Broker)
	b = appendNumber(b, `,"e":`, op.Epoch)
	b = appendPartition(b, op.Partition)
	b = appendNumber(b, `,"acks":`, op.Acks)
	b = appendText(b, `,"v":`, op.Value)
	b = appendNumber(b, `,"pos":`, op.Position)
	b = appendTrue(b, `,"final":true`, op.Final)
	b = appendTrue(b, `,"marker":true`, op.Marker)
	return append(b, '}')
}

func appendReturn(b []byte, op *Op) []byte {
	b = appendHead(b, "return", op.ReturnIndex, op.Return)
	b = appendNumber(b, `,"id":`, op.ID)
	b = append(b, `,"as":"`...)
	b = append(b, outcomeNames[op.Outcome]...)
	b = append(b, '"')
	b = appendNumber(b, `,"b":`, op.Broker)
	b = appendNumber(b, `,"off":`, op.Offset)
	b = appendNumber(b, `,"hw":`, op.HW)
	b = appendNumber(b, `,"start":`, op.LogStart)
	b = appendText(b, `,"err":`, op.Error)
	for i := range op.Records {
		b = appendSeparator(b, `,"recs":[`, i)
		b = strconv.AppendInt(b, int64(op.Records[i].Offset), 10)
		b = append(b, ',')
		b = appendString(b, op.Records[i].Value)
	}
	b = appendTrue(b, "]", len(op.Records) > 0)
	return append(b, '}')
}

func appendFault(b []byte, e *FaultEvent) []byte {
	b = appendHead(b, "fault", e.Index, e.Time)
	b = appendNumber(b, `,"n":`, e.Fault)
	b = appendText(b, `,"phase":`, string(e.Phase))
	b = appendText(b, `,"kind":`, e.Kind)
	b = appendText(b, `,"line":`, e.Line)
	b = appendBrokers(b, `,"on":[`, e.Targets)
	b = appendText(b, `,"detail":`, e.Detail)
	return append(b, '}')
}

func appendState(b []byte, s *ClusterState) []byte {
	b = appendHead(b, "state", s.Index, s.Time)
	b = appendNumber(b, `,"ctl":`, s.Controller)
	for i := range s.Partitions {
		p := &s.Partitions[i]
		b = appendSeparator(b, `,"parts":[`, i)
		b = append(b, `{"leader":`...)
		b = strconv.AppendInt(b, int64(p.Leader), 10)
		b = appendPartition(b, p.Partition)
		b = appendNumber(b, `,"e":`, p.Epoch)
		b = appendNumber(b, `,"pe":`, p.PartitionEpoch)
		b = appendBrokers(b, `,"isr":[`, p.ISR)
		b = appendBrokers(b, `,"elr":[`, p.ELR)
		for j := range p.Replicas {
			r := &p.Replicas[j]
			b = appendSeparator(b, `,"reps":[`, j)
			b = append(b, `{"b":`...)
			b = strconv.AppendInt(b, int64(r.Broker), 10)
			b = appendTrue(b, `,"up":true`, r.Up)
			b = appendTrue(b, `,"leads":true`, r.Leads)
			b = appendNumber(b, `,"e":`, r.Epoch)
			b = appendNumber(b, `,"leo":`, r.LEO)
			b = appendNumber(b, `,"hw":`, r.HW)
			b = appendNumber(b, `,"start":`, r.Start)
			b = append(b, '}')
		}
		b = appendTrue(b, "]", len(p.Replicas) > 0)
		b = append(b, '}')
	}
	b = appendTrue(b, "]", len(s.Partitions) > 0)
	return append(b, '}')
}

func appendStep(b []byte, s *Step) []byte {
	b = appendHead(b, "step", s.Index, s.Time)
	b = appendText(b, `,"kind":`, string(s.Kind))
	b = appendNumber(b, `,"b":`, s.Broker)
	b = appendPartition(b, s.Partition)
	b = appendNumber(b, `,"e":`, s.Epoch)
	b = appendNumber(b, `,"peer":`, s.Peer)
	b = appendNumber(b, `,"from":`, s.From)
	b = appendNumber(b, `,"to":`, s.To)
	b = appendBrokers(b, `,"isr":[`, s.ISR)
	b = appendText(b, `,"detail":`, s.Detail)
	return append(b, '}')
}

func appendDump(b []byte, d *Dump) []byte {
	b = appendHead(b, "dump", d.Index, d.Time)
	b = appendNumber(b, `,"b":`, d.Broker)
	b = appendPartition(b, d.Partition)
	b = appendNumber(b, `,"leo":`, d.LEO)
	b = appendNumber(b, `,"hw":`, d.HW)
	b = appendNumber(b, `,"start":`, d.Start)
	for i := range d.Records {
		r := &d.Records[i]
		b = appendSeparator(b, `,"recs":[`, i)
		b = strconv.AppendInt(b, int64(r.Offset), 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(r.Epoch), 10)
		b = append(b, ',')
		b = appendString(b, r.Value)
	}
	b = appendTrue(b, "]", len(d.Records) > 0)
	b = appendText(b, `,"err":`, d.Err)
	return append(b, '}')
}

func appendMark(b []byte, m *Mark) []byte {
	b = appendHead(b, "mark", m.Index, m.Time)
	b = appendText(b, `,"name":`, m.Name)
	b = appendTrue(b, `,"failed":true`, m.Failed)
	b = appendText(b, `,"detail":`, m.Detail)
	return append(b, '}')
}

// appendHead begins a line.
func appendHead(b []byte, what string, index int64, at time.Duration) []byte {
	b = append(b, `{"t":"`...)
	b = append(b, what...)
	b = append(b, `","i":`...)
	b = strconv.AppendInt(b, index, 10)
	b = append(b, `,"at":`...)
	return strconv.AppendInt(b, int64(at), 10)
}

// appendNumber appends a field unless it is 0.
func appendNumber[T ~int | ~int16 | ~int32 | ~int64](b []byte, key string, n T) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), int64(n), 10)
}

// appendText appends a field unless it is empty.
func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, key...), s)
}

// appendTrue appends text where a condition holds: a field that is true, or the end of a list that was begun.
func appendTrue(b []byte, text string, holds bool) []byte {
	if holds {
		b = append(b, text...)
	}
	return b
}

func appendPartition(b []byte, p Partition) []byte {
	b = appendText(b, `,"topic":`, p.Topic)
	return appendNumber(b, `,"part":`, p.Index)
}

func appendBrokers(b []byte, key string, brokers []BrokerID) []byte {
	for i, id := range brokers {
		b = appendSeparator(b, key, i)
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return appendTrue(b, "]", len(brokers) > 0)
}

// appendSeparator appends what stands before element i of a list: its key and bracket before the first.
func appendSeparator(b []byte, key string, i int) []byte {
	if i == 0 {
		return append(b, key...)
	}
	return append(b, ',')
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string, or {"base64":"..."} for what is not UTF-8: a record's value may be any bytes.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		b = append(b, `{"base64":"`...)
		b = base64.StdEncoding.AppendEncode(b, []byte(s))
		return append(b, `"}`...)
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
