package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/broker/config"
	"tidemark/broker/server/load"
)

// TestSlowClientsAreCutOff has clients ask for megabytes that they never read. Their answers are bounded, and others are served.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	c := start(t, 1, "tidemark.queued.max.response.bytes=8388608", "tidemark.frame.timeout.ms=60000")
	c.create("orders", 1, 1, "1")
	client := c.client(kgo.ProducerBatchCompression(kgo.NoCompression()))
	for range 8 {
		c.produce(client, "orders", strings.Repeat("x", 900_000))
	}
	request := load.FetchAll("orders", 1)
	s := c.servers[0]
	for range 20 {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
		if _, bytes := s.conns.size(); bytes > 8<<20 {
			t.Errorf("%d bytes of answers are owed, expected at most 8 MiB", bytes)
		}
	}
	c.eventually("clients that do not read are cut off", func() bool { return s.metrics.slowClosed.Load() >= 10 })
	c.produce(client, "orders", "still served")
	if got := c.consume("orders", 9); got[8] != "still served" {
		t.Errorf("the last record is %.20q", got[8])
	}
}

// TestAnswersThatAreNotTakenTimeOut closes a client that does not read within the frame's time.
func TestAnswersThatAreNotTakenTimeOut(t *testing.T) {
	t.Parallel()
	c := start(t, 1, "tidemark.frame.timeout.ms=200")
	c.ready()
	conn := dial(t, c.addresses()[0])
	request := bytes.Repeat(load.ApiVersions(), 1000)
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	for { // it asks and asks, and reads nothing
		if _, err := conn.Write(request); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("a client that reads nothing was left alone")
			}
			return
		}
	}
}

// TestFramesThatDoNotEndTimeOut closes a client that begins a request and does not go on, but not one that merely says nothing.
func TestFramesThatDoNotEndTimeOut(t *testing.T) {
	t.Parallel()
	c := start(t, 1, "tidemark.frame.timeout.ms=200")
	c.ready()
	silent, unfinished := dial(t, c.addresses()[0]), dial(t, c.addresses()[0])
	request := load.ApiVersions()
	if _, err := unfinished.Write(request[:len(request)-1]); err != nil {
		t.Fatal(err)
	}
	expectClosed(t, unfinished)
	if err := ask(silent, request); err != nil {
		t.Errorf("a client that said nothing for a while: %v", err)
	}
}

// TestIdleConnectionsAreClosed tells connections.max.idle.ms.
func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	c := start(t, 1, "connections.max.idle.ms=400")
	c.ready()
	idle, busy := dial(t, c.addresses()[0]), dial(t, c.addresses()[0])
	done := make(chan error)
	go func() {
		for range 20 {
			if err := ask(busy, load.ApiVersions()); err != nil {
				done <- err
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		done <- nil
	}()
	expectClosed(t, idle)
	if err := <-done; err != nil {
		t.Errorf("a connection that is in use: %v", err)
	}
}

// TestOneConnectionTooMany closes the connection that was idle longest for the sake of a new one.
func TestOneConnectionTooMany(t *testing.T) {
	t.Parallel()
	c := start(t, 1, "max.connections=3")
	c.ready()
	var conns []net.Conn
	for range 3 {
		conn := dial(t, c.addresses()[0])
		if err := ask(conn, load.ApiVersions()); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	if err := ask(conns[0], load.ApiVersions()); err != nil { // now the second is the idlest
		t.Fatal(err)
	}
	if err := ask(dial(t, c.addresses()[0]), load.ApiVersions()); err != nil {
		t.Fatalf("the connection past the limit: %v", err)
	}
	expectClosed(t, conns[1])
	for _, i := range []int{0, 2} {
		if err := ask(conns[i], load.ApiVersions()); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

// expectClosed reads until the broker has closed a connection.
func expectClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection was left open")
	}
}

// TestLargeRequestsWaitForEachOther sends more at once than queued.max.request.bytes: all of it is served, in turn.
func TestLargeRequestsWaitForEachOther(t *testing.T) {
	t.Parallel()
	c := start(t, 1, "queued.max.request.bytes=1000000")
	c.create("orders", 1, 1, "1")
	errs := make(chan error)
	for range 10 {
		client := c.client(kgo.ProducerBatchCompression(kgo.NoCompression()))
		go func() {
			errs <- client.ProduceSync(c.within(), &kgo.Record{Topic: "orders", Value: bytes.Repeat([]byte("x"), 600_000)}).FirstErr()
		}()
	}
	for range 10 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if taken := c.servers[0].requests.taken(); taken != 0 {
		t.Errorf("%d bytes of requests are still counted", taken)
	}
}

// TestBudget lets one request in whatever its size, and a second one only after it.
func TestBudget(t *testing.T) {
	b := newBudget(100)
	dead := make(chan struct{})
	if err := b.take(500, dead, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := b.take(1, dead, time.Millisecond); err == nil {
		t.Error("one byte more was admitted")
	}
	admitted := make(chan error)
	go func() { admitted <- b.take(60, dead, time.Minute) }()
	b.give(500)
	if err := <-admitted; err != nil {
		t.Error(err)
	}
	go func() { admitted <- b.take(60, dead, time.Minute) }()
	close(dead)
	if err := <-admitted; err == nil {
		t.Error("a request of a connection that is closed was admitted")
	}
	if got := b.taken(); got != 60 {
		t.Errorf("%d bytes are taken, expected 60", got)
	}
}

// FuzzFrames reads a stream as frames: never more room than bytes that arrived, give or take the first step.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02hi\x00\x00\x00\x00\x7f\xff\xff\xff"))
	f.Add(load.ApiVersions())
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(stream), 16)
		read := 0
		for {
			size, err := readSize(in, 100<<20)
			if err != nil {
				return
			}
			read += 4
			frame, err := readBody(in, nil, size, func(to int) error {
				if to > 2*(len(stream)-read)+growMin {
					t.Fatalf("room for %d bytes of a stream of %d", to, len(stream))
				}
				return nil
			})
			if err != nil {
				return
			}
			if !bytes.Equal(frame, stream[read:read+size]) {
				t.Fatalf("frame %q at %d of %q", frame, read, stream)
			}
			read += size
		}
	})
}

