package proxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// bound is how long a test waits for what must come.
const bound = 10 * time.Second

// stage is a proxy between a client and broker 1, a server of the test's own.
type stage struct {
	t       testing.TB
	proxy   *Proxy
	address string
	arrived chan *served // the server's ends of connections
}

// served is the server's end of a connection.
type served struct {
	net.Conn
	in *bufio.Reader
}

// newStage begins one; serve, if set, serves every connection.
func newStage(t testing.TB, serve func(net.Conn)) *stage {
	t.Helper()
	server, front := listen(t), listen(t)
	to := netip.MustParseAddrPort(server.Addr().String())
	s := &stage{t: t, address: front.Addr().String(), arrived: make(chan *served, 16)}
	s.proxy = New(Options{Route: func(net.Conn) (Route, error) {
		return Route{To: to, Link: world.Link{From: history.NoBroker, To: 1}, Patience: time.Minute}, nil
	}})
	go func() { _ = s.proxy.Serve(front) }()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			if serve != nil {
				go serve(c)
			} else {
				s.arrived <- &served{c, bufio.NewReader(c)}
			}
		}
	}()
	return s
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// dial opens a connection and returns both of its ends.
func (s *stage) dial() (client, server *served) {
	s.t.Helper()
	c, err := net.Dial("tcp4", s.address)
	s.do(err)
	s.t.Cleanup(func() { _ = c.Close() })
	select {
	case server = <-s.arrived:
	case <-time.After(bound):
		s.t.Fatal("nothing arrived at the server")
	}
	s.t.Cleanup(func() { _ = server.Close() })
	for _, end := range []net.Conn{c, server} {
		s.do(end.SetDeadline(time.Now().Add(bound)))
	}
	return &served{c, bufio.NewReader(c)}, server
}

func (s *stage) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// fault puts one on messages between clients and the broker in force.
func (s *stage) fault(f Fault) {
	s.t.Helper()
	l := world.Link{From: history.NoBroker, To: 1}
	if f.Responses {
		l = world.Link{From: 1, To: history.NoBroker}
	}
	f.Links = []world.Link{l}
	s.do(s.proxy.Catch(f))
}

func (s *stage) end(number int) world.Caught {
	s.t.Helper()
	last, err := s.proxy.End(number)
	s.do(err)
	return last
}

// met waits until so many messages have met a fault.
func (s *stage) met(number int, want int64) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), bound)
	defer cancel()
	var known world.Caught
	for known.Messages != want {
		seen, err := s.proxy.Watch(ctx, number, known, nil)
		s.do(err)
		if seen.Caught == known {
			s.t.Fatalf("%d messages met fault %d, expected %d", known.Messages, number, want)
		}
		known = seen.Caught
	}
}

// asking is a frame that asks.
func asking(key int16, correlation int32, body string) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint32(append(b, 0, 4), uint32(correlation))
	return framed(append(b, body...))
}

// answering is a frame that answers.
func answering(correlation int32, body string) []byte {
	return framed(append(binary.BigEndian.AppendUint32(nil, uint32(correlation)), body...))
}

func (c *served) send(t testing.TB, frame []byte) {
	t.Helper()
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
}

// want reads just such a frame.
func (c *served) want(t testing.TB, frame []byte) {
	t.Helper()
	got := make([]byte, len(frame))
	if _, err := io.ReadFull(c.in, got); err != nil || string(got) != string(frame) {
		t.Fatalf("%.40q came, expected %.40q (%v)", got, frame, err)
	}
}

