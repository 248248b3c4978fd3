package workloads

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// renewAfter is about how many records a producer sends before it behaves as one that was started anew, with a producer id of its own.
const renewAfter = 60

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
		l.self, l.next = p.self, p.self.first
	}
	p.mu.Unlock()
	return true
}

// begin takes a new producer id. Brokers let a producer that they do not know begin with any sequence number; one that begins near the
// largest, as after years, soon shows whether they wrap it.
func (p *idempotent) begin(id int64, epoch int16) {
	p.self = identity{id: id, epoch: epoch}
	if p.rnd.IntN(4) == 0 {
		p.self.first = math.MaxInt32 - p.rnd.Int32N(20)
	}
	p.since, p.renewAt = 0, renewAfter/2+p.rnd.IntN(renewAfter)
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
