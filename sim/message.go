package sim

import (
	"fmt"
	"slices"

	"tidemark/broker/kafka"
	"tidemark/history"
	"tidemark/world"
	"tidemark/world/frames"
)

// catch is a fault that single messages meet when they would arrive.
type catch struct {
	world.MessageFault
	number int
	key    int16 // of the API
	any    bool  // every API
	match  frames.Matcher[world.Link]
	seen   int   // such messages so far
	done   int64 // of them, those that it did something to
	held   []*pipe
}

// keyNone is the API key of what is no Kafka frame.
const keyNone int16 = -1

// Catch lets messages meet a fault from now on.
func (w *World) Catch(f world.MessageFault) (int, error) {
	if err := f.Check(); err != nil {
		return 0, err
	}
	for _, l := range f.Links {
		for _, end := range [2]history.BrokerID{l.From, l.To} {
			if _, err := w.host(end); end != history.NoBroker && err != nil {
				return 0, fmt.Errorf("%s %s messages: %w", f.Kind, f.API, err)
			}
		}
	}
	key, _ := f.API.Key()
	w.catchNumber++
	c := &catch{MessageFault: f, number: w.catchNumber, key: key, any: f.API == world.AnyAPI, match: frames.Matcher[world.Link]{Match: f.Match}}
	w.catches = append(w.catches, c)
	w.fault(history.NoBroker, fmt.Sprintf("from now on %v", c))
	return c.number, nil
}

// Caught tells what a fault has done to messages so far.
func (w *World) Caught(number int) (world.Caught, error) {
	i, err := w.catch(number)
	if err != nil {
		return world.Caught{}, err
	}
	return world.Caught{Messages: w.catches[i].done, UnderWay: len(w.catches[i].held)}, nil
}

// EndCatch ends a fault; what it has under way goes on, in the order in which it was caught.
func (w *World) EndCatch(number int) error {
	i, err := w.catch(number)
	if err != nil {
		return err
	}
	c := w.catches[i]
	w.catches = slices.Delete(w.catches, i, i+1)
	w.fault(history.NoBroker, fmt.Sprintf("no more %v", c))
	for len(c.held) > 0 {
		p := c.held[0]
		p.letGo()
		w.queue.schedule(&p.arrival, w.now)
	}
	return nil
}

func (w *World) catch(number int) (int, error) {
	i := slices.IndexFunc(w.catches, func(c *catch) bool { return c.number == number })
	if i < 0 {
		return 0, fmt.Errorf("fault %d on messages is not in force", number)
	}
	return i, nil
}

// String is the fault in the words of a trace.
func (c *catch) String() string {
	what := "requests"
	if c.Responses {
		what = "responses"
	}
	return fmt.Sprintf("%s %s %s %v", c.Kind, c.API, what, c.Links)
}

// meets reports whether a message is of those that the fault waits for.
func (c *catch) meets(p *pipe, s *segment) bool {
	at := world.Link{From: endOf(p.from), To: endOf(p.to)}
	if c.Responses == p.forward || !c.any && c.key != s.key || !slices.Contains(c.Links, at) {
		return false
	}
	return c.match.Any() || c.match.Meets(at, p.told(s))
}

// told is what a message tells of partitions; nothing, if it cannot be read.
func (p *pipe) told(s *segment) []frames.Told {
	names := p.c.w.topicNames()
	var told []frames.Told
	var err error
	if p.forward {
		told, err = frames.Request(s.frame, names)
	} else {
		told, err = frames.Response(s.frame, s.key, s.version, names)
	}
	if err != nil {
		return nil
	}
	return told
}

// topicNames is the topics' names by their ids, as all that is known of the metadata has them.
func (w *World) topicNames() frames.Names {
	names := frames.Names{}
	if img := w.metadata(); img != nil {
		for _, name := range img.TopicNames() {
			id := img.Topics[name].ID
			names[id] = w.name(kafka.TopicPartition{Topic: name}, id).Topic
		}
	}
	return names
}

// endOf is the end of a link on a machine; clients have none.
func endOf(h *host) history.BrokerID {
	if h == nil {
		return history.NoBroker
	}
	return h.id
}

// caught lets the first segment of a pipe meet the faults that it has not met, in the order in which they began, and reports whether
// one of them keeps it from arriving now.
func (p *pipe) caught() bool {
	s, w := p.queue.first(), p.c.w
	if s.kind != segData || p.c.client != nil && p.c.client.own {
		return false
	}
	for _, c := range w.catches {
		if c.number <= p.judged || !c.meets(p, s) {
			continue
		}
		p.judged = c.number
		if c.seen++; c.Nth > 0 && c.seen != c.Nth {
			continue
		}
		c.done++
		if w.note(noteCaught, endOf(p.to), p.c.id, uint64(c.number), s.frame) {
			w.tell(endOf(p.to), fmt.Sprintf("%s: number %d of %v", p.c.label, c.seen, c))
		}
		if c.Met != nil {
			c.Met()
		}
		switch c.Kind {
		case world.CanDrop:
			p.c.lose()
			return true
		case world.CanLate:
			back := p.back()
			back.drop()
			back.send(segReset, nil)
		}
		p.keep(c)
		return true
	}
	return false
}

// keep leaves the first segment under way, for the fault's delay or until it ends.
func (p *pipe) keep(c *catch) {
	p.by = c
	c.held = append(c.held, p)
	if stay := c.Stay(len(p.queue.first().frame)); stay > 0 {
		p.c.w.queue.schedule(&p.arrival, p.c.w.now+stay)
	} else {
		p.held = true
	}
}

// letGo ends what a fault does to the first segment.
func (p *pipe) letGo() {
	c := p.by
	if c == nil {
		return
	}
	p.by = nil
	p.held = false
	c.held = slices.DeleteFunc(c.held, func(o *pipe) bool { return o == p })
}

// back is the other direction of a pipe's connection.
func (p *pipe) back() *pipe {
	if p.forward {
		return &p.c.in
	}
	return &p.c.out
}
