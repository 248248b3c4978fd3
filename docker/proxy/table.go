package proxy

import (
	"fmt"
	"slices"
	"time"

	"tidemark/world"
	"tidemark/world/frames"
)

// Fault is a fault on messages that a proxy is to do: a world.MessageFault.
type Fault struct {
	Number    int           `json:"number"` // from 1; messages meet faults in the order of their numbers
	Kind      world.Ability `json:"kind"`
	API       world.API     `json:"api"`
	Responses bool          `json:"responses,omitempty"`
	Links     []world.Link  `json:"links"`
	Nth       int           `json:"nth,omitempty"`
	Match     frames.Match  `json:"match,omitzero"`
	Topic     [16]byte      `json:"topic,omitzero"` // the id of the partition's topic (KIP-516); zero where brokers know none
	Delay     time.Duration `json:"delay,omitempty"`
	Rate      int64         `json:"rate,omitempty"` // bytes a second
	// Asks says that other proxies count the same messages: whether one of them is the one that the fault waits for is asked each time.
	Asks bool `json:"asks,omitempty"`
}

// Of is a world's fault in a proxy's words.
func Of(f world.MessageFault) Fault {
	return Fault{Kind: f.Kind, API: f.API, Responses: f.Responses, Links: f.Links, Nth: f.Nth, Match: f.Match, Delay: f.Delay, Rate: f.Rate}
}

// Check refuses what is no fault on messages.
func (f Fault) Check() error {
	return world.MessageFault{Kind: f.Kind, API: f.API, Responses: f.Responses, Links: f.Links, Nth: f.Nth, Match: f.Match, Delay: f.Delay, Rate: f.Rate}.Check()
}

// Message is what is known of a frame that is about to pass.
type Message struct {
	Link     world.Link
	Response bool
	API      world.API     // "" if no plan names it
	Told     []frames.Told // what it tells of partitions, where a fault concerns one
}

// catchesMax bounds the faults in force.
const catchesMax = 1024

// table is the faults in force, in the order of their numbers, and what waits for their sake. It decides; it does nothing to anybody.
type table struct {
	catches []*catch
	claims  int // so many were made
}

// catch is a fault in force.
type catch struct {
	Fault
	matcher frames.Matcher[world.Link]
	over    bool // the one message that all waited for has come
	seen    int  // such messages so far, where they are counted here
	done    int64
	held    []*stay       // in the order in which they came
	asking  []*stay       // whether they are the ones
	changed chan struct{} // closed at the next change of what others see
}

// stay is a message that does not pass now.
type stay struct {
	of    *catch
	claim int // its number while it asks; 0: it does not
	acts  bool
	// decided is closed once it is known whether the fault acts on it, over when the fault has ended.
	decided, over chan struct{}
}

// kind is what happens to the message.
func (s *stay) kind() world.Ability { return s.of.Kind }

// lasts is how long a message of so many bytes stays; 0: until the fault ends.
func (s *stay) lasts(size int) time.Duration { return world.Stay(size, s.of.Delay, s.of.Rate) }

// add puts a fault in force.
func (t *table) add(f Fault) error {
	if err := f.Check(); err != nil {
		return err
	}
	switch {
	case f.Number <= 0 || len(t.catches) > 0 && f.Number <= t.catches[len(t.catches)-1].Number:
		return fmt.Errorf("fault %d on messages, expected a number above all before it", f.Number)
	case len(t.catches) == catchesMax:
		return fmt.Errorf("%d faults on messages are in force, expected fewer", catchesMax)
	}
	t.catches = append(t.catches, &catch{Fault: f, matcher: frames.Matcher[world.Link]{Match: f.Match}, changed: make(chan struct{})})
	return nil
}

func (t *table) find(number int) (int, error) {
	i := slices.IndexFunc(t.catches, func(c *catch) bool { return c.Number == number })
	if i < 0 {
		return 0, fmt.Errorf("fault %d on messages is not in force", number)
	}
	return i, nil
}

