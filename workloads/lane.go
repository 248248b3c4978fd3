package workloads

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/history"
)

// lane is what an idempotent producer has under way on one partition: a queue in order of sequence numbers, and a connection to the leader on
// which up to inFlightMax of it are sent before the first is answered. After an error nothing is sent until all that is in flight is answered;
// then the queue is sent again from its beginning.
type lane struct {
	p         *idempotent
	partition history.Partition
	client    *client
	router    *router
	rnd       *rand.Rand    // of lapses
	lapsed    time.Duration // how long the lapse lasts that has just begun; 0 without one

	// Guarded by the producer's lock.
	queue  []*sending // not ended yet, oldest first
	pipe   *pipe      // nil without a connection
	to     route      // the last known
	self   identity   // of the sequence numbers that were given out
	next   int32      // sequence number
	acked  int32      // the last one, in order of sequence, that was acknowledged, or the one before the first
	failed bool       // something is to be sent again, once nothing is in flight
	moved  bool       // the leader is to be asked for again
	broken bool       // this epoch cannot go on
}

// sending is one record on its way.
type sending struct {
	op        history.Op
	id        int64 // of the operation
	deadline  time.Duration
	flying    bool  // sent, and neither answered nor lost
	sequence  int32 // of this epoch, once it was sent in it
	numbered  bool
	uncertain bool // a sending of it may have been appended
	elsewhere bool // by another broker than the one it was sent to last
	refused   bool // out of order, as the next one behind those that were acknowledged: it is not in the log
}

func newLane(p *idempotent, part int) *lane {
	l := &lane{p: p, partition: p.a.partition(part), self: nobody, to: route{leader: history.NoBroker, epoch: -1}}
	l.client = newClient(p.a.Env, p.a.Cluster, p.ids.name, p.a.Timeout)
	l.rnd = p.a.Env.Rand("producer lapse", p.index*p.a.Parts+part)
	l.router = newRouter(l.client, p.a.Topic, p.a.Parts, p.a.Env.Rand("producer metadata", p.index*p.a.Parts+part))
	return l
}

// run sends what is in the queue, until the producer leaves.
func (l *lane) run() {
	defer l.client.close()
	for {
		l.p.changed.Until(func() bool { return l.p.guarded(l.ready) }, -1)
		over, again := false, false
		l.p.guarded(func() bool { over, again = l.p.over, l.recover(); return true })
		switch {
		case over:
			l.hangUp()
			return
		case again:
			l.p.a.Env.Sleep(backoff + l.lapsed)
			l.lapsed = 0
		case !l.advance():
			l.p.a.Env.Sleep(backoff)
		}
	}
}

// ready reports whether there is something to do.
func (l *lane) ready() bool {
	if l.p.over {
		return true
	}
	if l.failed {
		return !l.flying()
	}
	return l.unsent() != nil && (l.pipe == nil || len(l.pipe.flight) < inFlightMax)
}

func (l *lane) flying() bool { return l.pipe != nil && len(l.pipe.flight) > 0 }

// unsent is the first record that is not in flight, nil if there is none.
func (l *lane) unsent() *sending {
	i := slices.IndexFunc(l.queue, func(x *sending) bool { return !x.flying })
	if i < 0 {
		return nil
	}
	return l.queue[i]
}

// recover prepares for sending the queue again, where something failed: what is too old ends, and with it, as the sequence has a hole then, what
// was sent behind it and whose outcome is not certain. It reports whether anything failed.
func (l *lane) recover() bool {
	if l.p.over || !l.failed {
		return false
	}
	l.failed = false
	if l.moved {
		l.router.forget(l.partition.Index)
		l.moved = false
	}
	now := l.p.a.Env.Now()
	for len(l.queue) > 0 && l.queue[0].deadline <= now {
		l.broken = l.broken || l.queue[0].numbered
		l.giveUp(l.queue[0], "not acknowledged in time")
	}
	if l.broken {
		l.broken = false
		l.startEpoch()
	}
	return true
}

// startEpoch begins the sequence anew. What may have been appended under the old sequence numbers must not be sent under new ones: it ends. A
// record that was refused by the only broker that may have appended it is an exception (outOfOrder).
func (l *lane) startEpoch() {
	for _, x := range slices.Clone(l.queue) {
		if x.uncertain && !x.refused {
			l.giveUp(x, "the producer's epoch ended before it was acknowledged")
		}
		x.numbered, x.refused = false, false
	}
	l.p.bump(l)
}

// giveUp ends a record that was not acknowledged.
func (l *lane) giveUp(x *sending, why string) {
	x.op.Outcome = history.Info
	if !x.uncertain && !x.flying {
		x.op.Outcome = history.Fail // each of its sendings, if there was one, was refused or never left
	}
	if x.op.Error == "" {
		x.op.Error = why
	}
	l.end(x)
}

// end takes a record whose outcome is set out of the queue.
func (l *lane) end(x *sending) {
	l.queue = slices.DeleteFunc(l.queue, func(o *sending) bool { return o == x })
	l.p.complete(x)
}

