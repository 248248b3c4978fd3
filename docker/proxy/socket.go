package proxy

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// originalDestination is Linux's SO_ORIGINAL_DST: where a connection led before the firewall sent it here.
const originalDestination = 80

// Original is where a connection that was redirected to this machine had been meant to go.
func Original(c *net.TCPConn) (to netip.AddrPort, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return to, err
	}
	var at unix.RawSockaddrInet4
	var failed error
	err = raw.Control(func(fd uintptr) {
		size := uint32(unsafe.Sizeof(at))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_IP, originalDestination, uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&size)), 0)
		if errno != 0 {
			failed = errno
		}
	})
	if err == nil {
		err = failed
	}
	port := (*[2]byte)(unsafe.Pointer(&at.Port)) // in the network's order
	return netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(port[0])<<8|uint16(port[1])), err
}

// Marked dials with a mark on its packets, by which a firewall tells them from the others of this machine.
func Marked(mark int) func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, mark) })
		if err == nil {
			err = failed
		}
		return err
	}}
	return func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return d.DialContext(ctx, "tcp4", to.String())
	}
}

// Plain dials without any ado.
func Plain(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// setUserTimeout ends a connection when bytes that were sent stay unacknowledged for so long (RFC 5482). Where the system refuses, the
// connection lives as long as TCP lets it.
func setUserTimeout(c *net.TCPConn, d time.Duration) {
	control(c, func(fd int) {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(max(d.Milliseconds(), 1)))
	})
}

// tcpEstablished is Linux's TCP_ESTABLISHED: neither side has closed.
const tcpEstablished = 1

// closed reports whether the peer has closed a connection, be it behind bytes that were not read yet.
func closed(c *net.TCPConn) bool {
	info := told(c)
	return info != nil && info.State != tcpEstablished
}

// sentAgain reports whether something that was sent had to be sent again; of a connection that is just open that is its first packet.
func sentAgain(c *net.TCPConn) bool {
	info := told(c)
	return info != nil && info.Total_retrans > 0
}

// told is what the kernel tells of a connection (tcp(7), TCP_INFO); nil if it tells nothing.
func told(c *net.TCPConn) (info *unix.TCPInfo) {
	control(c, func(fd int) {
		if got, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			info = got
		}
	})
	return info
}

func control(c *net.TCPConn, do func(fd int)) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { do(int(fd)) }) // fails on a closed connection only
	}
}