// names reports whether a message is of those that the fault names, whatever it tells of partitions.
func (c *catch) names(m Message) bool {
	return !c.over && c.Responses == m.Response && (c.API == world.AnyAPI || c.API == m.API) && slices.Contains(c.Links, m.Link)
}

// meets reports whether a message, which is seen once, meets the fault.
func (c *catch) meets(m Message) bool { return c.names(m) && c.matcher.Meets(m.Link, m.Told) }

// wants returns the names of topics by which a message is to be read, as a fault that names it concerns a partition; false if none does.
func (t *table) wants(m Message) (names frames.Names, ok bool) {
	for _, c := range t.catches {
		if c.matcher.Any() || !c.names(m) {
			continue
		}
		if names == nil {
			names = frames.Names{}
		}
		names[c.Topic] = c.Match.Partition.Topic
	}
	return names, names != nil
}

// meet lets a message meet the faults beyond a number, in their order. It returns what keeps the message from passing now, nil if nothing does.
func (t *table) meet(m Message, beyond int) *stay {
	for _, c := range t.catches {
		if c.Number <= beyond || !c.meets(m) {
			continue
		}
		s := &stay{of: c, decided: make(chan struct{}), over: make(chan struct{})}
		if c.Asks {
			t.claims++
			s.claim = t.claims
			c.asking = append(c.asking, s)
			c.tell()
			return s
		}
		if c.seen++; c.Nth > 0 && c.seen != c.Nth {
			continue
		}
		c.act(s)
		return s
	}
	return nil
}

// act does the fault to a message.
func (c *catch) act(s *stay) {
	s.acts, s.claim = true, 0
	c.done++
	if c.Kind != world.CanDrop {
		c.held = append(c.held, s)
	}
	close(s.decided)
	c.tell()
}

// answer says whether a message that asked is the one; false frees it.
func (t *table) answer(number, claim int, acts bool) {
	i, err := t.find(number)
	if err != nil {
		return // the fault has ended, which freed it
	}
	c := t.catches[i]
	at := slices.IndexFunc(c.asking, func(s *stay) bool { return s.claim == claim })
	if at < 0 {
		return // its connection is gone
	}
	s := c.asking[at]
	c.asking = slices.Delete(c.asking, at, at+1)
	if acts {
		c.act(s)
		return
	}
	close(s.decided)
}

// close lets no more messages meet a fault; those that it has under way stay so.
func (t *table) close(number int) error {
	i, err := t.find(number)
	if err != nil {
		return err
	}
	c := t.catches[i]
	c.over = true
	c.dismiss()
	return nil
}

// dismiss frees what asks.
func (c *catch) dismiss() {
	for _, s := range c.asking {
		close(s.decided)
	}
	c.asking = nil
}

// leave says that a message waits no more: its time has come, or its connection is gone.
func (t *table) leave(s *stay) {
	same := func(o *stay) bool { return o == s }
	s.of.held, s.of.asking = slices.DeleteFunc(s.of.held, same), slices.DeleteFunc(s.of.asking, same)
	s.of.tell()
}

// end ends a fault and frees what it had under way, in the order in which it came.
func (t *table) end(number int) (world.Caught, error) {
	i, err := t.find(number)
	if err != nil {
		return world.Caught{}, err
	}
	c := t.catches[i]
	t.catches = slices.Delete(t.catches, i, i+1)
	last := c.caught()
	c.dismiss()
	for _, s := range c.held {
		close(s.over)
	}
	c.held = nil
	c.tell()
	return last, nil
}

func (c *catch) caught() world.Caught { return world.Caught{Messages: c.done, UnderWay: len(c.held)} }

// asks lists the messages that ask.
func (c *catch) asks() []int {
	var claims []int
	for _, s := range c.asking {
		claims = append(claims, s.claim)
	}
	return claims
}

// tell wakes those who look at the fault.
func (c *catch) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}
