package proxy

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"tidemark/world"
)

var mixedBytes = flag.Int64("mixed", 16<<20, "bytes of requests and answers that TestMixedTrafficPassesByteForByte lets pass")

// mixedConns is how many connections carry them, mixedFlight how many requests are under way on each.
const (
	mixedConns  = 8
	mixedFlight = 5 // as Kafka's max.in.flight.requests.per.connection
)

// TestMixedTrafficPassesByteForByte sends requests of every API, and their answers, of sizes from nothing to half a megabyte, while messages are
// held and let go all the time: what arrives is what was sent, by hash, both ways on each connection.
func TestMixedTrafficPassesByteForByte(t *testing.T) {
	type sums struct{ asked, answered [sha256.Size]byte }
	served := make(chan sums, mixedConns)
	s := newStage(t, func(c net.Conn) {
		asked, answered := sha256.New(), sha256.New()
		if err := answerAll(c, asked, answered); err != nil {
			t.Error(err)
		}
		served <- sums{[32]byte(asked.Sum(nil)), [32]byte(answered.Sum(nil))}
		_ = c.Close()
	})
	sent := make(chan sums, mixedConns)
	for i := range mixedConns {
		go func() {
			asked, answered := sha256.New(), sha256.New()
			if err := askAll(s.address, rand.New(rand.NewPCG(1, uint64(i))), *mixedBytes/mixedConns, asked, answered); err != nil {
				t.Error(err)
			}
			sent <- sums{[32]byte(asked.Sum(nil)), [32]byte(answered.Sum(nil))}
		}()
	}
	here, there, held := map[sums]bool{}, map[sums]bool{}, int64(0)
	rnd := rand.New(rand.NewPCG(2, 0))
	for n := 1; len(here) < mixedConns || len(there) < mixedConns; n++ {
		apis := append(world.APIs(), world.AnyAPI)
		s.fault(Fault{Number: n, Kind: world.CanHold, API: apis[rnd.IntN(len(apis))], Responses: rnd.IntN(2) == 0, Nth: rnd.IntN(3)})
		select {
		case x := <-sent:
			here[x] = true
		case x := <-served:
			there[x] = true
		case <-time.After(2 * time.Millisecond):
		}
		held += s.end(n).Messages
	}
	for x := range here {
		if !there[x] {
			t.Errorf("what was sent and heard on one end of a connection, %x, is not what was heard and sent on the other of any", x)
		}
	}
	if got := s.proxy.Stats(); got.Unread != 0 || held == 0 {
		t.Errorf("%+v, %d messages were held", got, held)
	}
}

// bodySize is what a body may have, most of the time little.
func bodySize(rnd *rand.Rand) int {
	if rnd.IntN(20) == 0 {
		return rnd.IntN(512 << 10)
	}
	return rnd.IntN(2 << 10)
}

// askAll sends requests until they and their answers come to so many bytes.
func askAll(address string, rnd *rand.Rand, size int64, asked, answered hash.Hash) error {
	c, err := net.Dial("tcp4", address)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // it has ended
	filler := make([]byte, 512<<10)
	for i := range filler {
		filler[i] = byte(rnd.Uint32())
	}
	flight, heard := make(chan int32, mixedFlight), make(chan error, 1)
	go func() {
		in := bufio.NewReader(io.TeeReader(c, answered))
		for want := range flight {
			head := make([]byte, responseBytes)
			if _, err := io.ReadFull(in, head); err != nil {
				heard <- err
				return
			}
			if got := int32(binary.BigEndian.Uint32(head[lengthBytes:])); got != want {
				heard <- fmt.Errorf("answer %d came, expected %d", got, want)
				return
			}
			if _, err := in.Discard(int(binary.BigEndian.Uint32(head)) - 4); err != nil {
				heard <- err
				return
			}
		}
		heard <- nil
	}()
	apis := world.APIs()
	out := io.MultiWriter(c, asked)
	for n, correlation := int64(0), int32(0); n < size; correlation++ {
		key, _ := apis[rnd.IntN(len(apis))].Key()
		frame := asking(key, correlation, string(filler[:bodySize(rnd)]))
		if key != unanswered {
			select {
			case flight <- correlation:
			case err := <-heard:
				return err
			}
		}
		n += 2 * int64(len(frame))
		for len(frame) > 0 {
			piece := min(len(frame), 1+rnd.IntN(256<<10))
			if _, err := out.Write(frame[:piece]); err != nil {
				return err
			}
			frame = frame[piece:]
		}
	}
	close(flight)
	err = <-heard
	return errors.Join(err, c.(*net.TCPConn).CloseWrite())
}

// answerAll answers every request that has an answer by one of its own size, until there are no more.
func answerAll(c net.Conn, asked, answered hash.Hash) error {
	in := bufio.NewReader(io.TeeReader(c, asked))
	out := bufio.NewWriter(io.MultiWriter(c, answered))
	head := make([]byte, requestBytes)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		body := make([]byte, int(binary.BigEndian.Uint32(head))-8)
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}
		if int16(binary.BigEndian.Uint16(head[lengthBytes:])) == unanswered {
			continue
		}
		if _, err := out.Write(answering(int32(binary.BigEndian.Uint32(head[8:])), string(body))); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
