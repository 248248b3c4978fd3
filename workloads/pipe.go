package workloads

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world"
)

// pipe is a lane's connection, with what is in flight on it, oldest first. Answers come in that order, as Kafka promises.
type pipe struct {
	conn        world.Conn
	broker      history.BrokerID
	correlation int32
	flight      []*sending      // guarded by the producer's lock
	sentAt      []time.Duration // of each
	closed      bool
}

// connect opens a connection to a broker, and starts reading from it.
func (l *lane) connect(to history.BrokerID) bool {
	conn, err := l.p.a.Cluster.Dial(l.client.name, to, l.p.a.Timeout)
	if err != nil {
		return false
	}
	w := &pipe{conn: conn, broker: to}
	l.p.guarded(func() bool { l.pipe = w; return true })
	l.p.run(l.client.name+" answers", func() { l.receive(w) })
	return true
}

// send sends the first record that is not in flight.
func (l *lane) send() bool {
	l.p.mu.Lock()
	w, x := l.pipe, l.unsent()
	if w == nil || x == nil || l.failed || l.p.over {
		l.p.mu.Unlock()
		return true
	}
	if !x.numbered {
		x.sequence, x.numbered = l.next, true
		l.next = addSequence(l.next, 1)
	}
	w.correlation++
	frame := l.frame(w, x)
	x.elsewhere = x.elsewhere || x.uncertain && x.op.Broker != w.broker
	x.flying, x.op.Broker = true, w.broker
	w.flight, w.sentAt = append(w.flight, x), append(w.sentAt, l.p.a.Env.Now())
	l.p.mu.Unlock()
	err := w.conn.Send(frame)
	if err != nil {
		l.p.guarded(func() bool {
			certain := errors.Is(err, world.ErrRefused) && !x.uncertain && x.flying
			l.lost(w, err)
			x.uncertain = x.uncertain && !certain // a request that never left has no effect
			return true
		})
	}
	l.p.changed.Notify()
	return err == nil
}

// frame is the request for one record.
func (l *lane) frame(w *pipe, x *sending) []byte {
	req := newProducing(l.partition.Topic, l.p.a.Timeout)
	req.req.Version, req.req.Acks = l.version(), l.p.a.Acks
	part := &req.req.Topics[0].Partitions[0]
	part.Partition, part.Records = l.partition.Index, appendBatch(nil, x.op.Value)
	sequenceBatch(part.Records, l.self.id, l.self.epoch, x.sequence)
	return appendRequest(make([]byte, 0, 256), &req.req, w.correlation, l.client.name)
}

// version is the newest version of Produce that brokers and client speak.
func (l *lane) version() int16 { return l.client.newest(kmsg.Produce.Int16(), produceVersion) }

// receive takes the answers that come on a connection, until it breaks, or is closed and nothing is in flight on it.
func (l *lane) receive(w *pipe) {
	defer w.conn.Close()
	resp := kmsg.NewPtrProduceResponse()
	for correlation := int32(1); ; correlation++ {
		var left time.Duration
		l.p.changed.Until(func() bool { return l.p.guarded(func() bool { return w.closed || len(w.flight) > 0 }) }, -1)
		if l.p.guarded(func() bool {
			if w.closed {
				return true
			}
			left = w.sentAt[0] + l.p.a.Timeout - l.p.a.Env.Now()
			return false
		}) {
			return
		}
		code, offset, err := l.answer(w, correlation, left, resp)
		l.p.guarded(func() bool {
			switch {
			case w.closed || l.p.over: // the connection broke while something was sent, or the producer has left
			case err != nil:
				l.lost(w, err)
			default:
				x := w.flight[0]
				w.flight, w.sentAt = w.flight[1:], w.sentAt[1:]
				l.answered(x, code, offset)
			}
			return true
		})
		l.p.changed.Notify()
		if err != nil {
			return
		}
	}
}

// answer reads one answer.
func (l *lane) answer(w *pipe, correlation int32, within time.Duration, resp *kmsg.ProduceResponse) (code int16, offset int64, err error) {
	if within <= 0 {
		return 0, 0, world.ErrTimeout
	}
	frame, err := w.conn.Receive(within)
	if err != nil {
		return 0, 0, err
	}
	resp.SetVersion(l.version())
	if err := readResponse(frame, correlation, resp); err != nil {
		return 0, 0, err
	}
	if len(resp.Topics) != 1 || resp.Topics[0].Topic != l.partition.Topic || len(resp.Topics[0].Partitions) != 1 ||
		resp.Topics[0].Partitions[0].Partition != l.partition.Index {
		return 0, 0, fmt.Errorf("%w: Produce for other partitions than %s", errMalformed, l.partition)
	}
	answer := &resp.Topics[0].Partitions[0]
	return answer.ErrorCode, answer.BaseOffset, nil
}