// advance sends the next record, over a new connection if there is none. False if it could not be sent.
func (l *lane) advance() bool {
	var first *sending
	l.p.guarded(func() bool { first = l.unsent(); return true })
	if first == nil {
		return true
	}
	if l.fresh() && !l.p.adopt(l) {
		return l.fail(false)
	}
	to, ok := l.router.find(l.partition.Index, min(first.deadline, l.p.a.Env.Now()+l.p.a.Timeout))
	if !ok {
		return l.fail(true)
	}
	connected := l.p.guarded(func() bool {
		l.to = to
		if w := l.pipe; w != nil && w.broker != to.leader && len(w.flight) == 0 {
			w.closed, l.pipe = true, nil
			l.p.changed.Notify()
		}
		return l.pipe != nil
	})
	if !connected && !l.connect(to.leader) {
		return l.fail(true)
	}
	if !l.send() {
		return false
	}
	l.lapse()
	return true
}

// A lane lapses after one in so many sendings, for so long at most.
const (
	lapseOneIn = 100
	lapseMax   = 7 * time.Second
)

// lapse lets now and then a connection break with all that is in flight on it, and nothing be sent for a while, as when a program's machine
// stands still: what was appended is sent again to a cluster that has changed meanwhile.
func (l *lane) lapse() {
	if l.rnd.IntN(lapseOneIn) != 0 {
		return
	}
	span := time.Duration(l.rnd.Float64() * l.rnd.Float64() * float64(lapseMax)) // short ones more often
	l.p.guarded(func() bool {
		if l.pipe != nil && l.p.a.Env.Now()+span < l.p.until {
			l.lapsed = span
			l.lost(l.pipe, errLapsed)
		}
		return true
	})
	l.p.changed.Notify()
}

// errLapsed is why a lapse loses a connection.
var errLapsed = errors.New("the producer closed the connection")

// fresh reports whether nothing of the queue has a sequence number yet.
func (l *lane) fresh() bool {
	return l.p.guarded(func() bool {
		return !slices.ContainsFunc(l.queue, func(x *sending) bool { return x.numbered })
	})
}

// fail has the queue looked at again. It returns false.
func (l *lane) fail(moved bool) bool {
	return l.p.guarded(func() bool {
		l.failed, l.moved = true, l.moved || moved
		return false
	})
}

// answered takes the answer to one record.
func (l *lane) answered(x *sending, code int16, offset int64) {
	x.flying = false
	switch {
	case code == 0, code == kerr.DuplicateSequenceNumber.Code:
		x.op.Outcome, x.op.Error = history.OK, ""
		if d := addSequence(x.sequence, -l.acked); d < 1<<30 {
			l.acked = x.sequence
		}
		if code == 0 {
			x.op.Offset = max(history.Offset(offset), history.UnknownOffset)
		}
		l.end(x)
		return
	case code == kerr.OutOfOrderSequenceNumber.Code:
		l.outOfOrder(x)
	case code == kerr.InvalidProducerEpoch.Code, code == kerr.UnknownProducerID.Code:
		l.broken = true
		if l.p.self == l.self {
			l.p.self = nobody
		}
	case final(code):
		x.op.Error = codeName(code)
		l.broken = true
		l.giveUp(x, "")
	default:
		x.op.Error = codeName(code)
		x.uncertain = x.uncertain || sendOutcome(code) != history.Fail
		l.moved = true
	}
	l.failed = true
}

// outOfOrder decides about a record that was refused for its sequence number. If one before it is still under way, that one is missing, and the
// record is sent again behind it. If it is the next one after those that were acknowledged, that broker lacks what was acknowledged, and the record
// is sent again in a new epoch, as Kafka's producer does (TransactionManager.canRetry). Unlike there it ends if another broker may have
// appended it: who refuses it may be a leader that was deposed and has not heard of it. If one behind it was acknowledged, it may
// stand in the log, too far back to be recognized: it ends.
func (l *lane) outOfOrder(x *sending) {
	if l.queue[0] != x {
		return
	}
	l.broken = true
	if x.refused = x.sequence == addSequence(l.acked, 1) && !x.elsewhere; !x.refused {
		x.op.Error = codeName(kerr.OutOfOrderSequenceNumber.Code)
		l.giveUp(x, "")
	}
}

// addSequence is the sequence number n behind s, or before it: they wrap at 2^31.
func addSequence(s, n int32) int32 { return int32((int64(s) + int64(n)) & math.MaxInt32) }

// final reports whether a code says that a record will never be taken.
func final(code int16) bool {
	e := kerr.TypedErrorForCode(code)
	return sendOutcome(code) == history.Fail && e != nil && !e.Retriable
}

// lost says that no answer to what is in flight will come.
func (l *lane) lost(w *pipe, err error) {
	for _, x := range w.flight {
		x.flying, x.uncertain = false, true
		x.op.Error = err.Error()
	}
	w.flight, w.closed = nil, true
	if l.pipe == w {
		l.pipe = nil
		l.failed, l.moved = true, true
	}
}

// hangUp closes the lane's connection.
func (l *lane) hangUp() {
	l.p.guarded(func() bool {
		if l.pipe != nil {
			l.pipe.closed = true
			l.pipe = nil
		}
		return true
	})
	l.p.changed.Notify()
}
