package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"

	"tidemark/history"
	"tidemark/world"
)

// crowded is a server whose kernel has room for one connection that it has not accepted yet, and has that.
func crowded(t testing.TB) net.Listener {
	t.Helper()
	l := listen(t)
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), 0) })
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	first, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	return l
}

// sentAgainTo counts the connections to a port whose first packet was sent again, and has no answer yet, by /proc/net/tcp.
func sentAgainTo(t testing.TB, port uint16) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	const synSent = "02"
	for line := range bytes.Lines(table) {
		// sl, local address, remote address, state, queues, timer, retransmissions
		f := bytes.Fields(line)
		if len(f) > 6 && bytes.HasSuffix(f[2], fmt.Appendf(nil, ":%04X", port)) && string(f[3]) == synSent && !bytes.Equal(bytes.Trim(f[6], "0"), nil) {
			n++
		}
	}
	return n
}

// TestAnOpenerThatGaveUp closes while the server's kernel lets no connection in. Once it does, nothing arrives of what it had written; who waited is served.
func TestAnOpenerThatGaveUp(t *testing.T) {
	server, front := crowded(t), listen(t)
	to := netip.MustParseAddrPort(server.Addr().String())
	s := &stage{t: t, address: front.Addr().String()}
	s.proxy = New(Options{Route: func(net.Conn) (Route, error) {
		return Route{To: to, Link: world.Link{From: history.NoBroker, To: 1}}, nil
	}})
	go func() { _ = s.proxy.Serve(front) }()
	var openers []net.Conn
	for _, word := range []string{"waits", "leaves"} {
		c, err := net.Dial("tcp4", s.address)
		s.do(err)
		defer c.Close() //nolint:errcheck // one of them is closed by then
		_, err = io.WriteString(c, word)
		s.do(err)
		openers = append(openers, c)
	}
	s.do(openers[1].Close())
	eventually(t, "both stand before the server", func() bool { return sentAgainTo(t, to.Port()) == 2 })
	const all = 3 // the one that crowds the server says nothing
	arrived := make(chan string, all)
	go func() {
		for range all {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				b := make([]byte, 16)
				n, _ := c.Read(b) // or it is reset
				arrived <- string(b[:n])
				_ = c.Close() // it has told what it had to
			}()
		}
	}()
	eventually(t, "one is refused, one passes", func() bool { got := s.proxy.Stats(); return got.Refused == 1 && got.Connections == 1 })
	for got := ""; got != "waits"; got = <-arrived {
		if got == "leaves" {
			t.Error("what somebody had written who gave up arrived")
		}
	}
}
