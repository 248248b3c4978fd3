package workloads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/history"
)

// TestAppend tells, in testdata/*.txt, what clients do and record against a cluster that misbehaves as told. Each line of output is
// an operation: its number, process, times in milliseconds, what was asked, and what came of it.
func TestAppend(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			var s stage
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
		})
	})
}

// stage is a scenario under way.
type stage struct {
	env   fakeEnv
	fake  *fakeCluster
	a     *Append
	told  int   // operations in the output so far
	acted error // of the last command
}

func (s *stage) run(t *testing.T, d *datadriven.TestData) string {
	duration := func(key string) (v time.Duration) {
		var text string
		d.ScanArgs(t, key, &text)
		v, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	number := func(key string, v int) int {
		d.MaybeScanArgs(t, key, &v)
		return v
	}
	s.acted = nil
	switch d.Cmd {
	case "cluster":
		s.env, s.fake, s.told = fakeEnv{time.Now()}, newFakeCluster(number("brokers", 3)), 0
		s.a = &Append{Env: s.env, Cluster: s.fake, Record: history.NewRecorder(s.env.Now, nil), Topic: "orders", Parts: number("parts", 1), Factor: 3,
			Acks: int16(number("acks", -1)), Writers: number("writers", 1), Readers: number("readers", 0), Rate: float64(number("rate", 10)),
			Timeout: time.Second, Lossy: d.HasArg("lossy"), Idempotent: d.HasArg("idempotent"), Trims: d.HasArg("trim") || d.HasArg("trims"), Trim: time.Duration(number("trim", 0)) * time.Millisecond, Configs: map[string]string{"min.insync.replicas": "2"}}
		s.fake.produces = int16(number("produces", 0))
		return ""
	case "produce", "broker", "partition", "delete-records", "list-offsets":
		if !d.HasArg("after") {
			s.misbehave(d, number)
			return ""
		}
		later := *d // happens during the commands that follow
		wait := duration("after")
		go func() {
			time.Sleep(wait)
			s.misbehave(&later, func(key string, v int) int {
				later.MaybeScanArgs(t, key, &v)
				return v
			})
		}()
		return ""
	case "create":
		s.acted = s.a.Create(duration("within"))
	case "load":
		s.a.Load(s.env.Now() + duration("for"))
	case "settle":
		s.acted = s.a.Settle(duration("within"))
	case "final":
		s.acted = s.a.Final(duration("within"))
	case "elect":
		s.acted = Elect(s.env, s.fake, "elector", s.a.partition(0), history.BrokerID(number("broker", 0)), duration("within"))
	}
	return s.output()
}

// errorCode is the error code that a line asks for by Kafka's name, or by a number that no name belongs to; 0 without one.
func errorCode(d *datadriven.TestData) int16 {
	name := "0"
	for _, arg := range d.CmdArgs {
		if arg.Key == "code" {
			name = arg.Vals[0]
		}
	}
	for code := int16(-1); code < 200; code++ {
		if codeName(code) == name {
			return code
		}
	}
	code, err := strconv.ParseInt(name, 10, 16)
	if err != nil {
		panic("no error is called " + name)
	}
	return int16(code)
}

// misbehave makes the cluster do what it should not.
func (s *stage) misbehave(d *datadriven.TestData, number func(string, int) int) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	switch d.Cmd {
	case "produce": // what happens to the next Produce requests
		m := mishap{code: errorCode(d), append: d.HasArg("append"), hangUp: d.HasArg("hang-up"), elect: number("elect", 0)}
		for range number("times", 1) {
			s.fake.produce = append(s.fake.produce, m)
		}
	case "delete-records": // what is answered from now on
		s.fake.refuseDelete = errorCode(d)
	case "list-offsets": // how long each lies from now on, in milliseconds
		s.fake.listDelay = time.Duration(number("delay", 0)) * time.Millisecond
	case "broker":
		b := history.BrokerID(number("id", 0))
		s.fake.down[b], s.fake.silent[b] = d.HasArg("down"), d.HasArg("silent")
		if delete(s.fake.behind, b); d.HasArg("behind") { // it hears of nothing that happens from now on
			s.fake.behind[b] = slices.Clone(s.fake.parts)
		}
	case "partition":
		p := &s.fake.parts[number("index", 0)]
		if leader := number("leader", int(p.leader)); leader != int(p.leader) {
			p.leader, p.epoch = int32(leader), p.epoch+1
		}
		p.lag = int64(number("lag", int(p.lag)))
		p.isr = p.replicas[:number("isr", len(p.isr))]
		if d.HasArg("empty") {
			p.log = nil
		}
		if start := int64(number("start", int(p.start))); start > p.start {
			p.log, p.start = p.log[min(start-p.start, int64(len(p.log))):], start
		}
	}
}

