package workloads

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world"
)

// responseBytesMax bounds an answer: twice what a Fetch asks for at most. kmsg's decoded form can take 128 times the bytes.
const responseBytesMax = 2 * finalBytes

// errMalformed marks an answer that could not be read.
var errMalformed = errors.New("malformed answer")

// callError is why a call got no answer. What was sent may have arrived and taken effect.
type callError struct {
	err  error
	sent bool // false: the request never left
}

// Error says where it failed, and why.
func (e *callError) Error() string {
	if e.sent {
		return e.err.Error()
	}
	return "nothing sent: " + e.err.Error()
}

// Unwrap is the connection's own error.
func (e *callError) Unwrap() error { return e.err }

// client is a raw Kafka client: at most one connection to each broker, one request under way at a time, no retries. A timeout
// or any other error closes the connection (what was sent may still arrive); the next call dials anew.
type client struct {
	env         world.Env
	cluster     world.Cluster
	name        string // of the client in the network, and its Kafka client id
	timeout     time.Duration
	dialect     world.Dialect // nil: every broker speaks what the client does
	correlation int32
	conns       map[history.BrokerID]world.Conn // looked up and deleted only: its order influences nothing
}

func newClient(env world.Env, cluster world.Cluster, name string, timeout time.Duration) *client {
	c := &client{env: env, cluster: cluster, name: name, timeout: timeout, conns: make(map[history.BrokerID]world.Conn)}
	c.dialect, _ = cluster.(world.Dialect)
	return c
}

// newest is the newest version of an API that the brokers speak, at most that one; -1 if they do not have the API.
func (c *client) newest(api, most int16) int16 {
	if c.dialect == nil {
		return most
	}
	return min(most, c.dialect.NewestVersion(api))
}

// call sends one request to a broker and reads its answer into resp, all within the client's timeout. A nil resp is a request
// that gets no answer (Produce with acks=0). The error is a *callError. resp may alias the frame that it was read from.
func (c *client) call(to history.BrokerID, req kmsg.Request, resp kmsg.Response) error {
	deadline := c.env.Now() + c.timeout
	if c.dialect != nil {
		version := c.newest(req.Key(), req.GetVersion())
		if version < 0 {
			return &callError{fmt.Errorf("%s is unknown to these brokers", kmsg.NameForKey(req.Key())), false}
		}
		req.SetVersion(version)
	}
	conn := c.conns[to]
	if conn == nil {
		var err error
		if conn, err = c.cluster.Dial(c.name, to, c.timeout); err != nil {
			return &callError{err, false}
		}
		c.conns[to] = conn
	}
	c.correlation++
	if err := conn.Send(appendRequest(make([]byte, 0, 256), req, c.correlation, c.name)); err != nil {
		return c.fail(to, err, !errors.Is(err, world.ErrRefused))
	}
	if resp == nil {
		return nil
	}
	left := deadline - c.env.Now()
	if left <= 0 {
		return c.fail(to, world.ErrTimeout, true)
	}
	frame, err := conn.Receive(left)
	if err != nil {
		return c.fail(to, err, true)
	}
	resp.SetVersion(req.GetVersion())
	if err := readResponse(frame, c.correlation, resp); err != nil {
		return c.fail(to, err, true)
	}
	return nil
}

// fail closes the connection that an error came from.
func (c *client) fail(to history.BrokerID, err error, sent bool) error {
	c.drop(to)
	return &callError{err, sent}
}

// drop closes the connection to a broker, if there is one.
func (c *client) drop(to history.BrokerID) {
	if conn := c.conns[to]; conn != nil {
		conn.Close()
		delete(c.conns, to)
	}
}

// close closes every connection, in order of broker.
func (c *client) close() {
	for _, b := range c.cluster.Brokers() {
		c.drop(b)
	}
}

// appendRequest appends a request's frame: header version 2 for flexible requests (KIP-482), else 1, then the body.
func appendRequest(dst []byte, req kmsg.Request, correlation int32, clientID string) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.Key()))
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.GetVersion()))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(clientID)))
	dst = append(dst, clientID...)
	if req.IsFlexible() {
		dst = append(dst, 0) // no tagged fields
	}
	return req.AppendTo(dst)
}

// readResponse reads the answer to the request with that correlation id. resp has its version set; it may alias frame.
func readResponse(frame []byte, correlation int32, resp kmsg.Response) error {
	if len(frame) < 4 || len(frame) > responseBytesMax {
		return fmt.Errorf("%w: %d bytes, expected 4 to %d", errMalformed, len(frame), responseBytesMax)
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != correlation {
		return fmt.Errorf("%w: correlation id %d, expected %d", errMalformed, got, correlation)
	}
	body := frame[4:]
	if resp.IsFlexible() {
		var err error
		if body, err = skipTags(body); err != nil {
			return err
		}
	}
	var err error
	if r, ok := resp.(kmsg.UnsafeReadFrom); ok {
		err = r.UnsafeReadFrom(body)
	} else {
		err = resp.ReadFrom(body)
	}
	if err != nil {
		return fmt.Errorf("%w: %s version %d: %w", errMalformed, kmsg.NameForKey(resp.Key()), resp.GetVersion(), err)
	}
	return nil
}

// skipTags passes over the tagged fields of a response header.
func skipTags(b []byte) ([]byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return nil, fmt.Errorf("%w: bad count of header tags", errMalformed)
	}
	b = b[n:]
	for range count {
		_, n := binary.Uvarint(b) // the tag
		if n <= 0 {
			return nil, fmt.Errorf("%w: header ends inside a tag", errMalformed)
		}
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, fmt.Errorf("%w: header ends inside a tag", errMalformed)
		}
		b = b[n+int(size):]
	}
	return b, nil
}
