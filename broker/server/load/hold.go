package load

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Idle opens connections that say nothing. They are the caller's to close, the error's too.
func Idle(address string, count int) (conns []net.Conn, err error) {
	for range count {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return conns, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// Garbage holds so many connections that talk nonsense, opened anew when the broker closes them, until ctx ends.
func Garbage(ctx context.Context, address string, seed uint64, count int) {
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				if conn, err := net.Dial("tcp", address); err == nil {
					_, _ = conn.Write(Nonsense(rnd))
					_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
					_, _ = io.Copy(io.Discard, conn)
					_ = conn.Close()
				}
				sleep(ctx, 100*time.Millisecond) // each end costs the machine a port for a minute (TIME_WAIT)
			}
		})
	}
	all.Wait()
}

// Deaf sends a request on so many connections at once, again and again, and reads no answer, until ctx ends. What the broker closes is
// opened anew.
func Deaf(ctx context.Context, address string, request []byte, count int) {
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			for ctx.Err() == nil {
				deaf(ctx, address, request)
				sleep(ctx, 50*time.Millisecond)
			}
		})
	}
	all.Wait()
}

func deaf(ctx context.Context, address string, request []byte) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // it is thrown away
	tcp := conn.(*net.TCPConn)
	_ = tcp.SetReadBuffer(4096)
	_ = tcp.SetLinger(0) // else the kernel would go on with what it has taken of the requests
	ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer ended()
	for err == nil { // until the broker, which still waits for its answer to be taken, takes no more
		_, err = conn.Write(request)
	}
}
