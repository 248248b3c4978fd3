package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/broker"
	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/history"
)

// fake is a node that writes down what happens to it and answers as its hooks say.
type fake struct {
	id       kafka.BrokerID
	fs       disk.FS
	rnd      *rand.Rand
	out      broker.Output
	deadline time.Duration
	log      []string
	listen   func(format string, args ...any) // instead of log

	onRequest  func(f *fake, now time.Duration, conn broker.ConnID, frame []byte)
	onResponse func(f *fake, link broker.Link, frame []byte)
	onTick     func(f *fake, now time.Duration)
	onFlushed  func(f *fake, id disk.FlushID, err error)
	onShutdown func(f *fake)
}

func (f *fake) say(format string, args ...any) {
	if f.listen != nil {
		f.listen(format, args...)
		return
	}
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

func (f *fake) Request(now time.Duration, conn broker.ConnID, frame []byte) {
	if f.onRequest != nil {
		f.onRequest(f, now, conn, frame)
	}
}

func (f *fake) Disconnected(_ time.Duration, conn broker.ConnID) { f.say("disconnected %d", conn) }

func (f *fake) Response(_ time.Duration, link broker.Link, frame []byte) {
	if f.onResponse != nil {
		f.onResponse(f, link, frame)
		return
	}
	f.say("response from %d: %s", link.Peer, legible(frame))
}

func (f *fake) LinkFailed(_ time.Duration, link broker.Link) { f.say("link to %d failed", link.Peer) }

func (f *fake) Flushed(_ time.Duration, id disk.FlushID, err error) {
	if f.onFlushed != nil {
		f.onFlushed(f, id, err)
		return
	}
	if err == nil {
		f.say("flushed %d: ok", id)
		return
	}
	f.say("flushed %d: %v", id, err)
}

func (f *fake) Tick(now time.Duration) {
	f.deadline = forever
	if f.onTick != nil {
		f.onTick(f, now)
	}
}

func (f *fake) Deadline() time.Duration { return f.deadline }

func (f *fake) Ready() broker.Output {
	out := f.out
	f.out = broker.Output{}
	return out
}

func (f *fake) Shutdown(time.Duration) {
	if f.onShutdown != nil {
		f.onShutdown(f)
		return
	}
	f.out.Exit = true
}

func (f *fake) Close() {}

// reply answers a connection's request with the same frame.
func (f *fake) reply(conn broker.ConnID, frame []byte) {
	f.out.Replies = append(f.out.Replies, broker.Reply{Conn: conn, Frame: frame})
}

// send sends a frame to a peer.
func (f *fake) send(to kafka.BrokerID, purpose broker.Purpose, frame string) {
	f.out.Sends = append(f.out.Sends, broker.Outbound{Link: broker.Link{Peer: to, Purpose: purpose}, Frame: []byte(frame)})
}

func echo(f *fake, _ time.Duration, conn broker.ConnID, frame []byte) { f.reply(conn, frame) }

// cluster is a world of fakes; each incarnation's is set up by the test.
type cluster struct {
	*World
	t     testing.TB
	fakes map[kafka.BrokerID]*fake
}

// newCluster makes a world of n fakes with calm weather.
func newCluster(t testing.TB, opt Options, n int, setUp func(*fake)) *cluster {
	t.Helper()
	for id := range n {
		cfg := config.Default()
		cfg.NodeID = kafka.BrokerID(id + 1)
		opt.Configs = append(opt.Configs, cfg)
	}
	if opt.Until == 0 {
		opt.Until = time.Hour
	}
	c := &cluster{t: t, fakes: map[kafka.BrokerID]*fake{}}
	w, err := newWorld(opt, func(cfg config.Config, fs disk.FS, now time.Duration, rnd *rand.Rand) (node, error) {
		f := &fake{id: cfg.NodeID, fs: fs, rnd: rnd, deadline: forever}
		if setUp != nil {
			setUp(f)
		}
		c.fakes[cfg.NodeID] = f
		return f, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.weather = weather{}
	c.World = w
	return c
}

// run runs the story once every broker is up.
func (c *cluster) run(story func()) {
	c.t.Helper()
	err := c.Run(context.Background(), func() error {
		c.Sleep(processStartMax)
		story()
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Error(err)
		panic(err)
	}
}

// poke runs act as if it were an input of broker b.
func (c *cluster) poke(b history.BrokerID, act func(*fake)) {
	h, err := c.host(b)
	c.must(err)
	act(c.fakes[kafka.BrokerID(b)])
	h.settle()
}
