package server

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/wire"
)

// framed is a request as it goes over the wire.
func framed(req kmsg.Request, version int16) []byte {
	req.SetVersion(version)
	body := wire.AppendRequest(nil, 7, "a client", req)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

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

func apiVersions() []byte { return framed(kmsg.NewPtrApiVersionsRequest(), 0) }

// TestIdleAndGarbageConnections holds 1,000 connections that say nothing and 100 that say nonsense; clients are served all the while.
func TestIdleAndGarbageConnections(t *testing.T) {
	c := start(t, 1)
	c.create("orders", 1, 1, "1")
	address := c.addresses()[0]
	for range 1000 {
		dial(t, address)
	}
	var garbage sync.WaitGroup
	stop := make(chan struct{})
	for i := range 100 {
		garbage.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				if conn, err := net.Dial("tcp", address); err == nil {
					_, _ = conn.Write(nonsense(rnd))
					_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
					_, _ = io.Copy(io.Discard, conn)
					_ = conn.Close()
				}
				time.Sleep(100 * time.Millisecond) // each end costs the machine a port for a minute (TIME_WAIT)
			}
		})
	}
	client := c.client()
	sent := numbered("record", 100)
	for _, v := range sent {
		c.produce(client, "orders", v)
	}
	if got := c.consume("orders", len(sent)); len(got) != len(sent) {
		t.Errorf("consumed %d records of %d", len(got), len(sent))
	}
	close(stop)
	garbage.Wait()
	if conns, _ := c.servers[0].conns.size(); conns < 1000 {
		t.Errorf("%d connections are open, expected that the 1,000 idle ones are", conns)
	}
	if c.servers[0].metrics.badFrames.Load() == 0 {
		t.Error("not one bad frame was counted")
	}
}

// nonsense is what port scanners, browsers, and broken clients send.
func nonsense(rnd *rand.Rand) []byte {
	noise := make([]byte, rnd.IntN(300))
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	switch rnd.IntN(6) {
	case 0:
		return []byte("GET / HTTP/1.1\r\nHost: broker\r\n\r\n")
	case 1:
		return noise
	case 2:
		return append([]byte{0, 0, 0, byte(len(noise))}, noise...)
	case 3:
		return []byte{0x05, 0xff, 0xff, 0xff} // a claim of nearly 100 MB
	case 4:
		return append(apiVersions()[:7], noise...)
	default:
		request := apiVersions()
		request[4+rnd.IntN(len(request)-4)] ^= byte(1 + rnd.IntN(255))
		return request
	}
}

// TestConnectionsThatEndAnyhow opens connections that are half closed, reset, or closed at a random moment of a request, and finds as
// many goroutines and descriptors afterwards as before. TIDEMARK_CHURN is how many, if not 3,000.
func TestConnectionsThatEndAnyhow(t *testing.T) {
	count := 3000
	if text := os.Getenv("TIDEMARK_CHURN"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatalf("TIDEMARK_CHURN=%q, expected a number", text)
		}
	}
	c := start(t, 1)
	c.ready()
	address := c.addresses()[0]
	if err := ask(dial(t, address), apiVersions()); err != nil {
		t.Fatal(err)
	}
	c.eventually("one client and the debug listener are all there is", func() bool { return openConns(c) == 1 })
	goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)
	var workers sync.WaitGroup
	var next atomic.Int64
	for i := range 8 {
		workers.Go(func() {
			rnd := rand.New(rand.NewPCG(2, uint64(i)))
			for int(next.Add(1)) <= count {
				if err := misbehave(address, rnd); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	c.eventually("only the first client is left", func() bool { return openConns(c) == 1 })
	c.eventually("goroutines and descriptors are as many as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles(t) <= descriptors
	})
	if accepted := c.servers[0].metrics.accepted.Load(); accepted < int64(count) {
		t.Errorf("%d connections were accepted, expected at least %d", accepted, count)
	}
}

func openConns(c *cluster) int {
	conns, _ := c.servers[0].conns.size()
	return conns
}

// misbehave is the life of one connection that does not end as it should.
func misbehave(address string, rnd *rand.Rand) error {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	conn := nc.(*net.TCPConn)
	defer func() { _ = conn.Close() }()
	request := apiVersions()
	if rnd.IntN(3) == 0 {
		fetch := kmsg.NewPtrFetchRequest() // one that is held: there is nothing to fetch
		fetch.MaxWaitMillis, fetch.MinBytes, fetch.MaxBytes = 50, 1, 1<<20
		request = framed(fetch, 4)
	}
	sent := request[:rnd.IntN(len(request)+1)]
	if rnd.IntN(2) == 0 {
		sent = append(request, sent...)
	}
	if _, err := conn.Write(sent); err != nil {
		return err
	}
	if rnd.IntN(2) == 0 {
		time.Sleep(time.Duration(rnd.IntN(3000)) * time.Microsecond)
	}
	switch rnd.IntN(3) {
	case 0: // half closed: what was asked in full is still answered
		if err := conn.CloseWrite(); err != nil {
			return err
		}
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		answer, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errors.New("a half-closed connection was neither answered nor closed")
		}
		if whole := len(sent) >= len(request); whole && err == nil && len(answer) == 0 {
			return errors.New("a request of a half-closed connection was not answered")
		}
	case 1:
		_ = conn.SetLinger(0) // its end is a reset
	}
	return nil
}

func openFiles(t *testing.T) int {
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
