package docker

import (
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"tidemark/world"
)

// dialed is a client's connection to a listener of the test, and the other end.
func dialed(t *testing.T) (*conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // of the test
	c := &Cluster{env: NewEnv(t.Context(), 1), machines: []*machine{{id: 1, kafka: l.Addr().String()}}}
	k, err := c.Dial("client", 1, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.Close()
		_ = peer.Close()
	})
	return k.(*conn), peer
}

func TestFramesArriveWhole(t *testing.T) {
	k, peer := dialed(t)
	if err := k.Send([]byte("ask")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 7)
	if _, err := peer.Read(got); err != nil || string(got) != "\x00\x00\x00\x03ask" {
		t.Errorf("the peer read %q, %v", got, err)
	}
	if _, err := peer.Write([]byte("\x00\x00\x00\x06answer\x00\x00\x00\x00")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"answer", ""} {
		if frame, err := k.Receive(time.Second); err != nil || string(frame) != want {
			t.Errorf("received %q, %v, expected %q", frame, err, want)
		}
	}
}

// TestSilenceAndGarbageAreTold makes the peer silent, cut off in the middle of a frame, gone, and mad.
func TestSilenceAndGarbageAreTold(t *testing.T) {
	k, peer := dialed(t)
	if _, err := k.Receive(10 * time.Millisecond); !errors.Is(err, world.ErrTimeout) {
		t.Errorf("silence gave %v", err)
	}
	_, _ = peer.Write([]byte("\x00\x00\x00\x06ans"))
	if _, err := k.Receive(10 * time.Millisecond); !errors.Is(err, world.ErrTimeout) {
		t.Errorf("half a frame gave %v", err)
	}
	_, _ = peer.Write([]byte("wer\x00\x00\x00\x02no"))
	if frame, err := k.Receive(time.Second); !errors.Is(err, world.ErrClosed) {
		t.Errorf("the rest of a frame that was given up gave %q, %v", frame, err)
	}

	k, peer = dialed(t)
	_, _ = peer.Write(binary.BigEndian.AppendUint32(nil, frameBytesMax+1))
	if _, err := k.Receive(time.Second); !errors.Is(err, world.ErrClosed) {
		t.Errorf("a frame that is too long gave %v", err)
	}

	k, peer = dialed(t)
	_ = peer.Close()
	if _, err := k.Receive(time.Second); !errors.Is(err, world.ErrClosed) {
		t.Errorf("a closed connection gave %v", err)
	}
}

func TestDialingWhereNobodyListensIsRefused(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	_ = l.Close()
	c := &Cluster{env: NewEnv(t.Context(), 1), machines: []*machine{{id: 1, kafka: nobody}}}
	if _, err := c.Dial("client", 1, time.Second); !errors.Is(err, world.ErrRefused) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Dial("client", 2, time.Second); err == nil || errors.Is(err, world.ErrRefused) {
		t.Errorf("dialling a broker that does not exist gave %v", err)
	}
}

// FuzzReceive lets a peer say anything: what comes out are frames that were sent whole, or an error.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02ok"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, said []byte) {
		here, there := net.Pipe()
		go func() {
			_, _ = there.Write(said)
			_ = there.Close()
		}()
		k := &conn{tcp: here}
		defer k.Close()
		for left := said; ; {
			frame, err := k.Receive(time.Second)
			if err != nil {
				return
			}
			if size := binary.BigEndian.Uint32(left); int(size) != len(frame) || string(left[4:4+size]) != string(frame) {
				t.Fatalf("received %q of %q", frame, left)
			}
			left = left[4+len(frame):]
		}
	})
}