// output tells the operations since the last command, and the command's error.
func (s *stage) output() string {
	var b strings.Builder
	ops := s.a.Record.History().Ops
	for _, op := range ops[s.told:] {
		fmt.Fprintf(&b, "%3d p%d %d-%d ms ", op.ID, op.Process, op.Invoke.Milliseconds(), op.Return.Milliseconds())
		switch op.Kind {
		case history.Send:
			fmt.Fprintf(&b, "send %s %s acks=%d", op.Partition, op.Value, op.Acks)
		case history.Poll:
			fmt.Fprintf(&b, "poll %s from %d", op.Partition, op.Position)
		case history.Seek:
			fmt.Fprintf(&b, "seek %s to %d", op.Partition, op.Position)
		case history.ListOffsets:
			fmt.Fprintf(&b, "list %s of %d", op.Partition, op.Position)
		case history.DeleteRecords:
			fmt.Fprintf(&b, "delete records of %s below %d", op.Partition, op.Position)
		}
		fmt.Fprintf(&b, " at broker %d epoch %d: %s", op.Broker, op.Epoch, [...]string{"pending", "ok", "failed", "unknown"}[op.Outcome])
		if op.Outcome == history.OK && op.Kind == history.DeleteRecords {
			fmt.Fprintf(&b, " start %d", op.LogStart)
		}
		if op.Outcome == history.OK && (op.Kind == history.Send || op.Kind == history.ListOffsets) {
			fmt.Fprintf(&b, " offset %d", op.Offset)
		}
		if op.Outcome == history.OK && op.Kind == history.Poll {
			fmt.Fprintf(&b, " start %d hw %d", op.LogStart, op.HW)
			for _, r := range op.Records {
				fmt.Fprintf(&b, " %d=%s", r.Offset, r.Value)
			}
		}
		if op.Error != "" {
			fmt.Fprintf(&b, " (%s)", op.Error)
		}
		if op.Marker {
			b.WriteString(" marker")
		}
		if op.Final {
			b.WriteString(" final")
		}
		b.WriteByte('\n')
	}
	s.told = len(ops)
	for _, sending := range s.fake.sendings { // of idempotent producers: partition: producer id/epoch #sequence number
		fmt.Fprintf(&b, "    sent %s\n", sending)
	}
	s.fake.sendings = nil
	if s.acted != nil {
		fmt.Fprintf(&b, "error: %v\n", s.acted)
	}
	if b.Len() == 0 {
		return "ok"
	}
	return b.String()
}

// TestLoadKeepsItsRate loads with many clients: the rate is kept, values are unique, no process has two operations under way.
func TestLoadKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := fakeEnv{time.Now()}
		fake := newFakeCluster(3)
		fake.produce = []mishap{{code: kerr.RequestTimedOut.Code, append: true}, {hangUp: true}, {code: kerr.NotEnoughReplicas.Code}}
		a := &Append{Env: env, Cluster: fake, Record: history.NewRecorder(env.Now, nil), Topic: "orders", Parts: 3, Factor: 3, Acks: -1,
			Writers: 5, Readers: 3, Rate: 100, Timeout: time.Second}
		if err := a.Create(5 * time.Second); err != nil {
			t.Fatal(err)
		}
		a.Load(env.Now() + time.Minute)
		if err := a.Settle(10 * time.Second); err != nil {
			t.Fatal(err)
		}
		if err := a.Final(10 * time.Second); err != nil {
			t.Fatal(err)
		}
		h := a.Record.History()
		values := map[string]bool{}
		under := map[int32]int64{} // by process: when its last operation ended, -1 once it is retired
		final := map[string]bool{}
		acked := 0
		for i, op := range h.Ops {
			if op.Kind == history.Send {
				if values[op.Value] {
					t.Errorf("value %s was sent twice", op.Value)
				}
				values[op.Value] = true
			}
			if end, seen := under[op.Process]; seen && (end < 0 || end > op.InvokeIndex) {
				t.Errorf("operation %d: process %d is retired or has another operation under way", i, op.Process)
			}
			under[op.Process] = op.ReturnIndex
			if op.Outcome == history.Info {
				under[op.Process] = -1
			}
			for _, r := range op.Records {
				if op.Final {
					final[r.Value] = true
				}
			}
		}
		for _, op := range h.Ops {
			if op.Kind == history.Send && op.Outcome == history.OK {
				acked++
				if !final[op.Value] {
					t.Errorf("acknowledged %s is not in the final reads", op.Value)
				}
			}
		}
		if n := len(h.Ops); n < 5500 || n > 6500 {
			t.Errorf("%d operations in a minute at 100 a second", n)
		}
		if counts := a.Record.Counts(); counts[history.Send][history.Info] != 2 || counts[history.Send][history.Fail] != 1 || acked < 3300 {
			t.Errorf("%d unknown, %d failed, %d acknowledged sends, expected 2, 1 and about 3750", counts[history.Send][history.Info], counts[history.Send][history.Fail], acked)
		}
	})
}