// silent is true if nothing comes for a while that is long against a message's way.
func (c *served) silent(t testing.TB) bool {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	_, err := c.in.Peek(1)
	_ = c.SetReadDeadline(time.Now().Add(bound))
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// brokenOff reports how a connection ends: true for a reset.
func (c *served) brokenOff(t testing.TB) bool {
	t.Helper()
	n, err := io.Copy(io.Discard, c.in)
	if n > 0 {
		t.Errorf("%d bytes came before the end", n)
	}
	return errors.Is(err, syscall.ECONNRESET)
}

// TestAHeldMessageHoldsItsDirection holds an answer: the one before it has come, those behind it wait, requests pass, and all come when it ends.
func TestAHeldMessageHoldsItsDirection(t *testing.T) {
	s := newStage(t, nil)
	c, b := s.dial()
	s.fault(Fault{Number: 1, Kind: world.CanHold, API: "fetch", Responses: true})
	for i, key := range []int16{3, 1, 3} {
		c.send(t, asking(key, int32(i), "asks"))
		b.want(t, asking(key, int32(i), "asks"))
	}
	b.send(t, append(append(answering(0, "metadata"), answering(1, strings.Repeat("records ", 100_000))...), answering(2, "more")...))
	c.want(t, answering(0, "metadata"))
	s.met(1, 1)
	c.send(t, asking(0, 9, strings.Repeat("batch ", 100_000)))
	b.want(t, asking(0, 9, strings.Repeat("batch ", 100_000)))
	if !c.silent(t) {
		t.Error("an answer came that is held")
	}
	if last := s.end(1); last != (world.Caught{Messages: 1, UnderWay: 1}) {
		t.Errorf("%+v", last)
	}
	c.want(t, answering(1, strings.Repeat("records ", 100_000)))
	c.want(t, answering(2, "more"))
}

// TestADroppedMessageBreaksItsConnection: neither it nor what stands behind it arrives, and both ends see a reset.
func TestADroppedMessageBreaksItsConnection(t *testing.T) {
	s := newStage(t, nil)
	c, b := s.dial()
	s.fault(Fault{Number: 1, Kind: world.CanDrop, API: "produce", Nth: 2})
	c.send(t, append(append(asking(0, 1, "first"), asking(0, 2, "second")...), asking(0, 3, "third")...))
	b.want(t, asking(0, 1, "first"))
	if !b.brokenOff(t) || !c.brokenOff(t) {
		t.Error("a connection did not end by a reset")
	}
	c, b = s.dial()
	c.send(t, asking(0, 3, "again"))
	b.want(t, asking(0, 3, "again"))
	if last := s.end(1); last != (world.Caught{Messages: 1}) {
		t.Errorf("%+v", last)
	}
}

// TestALateMessageArrivesWhenItsConnectionIsGone: its sender sees a reset and goes on over another connection; then it arrives.
func TestALateMessageArrivesWhenItsConnectionIsGone(t *testing.T) {
	s := newStage(t, nil)
	c, b := s.dial()
	s.fault(Fault{Number: 1, Kind: world.CanLate, API: "produce", Nth: 1, Delay: 300 * time.Millisecond})
	late := asking(0, 1, strings.Repeat("late ", 50_000))
	c.send(t, late)
	if !c.brokenOff(t) {
		t.Error("the sender's connection did not end by a reset")
	}
	again, there := s.dial()
	again.send(t, asking(0, 2, "again"))
	there.want(t, asking(0, 2, "again"))
	if !b.silent(t) {
		t.Error("a message came that is late")
	}
	b.want(t, late)
	b.send(t, answering(1, "to nobody"))
	if b.brokenOff(t) {
		t.Error("the late message's connection ended by a reset")
	}
	if last := s.end(1); last != (world.Caught{Messages: 1}) {
		t.Errorf("%+v", last)
	}
}

// TestADelayedMessageArrivesByItself: each of them stays under way for a time, or for as long as its bytes take, and arrives while the fault is in force.
func TestADelayedMessageArrivesByItself(t *testing.T) {
	long := asking(0, 1, strings.Repeat("slow ", 2000))
	for _, f := range []Fault{
		{Number: 1, Kind: world.CanDelay, API: "produce", Delay: time.Second},
		{Number: 1, Kind: world.CanThrottle, API: "produce", Rate: int64(len(long))},
	} {
		s := newStage(t, nil)
		c, b := s.dial()
		s.fault(f)
		for range 2 {
			c.send(t, long)
			if !b.silent(t) {
				t.Errorf("%s: a message came at once", f.Kind)
			}
			b.want(t, long)
		}
		c.send(t, asking(1, 2, "fetch"))
		b.want(t, asking(1, 2, "fetch"))
		if last := s.end(1); last != (world.Caught{Messages: 2}) {
			t.Errorf("%s: %+v", f.Kind, last)
		}
	}
}

// TestALateAnswerArrives: its sender sees a reset, and who asked gets it in the end.
func TestALateAnswerArrives(t *testing.T) {
	s := newStage(t, nil)
	c, b := s.dial()
	s.fault(Fault{Number: 1, Kind: world.CanLate, API: "fetch", Responses: true, Delay: time.Hour})
	c.send(t, asking(1, 1, "asks"))
	b.want(t, asking(1, 1, "asks"))
	b.send(t, answering(1, "records"))
	if !b.brokenOff(t) || !c.silent(t) {
		t.Error("the broker's connection did not end by a reset, or its answer came at once")
	}
	s.end(1)
	c.want(t, answering(1, "records"))
	if c.brokenOff(t) {
		t.Error("the connection on which it came ended by a reset")
	}
}

// TestWhatWasSentOutlivesItsSender: a request that is held arrives though who sent it is gone; one that is dropped meanwhile does not.
func TestWhatWasSentOutlivesItsSender(t *testing.T) {
	for _, how := range []string{"closes", "resets"} {
		s := newStage(t, nil)
		c, b := s.dial()
		s.fault(Fault{Number: 1, Kind: world.CanHold, API: world.AnyAPI})
		c.send(t, asking(0, 1, strings.Repeat("batch ", 1000)))
		s.met(1, 1)
		if how == "resets" {
			reset(c.Conn)
		} else {
			s.do(c.Close())
		}
		if !b.silent(t) {
			t.Errorf("%s: something came that is held", how)
		}
		s.end(1)
		b.want(t, asking(0, 1, strings.Repeat("batch ", 1000)))
		b.brokenOff(t)
	}
}

// TestAnAnswerIsLostWithItsConnection: while an answer is held, a request on the same connection is dropped.
func TestAnAnswerIsLostWithItsConnection(t *testing.T) {
	s := newStage(t, nil)
	c, b := s.dial()
	s.fault(Fault{Number: 1, Kind: world.CanHold, API: "fetch", Responses: true})
	s.fault(Fault{Number: 2, Kind: world.CanDrop, API: "produce"})
	c.send(t, asking(1, 1, "asks"))
	b.want(t, asking(1, 1, "asks"))
	b.send(t, answering(1, "records"))
	s.met(1, 1)
	c.send(t, asking(0, 2, "batch"))
	if !c.brokenOff(t) || !b.brokenOff(t) {
		t.Error("a connection did not end by a reset")
	}
	eventually(t, "nothing is under way", func() bool {
		seen, err := s.proxy.Watch(t.Context(), 1, world.Caught{}, nil)
		return err == nil && seen.UnderWay == 0
	})
}

// TestWhatIsNoKafkaPasses: it passes untouched, whatever is in force, and is counted.
func TestWhatIsNoKafkaPasses(t *testing.T) {
	s := newStage(t, nil)
	s.fault(Fault{Number: 1, Kind: world.CanDrop, API: world.AnyAPI})
	s.fault(Fault{Number: 2, Kind: world.CanDrop, API: world.AnyAPI, Responses: true})
	c, b := s.dial()
	hello := []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("hello", 100))
	c.send(t, hello)
	b.want(t, hello)
	b.send(t, hello)
	c.want(t, hello)
	if got := s.proxy.Stats(); got.Unread != 1 || got.Connections != 1 || got.Open != 1 {
		t.Errorf("%+v", got)
	}
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if b.brokenOff(t) {
		t.Error("half a close became a reset")
	}
	b.send(t, []byte("bye"))
	c.want(t, []byte("bye"))
}

