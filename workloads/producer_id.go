package workloads

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// renewAfterMax bounds the records that a producer sends before it behaves as one that was started anew, with another producer id: programs
// that live for one record are drawn as often as those that live for a dozen.
const renewAfterMax = 48

// adopt makes a lane that has nothing under way go on as what the producer is now, asking for a producer id where it has none. False if there is
// none yet.
func (p *idempotent) adopt(l *lane) bool {
	p.mu.Lock()
	for p.self.id < 0 {
		if p.over || p.asking {
			p.mu.Unlock()
			return false
		}
		p.asking = true
		brokers := p.a.Cluster.Brokers()
		via := brokers[p.rnd.IntN(len(brokers))] // drawn anew each time
		p.mu.Unlock()
		id, epoch, ok := p.ask(via)
		p.mu.Lock()
		p.asking = false
		if ok {
			p.begin(id, epoch)
		}
		p.mu.Unlock()
		p.changed.Notify()
		if !ok {
			return false
		}
		p.mu.Lock()
	}
	if l.self != p.self {
		l.self, l.next, l.acked = p.self, p.self.first, addSequence(p.self.first, -1)
	}
	p.mu.Unlock()
	return true
}

// begin takes a new producer id. Brokers let a producer that they do not know begin with any sequence number; one that begins near the
// largest, as after years, soon shows whether they wrap it. The id decides, so that two producers that are given the same one, which must
// never be, get in each other's way.
func (p *idempotent) begin(id int64, epoch int16) {
	p.self = identity{id: id, epoch: epoch}
	if id%4 == 3 {
		p.self.first = math.MaxInt32 - int32(id%6)
	}
	p.since, p.renewAt = 0, int(math.Exp(p.rnd.Float64()*math.Log(renewAfterMax)))
}

// ask asks a broker for a producer id.
func (p *idempotent) ask(via history.BrokerID) (id int64, epoch int16, ok bool) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = initProducerIDVersion
	req.ProducerID, req.ProducerEpoch = -1, -1
	resp := kmsg.NewPtrInitProducerIDResponse()
	err := p.ids.call(via, req, resp)
	return resp.ProducerID, resp.ProducerEpoch, err == nil && resp.ErrorCode == 0 && resp.ProducerID >= 0
}

// bump moves a lane that cannot go on in its epoch to the next one, as Kafka's producer does by itself (KIP-360), or, as others do, to a new
// producer id. If the producer has moved on meanwhile, the lane follows.
func (p *idempotent) bump(l *lane) {
	if p.self != l.self || p.self.id < 0 {
		return
	}
	if p.self.epoch == math.MaxInt16 || p.rnd.IntN(2) == 0 {
		p.self = nobody
		return
	}
	p.self.epoch++
	p.self.first = 0
}
