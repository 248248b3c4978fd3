package checker

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"tidemark/history"
)

// BenchmarkConsumers checks histories of consumers that seek past each second record, and that stand still far behind, in two sizes: the time of one
// operation must be about the same in both.
//
//	go test ./checker -run '^$' -bench Consumers
func BenchmarkConsumers(b *testing.B) {
	for name, poll := range map[string]func(s *story, i int){
		"seek": func(s *story, i int) {
			o := history.Offset(2*i + 1)
			s.complete(s.at("c1", history.Seek, o), history.OK)
			op := s.at("c1", history.Poll, o)
			op.HW, op.Records = 0, []history.Record{{Offset: o, Value: strconv.Itoa(int(o))}}
			s.complete(op, history.OK)
		},
		"behind": func(s *story, _ int) {
			op := s.at("c1", history.Poll, 0)
			op.HW = 0
			s.complete(op, history.OK)
		},
	} {
		for _, n := range []int{10_000, 40_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				s := newStory(history.Run{Format: 1, World: "sim", Brokers: 3, Topic: "orders", Parts: 1, Factor: 3, MinISR: 2, Writers: 90, Readers: 8})
				var records []history.Record
				for o := range history.Offset(2 * n) {
					op := s.at("p1", history.Send, 0)
					op.Value = strconv.Itoa(int(o))
					s.complete(op, history.OK)
					records = append(records, history.Record{Offset: o, Value: op.Value})
				}
				s.now += time.Minute
				for i := range n {
					poll(s, i)
				}
				s.mark("settle", "")
				s.mark("final", "")
				op := s.at("final", history.Poll, 0)
				op.Final, op.HW, op.Records = true, history.Offset(2*n), records
				s.complete(op, history.OK)
				for b.Loop() {
					Check(s.run, s.h, Options{})
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s.h.Ops)), "ns/operation")
			})
		}
	}
}

// at begins an operation at an offset.
func (s *story) at(who string, kind history.OpKind, o history.Offset) *history.Op {
	op := s.invoke(who, kind)
	op.Position = o
	return op
}