// TestStartRefusals tells what Start says when it cannot start, and finds that it leaves nothing behind.
func TestStartRefusals(t *testing.T) {
	c := start(t, 1)
	running := c.configs[0]
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	descriptors := openFiles(t)
	for _, tc := range []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"no directory", func(c *config.Config) { c.Shell.LogDir = "" }, "log.dirs is missing"},
		{"the directory is a file", func(c *config.Config) { c.Shell.LogDir = file }, "log.dirs: "},
		{"the directory is in use", func(*config.Config) {}, "is in use by another broker"},
		{"the controller's directory is in use", func(c *config.Config) {
			c.Shell.LogDir, c.Shell.MetadataLogDir = t.TempDir(), c.Shell.LogDir
		}, "metadata.log.dir: "},
		{"the port is in use", func(c *config.Config) { c.Shell.LogDir = t.TempDir() }, "listeners: listen tcp "},
		{"the debug port is in use", func(c *config.Config) {
			c.Shell.LogDir = t.TempDir()
			c.OneListener("127.0.0.1", int32(freePorts(t, 1)[0]))
		}, "tidemark.debug.listener: listen tcp "},
		{"the configuration is unusable", func(c *config.Config) { c.Voters = nil }, "controller.quorum.voters is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := running
			tc.change(&cfg)
			s, err := Start(cfg, nil)
			if err == nil {
				s.Close()
				t.Fatalf("it started, expected %q", tc.want)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q, expected %q in it", err, tc.want)
			}
		})
	}
	c.eventually("no descriptor is left", func() bool { return openFiles(t) <= descriptors })
}

// TestDiskErrorEndsTheBroker takes the broker's directory away under it.
func TestDiskErrorEndsTheBroker(t *testing.T) {
	t.Parallel()
	c := start(t, 1, "replica.high.watermark.checkpoint.interval.ms=50")
	c.create("orders", 1, 1, "1")
	c.eventually("the directory is gone", func() bool { // the broker may be writing into it
		return os.RemoveAll(c.configs[0].Shell.LogDir) == nil
	})
	s := c.servers[0]
	client := c.client()
	ctx, cancel := context.WithCancel(c.within())
	defer cancel()
	client.Produce(ctx, &kgo.Record{Topic: "orders", Value: []byte("x")}, nil)
	select {
	case <-s.Done():
	case <-time.After(patience):
		t.Fatal("the broker goes on without its directory")
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "broker 1: ") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it ended with %v, expected the disk's error", err)
	}
	c.servers[0] = nil
	if _, err := s.State(); err == nil {
		t.Error("a broker that has ended tells a state")
	}
}
