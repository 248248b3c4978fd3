package server

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

const (
	readBuffer = 4096
	keepAlive  = 15 * time.Second
	growMin    = smallFrame // the room that a frame's claimed length alone is given
)

// readSize reads a frame's length. io.EOF if the stream ends before it.
func readSize(in *bufio.Reader, limit int) (int, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, err
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 0 || int(size) > limit {
		return 0, fmt.Errorf("frame of %d bytes, expected 0 to %d", size, limit)
	}
	return int(size), nil
}

// readBody reads a frame's bytes into buf or a larger buffer, which grows as bytes arrive: a length that is claimed costs nothing.
// grow is asked before it has more than so many bytes.
func readBody(in *bufio.Reader, buf []byte, size int, grow func(to int) error) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < size {
		if len(buf) == cap(buf) {
			to := min(size, max(2*cap(buf), growMin))
			if err := grow(to); err != nil {
				return nil, err
			}
			buf = append(make([]byte, 0, to), buf...)
		}
		at := len(buf)
		buf = buf[:min(size, cap(buf))]
		if _, err := io.ReadFull(in, buf[at:]); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// writeFrame writes a frame behind its length.
func writeFrame(conn net.Conn, frame []byte) error {
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(frame)))
	buffers := net.Buffers{head[:], frame}
	_, err := buffers.WriteTo(conn)
	return err
}

// tcpUserTimeout is Linux's TCP_USER_TIMEOUT, which package syscall does not name.
const tcpUserTimeout = 0x12

// setUserTimeout ends a connection when bytes that were sent stay unacknowledged for so long (RFC 5482). Where the system refuses,
// the connection lives as long as TCP lets it.
func setUserTimeout(conn net.Conn, d time.Duration) {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if c, err := raw.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(max(d.Milliseconds(), 1)))
		})
	}
}