// TestWhereNothingListensConnectionsAreReset: a proxy takes a connection before it knows.
func TestWhereNothingListensConnectionsAreReset(t *testing.T) {
	gone := listen(t)
	to := netip.MustParseAddrPort(gone.Addr().String())
	_ = gone.Close()
	front := listen(t)
	p := New(Options{Route: func(net.Conn) (Route, error) { return Route{To: to}, nil }})
	go func() { _ = p.Serve(front) }()
	c, err := net.Dial("tcp4", front.Addr().String())
	if err == nil {
		_ = c.SetDeadline(time.Now().Add(bound))
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ended by %v", err)
	}
	if got := p.Stats(); got.Refused != 1 || got.Connections != 0 {
		t.Errorf("%+v", got)
	}
}

// TestConnectionsLeaveNothing opens and closes ten thousand connections in all ways, a message of some held: none leaves a goroutine.
func TestConnectionsLeaveNothing(t *testing.T) {
	const all, atOnce = 10_000, 50
	s := newStage(t, func(c net.Conn) {
		_, _ = io.Copy(c, c)
		_ = c.Close()
	})
	before := runtime.NumGoroutine()
	s.fault(Fault{Number: 1, Kind: world.CanHold, API: "metadata", Delay: time.Millisecond})
	done := make(chan error, atOnce)
	for i := range atOnce {
		go func() {
			for n := range all / atOnce {
				if err := visit(s.address, i+n); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range atOnce {
		s.do(<-done)
	}
	eventually(t, "all connections end", func() bool { return s.proxy.Stats().Open == 0 })
	eventually(t, "all goroutines end", func() bool { return runtime.NumGoroutine() <= before+2 })
	if got := s.proxy.Stats(); got.Connections != all || got.Refused != 0 {
		t.Errorf("%+v", got)
	}
	if last := s.end(1); last.UnderWay != 0 || last.Messages == 0 {
		t.Errorf("%+v", last)
	}
}

// visit opens a connection, asks something if it likes, and leaves in one of several ways.
func visit(address string, way int) error {
	c, err := net.Dial("tcp4", address)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // some ways close it before
	if way%2 == 0 {
		frame := asking(3, int32(way), "asks")
		if _, err = c.Write(frame); err == nil && way%4 == 0 {
			_, err = io.ReadFull(c, frame)
		}
	}
	if way%3 == 0 {
		reset(c)
	}
	return err
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, bound)
		}
	}
}
