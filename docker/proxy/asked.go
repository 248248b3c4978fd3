package proxy

import (
	"sync"

	"tidemark/world"
)

// askedMax bounds the requests that are remembered of one connection. The oldest go first: those of a producer with acks=0 are never answered.
const askedMax = 4096

// asked is the requests of one connection whose answers have not begun, oldest first. Kafka answers in order, but for what it does not answer at
// all: those are passed over when a later one is.
type asked struct {
	mu    sync.Mutex
	queue []request
	lost  bool // the connection cannot be read
}

type request struct {
	key, version int16
	correlation  int32
}

// unanswered is the key of requests that have no answers.
var unanswered, _ = world.RaftAPI.Key()

func (a *asked) ask(key, version int16, correlation int32) {
	if key == unanswered {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == askedMax {
		a.queue = append(a.queue[:0], a.queue[1:]...)
	}
	a.queue = append(a.queue, request{key, version, correlation})
}

// answered finds the request that an answer is to; false if there is none.
func (a *asked) answered(correlation int32) (key, version int16, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, r := range a.queue {
		if r.correlation == correlation {
			a.queue = append(a.queue[:0], a.queue[i+1:]...)
			return r.key, r.version, true
		}
	}
	return 0, 0, false
}

func (a *asked) none() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue) == 0
}

func (a *asked) lose() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost, a.queue = true, nil
}

func (a *asked) blind() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}
