package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// Bounds on what Churn does.
const (
	openMax     = 512              // its connections that are open at a time
	answerBound = 20 * time.Second // the broker answers, or closes, a connection that was half closed
	lifeMax     = 200 * time.Millisecond
)

// The ways in which a connection of Churn ends.
const (
	HalfClosed = "half closed"           // FIN by the client, which then reads until the broker closes too
	Reset      = "reset"                 // RST by the client (SO_LINGER of 0)
	Closed     = "closed"                // both directions at once, whatever was not read
	SlowReset  = "read slowly and reset" // asked much, read bytes of it one at a time
)

var ends = []string{HalfClosed, Reset, Closed, SlowReset}

// Tally counts the connections of Churn by how they ended, and how many of them ended inside a frame.
type Tally struct {
	Ends     map[string]int
	Inside   int // after a part of a frame
	Silent   int // before a byte of one
	Answered int // half closed, and answered
}

// String is a line of all counts.
func (t *Tally) String() string {
	s := ""
	for _, end := range ends {
		s += fmt.Sprintf("%d %s, ", t.Ends[end], end)
	}
	return s + fmt.Sprintf("%d inside a frame, %d before the first byte, %d half closed and answered", t.Inside, t.Silent, t.Answered)
}

// life is one connection of Churn, drawn before it begins.
type life struct {
	begin time.Duration
	sent  []byte
	whole bool // sent begins with a whole request
	stay  time.Duration
	end   string
}

// drawLife draws from a stream of the connection's own. The topic need not exist.
func drawLife(rnd *rand.Rand, over time.Duration) life {
	l := life{begin: time.Duration(rnd.Int64N(int64(over) + 1)), end: ends[rnd.IntN(len(ends))]}
	if rnd.IntN(2) == 0 {
		l.stay = time.Duration(rnd.Int64N(int64(lifeMax)))
	}
	if rnd.IntN(8) == 0 { // it ends as soon as it stands, or says nothing for a while
		return l
	}
	var request []byte
	switch rnd.IntN(4) {
	case 0:
		request = FetchHeld(50)
	case 1:
		request = ProduceNoise("no such topic", 1+rnd.IntN(200_000))
	default:
		request = ApiVersions()
	}
	l.sent = request[:rnd.IntN(len(request)+1)]
	if l.whole = rnd.IntN(2) == 0; l.whole {
		l.sent = append(slices.Clone(request), l.sent...)
	}
	if l.end == SlowReset { // many whole answers, of which it takes a few bytes
		l.sent, l.whole = slices.Repeat(ApiVersions(), 100), true
	}
	return l
}

// Churn opens connections at random moments of a time, each of which asks something, or a part of it, and ends at a random moment in a
// way that brokers do not like. A seed draws the same lives again. An error says that the broker left one unanswered that it owed an
// answer, or could not be reached.
func Churn(ctx context.Context, address string, seed uint64, count int, over time.Duration) (Tally, error) {
	lives := make([]life, count)
	for i := range lives {
		lives[i] = drawLife(rand.New(rand.NewPCG(seed, uint64(i))), over)
	}
	slices.SortFunc(lives, func(a, b life) int { return int(a.begin - b.begin) })
	started := time.Now()
	tally := Tally{Ends: map[string]int{}}
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	room := make(chan struct{}, openMax)
	for i := range lives {
		l := &lives[i]
		if !sleep(ctx, l.begin-time.Since(started)) {
			break
		}
		room <- struct{}{}
		all.Go(func() {
			answered, err := l.live(ctx, address)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && len(errs) < 10 {
				errs = append(errs, err)
			}
			tally.count(l, answered)
			<-room
		})
	}
	all.Wait()
	return tally, errors.Join(append(errs, ctx.Err())...)
}

func (t *Tally) count(l *life, answered bool) {
	t.Ends[l.end]++
	switch {
	case len(l.sent) == 0:
		t.Silent++
	case !l.whole:
		t.Inside++
	}
	if answered {
		t.Answered++
	}
}

// live runs a connection to its end. A broker may close first on any but a half-closed one.
func (l *life) live(ctx context.Context, address string) (answered bool, err error) {
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false, err
	}
	conn := nc.(*net.TCPConn)
	defer conn.Close() //nolint:errcheck // its end is what is being tried
	_ = conn.SetDeadline(time.Now().Add(answerBound))
	if _, err := conn.Write(l.sent); err != nil {
		return false, nil // the broker has closed: it may
	}
	if l.end == SlowReset {
		for range 5 {
			var one [1]byte
			_, _ = conn.Read(one[:])
			sleep(ctx, l.stay/5)
		}
	} else {
		sleep(ctx, l.stay)
	}
	switch l.end {
	case HalfClosed:
		return l.drain(conn)
	case Reset, SlowReset:
		_ = conn.SetLinger(0)
	}
	return false, nil
}

// drain closes the client's side and reads to the end: what was asked in full is still answered.
func (l *life) drain(conn *net.TCPConn) (answered bool, err error) {
	if err := conn.CloseWrite(); err != nil {
		return false, nil
	}
	answer, err := io.ReadAll(conn)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return false, fmt.Errorf("a half-closed connection was neither answered nor closed within %v", answerBound)
	case l.whole && err == nil && len(answer) == 0:
		return false, errors.New("a whole request on a half-closed connection was not answered")
	}
	return len(answer) > 0, nil
}
