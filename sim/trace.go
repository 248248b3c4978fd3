package sim

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/wire"
	"tidemark/history"
)

// Event is one event of a simulated run, as the trace tells it.
type Event struct {
	Seq  uint64           // from 1, over the whole run
	Time time.Duration    // virtual time since the run's start
	Node history.BrokerID // where it happened; history.NoBroker for the network and the clients
	Text string           // in words
	Hash uint64           // of the trace up to and including this event
}

// noteKind tells the events in the hash apart.
type noteKind uint8

const (
	noteResume noteKind = iota
	noteFrame
	noteConnect
	noteAccept
	noteRefuse
	noteEnd
	noteReset
	noteDrop
	noteTick
	noteFlush
	noteProcess
	noteWrite
	noteTruncate
	noteSync
	noteName
	noteLost
	noteFault
	noteProbe
	noteLoss
	noteWipe
	noteCaught
)

// note takes an event into the hash: when, whom, two numbers that say what, and the bytes. A node that looked at anything that
// no seed reaches (a wall clock, the order of a map) shows in the bytes that it sends or writes, and so in the hash. It
// reports whether the event is to be told as text too.
func (w *World) note(kind noteKind, node history.BrokerID, a, b uint64, data []byte) bool {
	var head [37]byte
	head[0] = byte(kind)
	binary.LittleEndian.PutUint64(head[1:], uint64(w.now))
	binary.LittleEndian.PutUint32(head[9:], uint32(node))
	binary.LittleEndian.PutUint64(head[13:], a)
	binary.LittleEndian.PutUint64(head[21:], b)
	binary.LittleEndian.PutUint64(head[29:], uint64(len(data)))
	_, _ = w.digest.Write(head[:])
	if len(data) > 0 {
		_, _ = w.digest.Write(data)
	}
	w.noted++
	if w.opt.EventHash != nil {
		w.opt.EventHash(w.digest.Sum64())
	}
	return w.opt.Trace != nil
}

// tell gives the event noted last to the trace.
func (w *World) tell(node history.BrokerID, text string) {
	w.opt.Trace(Event{Seq: w.noted, Time: w.now, Node: node, Text: text, Hash: w.digest.Sum64()})
}

// Hash is the hash over every event so far: time, node, message bytes, disk bytes.
func (w *World) Hash() uint64 { return w.digest.Sum64() }

// Events counts events: delivered messages, fired broker timers, flush steps.
func (w *World) Events() uint64 { return w.events }

// newDigest seeds the trace hash.
func newDigest(seed uint64) xxhash.Digest {
	var d xxhash.Digest
	d.ResetWithSeed(seed)
	return d
}

// asked is a request that a connection carried: a response's frame does not say what it answers.
type asked struct {
	correlation int32
	key         int16
}

// askedMax bounds what a connection remembers for the trace.
const askedMax = 100

// requestText describes a request frame: API key, version, correlation id and size.
func (c *conn) requestText(frame []byte) string {
	if len(frame) < 8 {
		return fmt.Sprintf("request of %d bytes without a header", len(frame))
	}
	key, correlation := int16(binary.BigEndian.Uint16(frame)), int32(binary.BigEndian.Uint32(frame[4:]))
	if key == wire.KeyRaft {
		return fmt.Sprintf("Raft message, %d bytes", len(frame))
	}
	if len(c.asked) == askedMax {
		c.asked = c.asked[1:]
	}
	c.asked = append(c.asked, asked{correlation, key})
	return fmt.Sprintf("%s v%d request #%d, %d bytes", kmsg.NameForKey(key), binary.BigEndian.Uint16(frame[2:]), correlation, len(frame))
}

// responseText describes a response frame by the request that it answers.
func (c *conn) responseText(frame []byte) string {
	if len(frame) < 4 {
		return fmt.Sprintf("response of %d bytes without a header", len(frame))
	}
	correlation := int32(binary.BigEndian.Uint32(frame))
	for i, a := range c.asked {
		if a.correlation == correlation {
			c.asked = c.asked[i+1:]
			return fmt.Sprintf("%s response #%d, %d bytes", kmsg.NameForKey(a.key), correlation, len(frame))
		}
	}
	return fmt.Sprintf("response #%d to an unknown request, %d bytes", correlation, len(frame))
}
