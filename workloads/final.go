package workloads

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/history"
)

// positioned reads one partition on, whoever leads it, without pace.
type positioned struct {
	a         *Append
	client    *client
	router    *router
	fetch     *fetching
	process   int32
	final     bool
	partition history.Partition
	position  history.Offset
}

// poll is one operation; it moves the position on. An operation that failed is followed by a pause and by asking for the leader anew;
// one that found no leader in time was not recorded, and says so in Error alone. code is the answer's error code.
func (r *positioned) poll(until time.Duration) (op history.Op, code int16) {
	to, ok := r.router.find(r.partition.Index, until)
	if !ok {
		return history.Op{Outcome: history.Fail, Error: "no leader known", HW: history.UnknownOffset}, 0
	}
	op = history.Op{Process: r.process, Kind: history.Poll, Final: r.final, Broker: to.leader, Epoch: to.epoch,
		Partition: r.partition, Position: r.position}
	id := r.a.Record.Invoke(op)
	r.position, code = r.fetch.poll(r.client, &op)
	r.a.Record.Complete(id, op)
	if op.Outcome != history.OK {
		r.router.forget(r.partition.Index)
		r.a.Env.Sleep(min(backoff, until-r.a.Env.Now()))
	}
	return op, code
}

// Final reads every partition from its log start to its high watermark, as polls marked Final.
func (a *Append) Final(within time.Duration) error {
	deadline := a.Env.Now() + within
	c := newClient(a.Env, a.Cluster, "final", a.Timeout)
	defer c.close()
	r := &positioned{a: a, client: c, process: a.process(a.finisher()), final: true}
	r.router = newRouter(c, a.Topic, a.Parts, a.Env.Rand("final", 0))
	for part, rt := range a.settled {
		r.router.routes[part].epoch = rt.epoch // a broker that is behind still tells of a leader before, or is it: the end of its log is not the log's
	}
	r.fetch = newFetching(a.Topic, min(pollWait, a.Timeout/2), finalBytes)
	for part := range a.Parts {
		r.partition = a.partition(part)
		if err := r.toEnd(deadline); err != nil {
			return fmt.Errorf("final read of %s: %w", r.partition, err)
		}
	}
	return nil
}

// toEnd reads the partition from its log start to its high watermark. Retention knows no rest: where it has removed records meanwhile, the read
// goes on at the new log start. An empty log is read too: the answer tells where it begins, which a follower may not have heard yet.
func (r *positioned) toEnd(deadline time.Duration) error {
	start, end, err := r.bounds(deadline)
	if err != nil {
		return err
	}
	r.position = start
	for more := true; more; {
		op, code := r.poll(deadline)
		more = op.Outcome != history.OK || r.position < end
		if code == kerr.OffsetOutOfRange.Code && r.a.Trims {
			if start, _, err = r.bounds(deadline); err != nil {
				return err
			}
			r.position = max(r.position, start)
		}
		if more && r.a.Env.Now() >= deadline {
			return fmt.Errorf("it ended at offset %d of %d; the last error: %q", r.position, end, op.Error)
		}
	}
	return nil
}

// bounds asks the partition's leader for its log start and its high watermark.
func (r *positioned) bounds(until time.Duration) (start, end history.Offset, err error) {
	for {
		to, ok := r.router.find(r.partition.Index, until)
		if !ok {
			if err == nil {
				err = fmt.Errorf("nobody told its leader")
			}
			return 0, 0, err
		}
		if start, err = listOffset(r.client, r.partition, to, earliest); err == nil {
			if end, err = listOffset(r.client, r.partition, to, latest); err == nil {
				return start, end, nil
			}
		}
		r.router.forget(r.partition.Index)
		r.a.Env.Sleep(min(backoff, until-r.a.Env.Now()))
	}
}
