package agent

import (
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tidemark/world"
)

// slow is the kernel's traffic control with a rate in the place of each delay: not every kernel has netem.
type slow struct{ *netlink.Handle }

func rated(q netlink.Qdisc) netlink.Qdisc {
	const rate = 1 << 20
	if n, ok := q.(*netlink.Netem); ok {
		return &netlink.Tbf{QdiscAttrs: n.QdiscAttrs, Rate: rate, Limit: rate, Buffer: netlink.Xmittime(rate, 100_000)}
	}
	return q
}

func (s slow) QdiscReplace(q netlink.Qdisc) error { return s.Handle.QdiscReplace(rated(q)) }

// TestThePacketsOfAPeerGoToItsClass asks the kernel, in a network namespace of the test's own: what is for a peer goes to its class while that is late, and
// what is for others never does.
func TestThePacketsOfAPeerGoToItsClass(t *testing.T) {
	runtime.LockOSThread() // for good: the thread ends with the test, and its namespace too
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("a network namespace takes CAP_SYS_ADMIN: %v", err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	h, err := netlink.NewHandle()
	must(err)
	defer h.Close()
	if err := h.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "near"}, PeerName: "far"}); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skipf("the kernel has no veth: %v", err)
	}
	near, err := h.LinkByName("near")
	must(err)
	far, err := h.LinkByName("far")
	must(err)
	own, err := netlink.ParseAddr("10.0.0.1/24")
	must(err)
	must(h.AddrAdd(near, own))
	must(h.LinkSetUp(near))
	must(h.LinkSetUp(far))
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	must(err)
	defer unix.Close(socket) //nolint:errcheck // it has sent what it had to
	send := func(peer netip.Addr) {
		t.Helper()
		must(h.NeighSet(&netlink.Neigh{LinkIndex: near.Attrs().Index, IP: peer.AsSlice(), HardwareAddr: far.Attrs().HardwareAddr, State: netlink.NUD_PERMANENT}))
		must(unix.Sendto(socket, []byte("hello"), 0, &unix.SockaddrInet4{Port: 9, Addr: peer.As4()}))
	}
	passed := func() (packets uint32) {
		t.Helper()
		classes, err := h.ClassList(near, netlink.HANDLE_NONE)
		must(err)
		for _, c := range classes {
			if a := c.Attrs(); a.Handle == netlink.MakeHandle(rootHandle, classFirst) && a.Statistics != nil {
				packets += a.Statistics.Basic.Packets
			}
		}
		return packets
	}
	s := newShaper()
	s.tc = slow{h}
	peer, other := netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	must(s.add(Lag{peer, world.Lag{By: time.Second}}))
	send(peer)
	send(other)
	if got := passed(); got != 1 {
		t.Errorf("%d packets in the peer's class, expected the one that was for it", got)
	}
	must(s.add(Lag{other, world.Lag{By: time.Second}}))
	must(s.end(peer))
	if left, err := h.FilterList(near, netlink.MakeHandle(rootHandle, 0)); err != nil || len(left) == 0 {
		t.Errorf("%d filters, %v, expected that the other peer's stays", len(left), err)
	}
	send(peer)
	if got := passed(); got != 1 {
		t.Errorf("%d packets in the peer's class, expected no more once nothing is late", got)
	}
	must(s.add(Lag{peer, world.Lag{By: 2 * time.Second}}))
	send(peer)
	if got := passed(); got != 2 {
		t.Errorf("%d packets in the peer's class, expected 2 when it is late again", got)
	}
}
