package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Bounds of a client's connection.
const (
	frameBytesMax = 16 << 20        // of one answer
	sendBound     = 2 * time.Second // a frame is in the kernel
)

// conn is a world.Conn over TCP: Kafka frames behind their length of 4 bytes.
type conn struct {
	tcp  net.Conn
	head [4]byte
	cut  bool // a frame was read in part: what follows cannot be told apart
}

// Address is where this process dials a broker, host:port; "" if there is no such broker.
func (c *Cluster) Address(b history.BrokerID) string {
	m, err := c.machine(b)
	if err != nil {
		return ""
	}
	return m.kafka
}

// Dial connects a client to a broker, whatever cuts there are between brokers.
func (c *Cluster) Dial(client string, to history.BrokerID, timeout time.Duration) (world.Conn, error) {
	m, err := c.machine(to)
	if err != nil {
		return nil, err
	}
	if at := c.straight(m); at != m.kafka { // the proxy takes every connection
		k, err := c.dialAt(client, m, at, timeout)
		if err != nil {
			return nil, err
		}
		k.Close()
	}
	return c.dialAt(client, m, m.kafka, timeout)
}

// dialAt connects a client to a broker at one of its addresses.
func (c *Cluster) dialAt(client string, m *machine, address string, timeout time.Duration) (world.Conn, error) {
	k, err := dial(c.env.ctx, address, timeout)
	if err != nil {
		return nil, fmt.Errorf("%s to broker %d: %w", client, m.id, err)
	}
	return k, nil
}

func dial(ctx context.Context, address string, timeout time.Duration) (*conn, error) {
	d := net.Dialer{Timeout: max(timeout, time.Millisecond)}
	tcp, err := d.DialContext(ctx, "tcp4", address)
	if err != nil {
		return nil, dialError(err)
	}
	return &conn{tcp: tcp}, nil
}

// dialError is the world's name of an error of dialling; whatever it was, nothing was sent.
func dialError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return world.ErrTimeout
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, syscall.EHOSTUNREACH) {
		return world.ErrTimeout
	}
	return world.ErrRefused
}

// Send hands one frame to the kernel.
func (k *conn) Send(frame []byte) error {
	_ = k.tcp.SetWriteDeadline(time.Now().Add(sendBound)) // fails on a closed connection only
	binary.BigEndian.PutUint32(k.head[:], uint32(len(frame)))
	buffers := net.Buffers{k.head[:], frame}
	if _, err := buffers.WriteTo(k.tcp); err != nil {
		return connError(err)
	}
	return nil
}

// Receive blocks for the next frame.
func (k *conn) Receive(timeout time.Duration) ([]byte, error) {
	if k.cut {
		return nil, world.ErrClosed
	}
	_ = k.tcp.SetReadDeadline(time.Now().Add(timeout)) // fails on a closed connection only
	var head [4]byte
	if n, err := io.ReadFull(k.tcp, head[:]); err != nil {
		k.cut = n > 0
		return nil, connError(err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > frameBytesMax {
		k.cut = true
		return nil, fmt.Errorf("%w: a frame of %d bytes, expected at most %d", world.ErrClosed, size, frameBytesMax)
	}
	frame := make([]byte, size)
	if _, err := io.ReadFull(k.tcp, frame); err != nil {
		k.cut = true
		return nil, connError(err)
	}
	return frame, nil
}

// Close closes it; what was sent may still arrive.
func (k *conn) Close() { _ = k.tcp.Close() }

func connError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return world.ErrTimeout
	}
	return fmt.Errorf("%w: %v", world.ErrClosed, err)
}
