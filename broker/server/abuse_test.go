package server

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"tidemark/broker/server/load"
)

func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask sends a request and waits for the whole answer.
func ask(conn net.Conn, frame []byte) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := conn.Write(frame); err != nil {
		return err
	}
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[:])))
	return err
}

// TestIdleAndGarbageConnections holds 1,000 connections that say nothing and 100 that say nonsense; clients are served all the while,
// and afterwards nothing is left of them.
func TestIdleAndGarbageConnections(t *testing.T) {
	c := start(t, 1)
	c.create("orders", 1, 1, "1")
	client := c.client()
	c.produce(client, "orders", "before")
	before := take(c)
	address := c.addresses()[0]
	idle, err := load.Idle(address, 1000)
	defer closeAll(idle)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var garbage sync.WaitGroup
	garbage.Go(func() { load.Garbage(ctx, address, 1, 100) })
	sent := append([]string{"before"}, numbered("record", 100)...)
	for _, v := range sent[1:] {
		c.produce(client, "orders", v)
	}
	if got := c.consume("orders", len(sent)); !slices.Equal(got, sent) {
		t.Errorf("consumed %q, sent %q", got, sent)
	}
	cancel()
	garbage.Wait()
	if conns, _ := c.servers[0].conns.size(); conns < 1000 {
		t.Errorf("%d connections are open, expected that the 1,000 idle ones are", conns)
	}
	if c.servers[0].metrics.badFrames.Load() == 0 {
		t.Error("not one bad frame was counted")
	}
	closeAll(idle)
	c.eventually("as much is in use as before", func() bool { return !take(c).above(before) })
}

func closeAll(conns []net.Conn) {
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// taken is what broker 1 and this process take.
type taken struct{ conns, requestBytes, goroutines, descriptors int }

func take(c *cluster) taken {
	conns, _ := c.servers[0].conns.size()
	return taken{conns, c.servers[0].requests.taken(), runtime.NumGoroutine(), openFiles(c.t)}
}

// above reports whether more is taken than was, but for the consumer's few connections, which the test closes only at its end.
func (now taken) above(before taken) bool {
	const consumer, each = 4, 8
	return now.conns > before.conns+consumer || now.requestBytes > before.requestBytes ||
		now.goroutines > before.goroutines+each*consumer || now.descriptors > before.descriptors+2*consumer
}

// churnEvery is the time between two connections of a churn: 10,000 of them take a minute.
const churnEvery = 6 * time.Millisecond

// TestConnectionsThatEndAnyhow opens connections that are half closed, reset, closed, or read slowly, at random moments, of a request
// too, and finds as many goroutines and descriptors afterwards as before. TIDEMARK_CHURN is how many, if not 500, and
// TIDEMARK_CHURN_SEED draws them again.
func TestConnectionsThatEndAnyhow(t *testing.T) {
	count, seed := fromEnvironment(t, "TIDEMARK_CHURN", 500), fromEnvironment(t, "TIDEMARK_CHURN_SEED", rand.Uint64())
	c := start(t, 1)
	c.ready()
	address := c.addresses()[0]
	if err := ask(dial(t, address), load.ApiVersions()); err != nil {
		t.Fatal(err)
	}
	c.eventually("one client is all there is", func() bool { return take(c).conns == 1 })
	before := take(c)
	tally, err := load.Churn(t.Context(), address, seed, int(count), time.Duration(count)*churnEvery)
	t.Logf("seed %d: %s", seed, &tally)
	if err != nil {
		t.Errorf("TIDEMARK_CHURN_SEED=%d: %v", seed, err)
	}
	c.eventually("connections, bytes, goroutines and descriptors are as many as before", func() bool {
		now := take(c)
		return now.conns == 1 && now.requestBytes == 0 && now.goroutines <= before.goroutines && now.descriptors <= before.descriptors
	})
	if accepted := c.servers[0].metrics.accepted.Load(); accepted < int64(count) {
		t.Errorf("%d connections were accepted, expected at least %d", accepted, count)
	}
}

func fromEnvironment(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q, expected a number", name, text)
	}
	return n
}

func openFiles(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestEndingLeavesNothing stops brokers in both ways and looks for what is left of them.
func TestEndingLeavesNothing(t *testing.T) {
	goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)
	c := start(t, 3)
	c.ready()
	conn := dial(t, c.addresses()[2])
	c.kill(0)
	for i := 1; i < 3; i++ {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := c.servers[i].Shutdown(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		c.servers[i] = nil
	}
	_ = conn.Close()
	c.eventually("goroutines and descriptors are as many as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles(t) <= descriptors
	})
}
