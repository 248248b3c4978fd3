package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"tidemark/world"
)

// Lag delays what goes from an agent's namespace to a peer.
type Lag struct {
	Peer netip.Addr `json:"peer"`
	world.Lag
}

func (l Lag) check() error {
	if !l.Peer.Is4() {
		return fmt.Errorf("peer %q, expected an IPv4 address", l.Peer)
	}
	return l.Check()
}

// Netem is whether the kernel delays packets by itself.
type Netem struct {
	Has bool   `json:"has"`
	Why string `json:"why,omitempty"` // it does not
}

// control is what of the kernel's traffic control delays take: tc(8).
type control interface {
	RouteGet(to net.IP) ([]netlink.Route, error)
	LinkByName(name string) (netlink.Link, error)
	QdiscAdd(netlink.Qdisc) error
	QdiscReplace(netlink.Qdisc) error
	QdiscDel(netlink.Qdisc) error
	ClassAdd(netlink.Class) error
	FilterAdd(netlink.Filter) error
	FilterDel(netlink.Filter) error
	FilterList(link netlink.Link, parent uint32) ([]netlink.Filter, error)
}

// shaper delays packets by netem: on the interface that leads to a peer, in a class of its own, to which a filter leads what is for that peer's address.
// All else passes the root unclassified, which costs it no time.
type shaper struct {
	tc control

	mu      sync.Mutex
	tried   *Netem
	rooted  map[int]bool // by interface
	classes map[netip.Addr]uint16
	late    map[netip.Addr]bool
}

// The handles of the qdiscs, and what they hold.
const (
	rootHandle  = 1
	classFirst  = 2
	peersLate   = 1024
	classRate   = 10_000_000_000 // bits a second: more than a bridge passes
	directQueue = 1000           // packets that wait in the root, as in a queue of the kernel's own
	netemQueue  = 100_000        // packets under way; beyond that netem drops
)

// has tries once whether the kernel has netem, on the loopback interface.
func (s *shaper) has() Netem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried == nil {
		found := Netem{Has: true}
		if err := s.try(); err != nil {
			found = Netem{Why: err.Error()}
		}
		s.tried = &found
	}
	return *s.tried
}

func (s *shaper) try() error {
	lo, err := s.tc.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("the loopback interface: %w", err)
	}
	q := netem(lo.Attrs().Index, netlink.HANDLE_ROOT, netlink.MakeHandle(rootHandle, 0), world.Lag{})
	switch err := s.tc.QdiscAdd(q); {
	case errors.Is(err, unix.ENOENT):
		return errors.New("the kernel has no netem (CONFIG_NET_SCH_NETEM; modprobe sch_netem)")
	case err != nil:
		return fmt.Errorf("netem: %w", err)
	}
	if err := s.tc.QdiscDel(q); err != nil {
		return fmt.Errorf("netem cannot be removed again: %w", err)
	}
	return nil
}

// netem is a qdisc that delays.
func netem(link int, parent, handle uint32, l world.Lag) *netlink.Netem {
	return netlink.NewNetem(netlink.QdiscAttrs{LinkIndex: link, Parent: parent, Handle: handle}, netlink.NetemQdiscAttrs{
		Latency: uint32(l.By / time.Microsecond), Jitter: uint32(l.Jitter / time.Microsecond), ReorderProb: float32(100 * l.Reorder), Limit: netemQueue,
	})
}

// add delays what goes to a peer from now on.
func (s *shaper) add(l Lag) error {
	if err := l.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late[l.Peer] {
		return fmt.Errorf("what goes to %v is late already", l.Peer)
	}
	link, err := s.leads(l.Peer)
	if err != nil {
		return err
	}
	if err := s.root(link); err != nil {
		return err
	}
	class, known := s.classes[l.Peer]
	if !known {
		if class = uint16(classFirst + len(s.classes)); len(s.classes) >= peersLate {
			return fmt.Errorf("what goes to %d peers was late, expected fewer than %d", len(s.classes), peersLate)
		}
		of := netlink.NewHtbClass(netlink.ClassAttrs{LinkIndex: link, Parent: netlink.MakeHandle(rootHandle, 0), Handle: netlink.MakeHandle(rootHandle, class)},
			netlink.HtbClassAttrs{Rate: classRate})
		if err := s.tc.ClassAdd(of); err != nil {
			return fmt.Errorf("a class for %v: %w", l.Peer, err)
		}
		s.classes[l.Peer] = class
	}
	if err := s.tc.QdiscReplace(netem(link, netlink.MakeHandle(rootHandle, class), netlink.MakeHandle(class, 0), l.Lag)); err != nil {
		return fmt.Errorf("netem for %v: %w", l.Peer, err)
	}
	if err := s.tc.FilterAdd(toPeer(link, class, l.Peer)); err != nil {
		return fmt.Errorf("a filter for %v: %w", l.Peer, err)
	}
	s.late[l.Peer] = true
	return nil
}

// end lets what goes to a peer pass at once, and looks whether its filter is gone: it alone, the other peers' stay. The class stays, for what is under way
// in it. After an error it may be called again.
func (s *shaper) end(peer netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.late[peer] {
		return fmt.Errorf("nothing that goes to %v is late", peer)
	}
	link, err := s.leads(peer)
	if err != nil {
		return err
	}
	own := toPeer(link, s.classes[peer], peer)
	if err := s.tc.FilterDel(own); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("the filter for %v: %w", peer, err)
	}
	left, err := s.tc.FilterList(&netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: link}}, own.Parent)
	if err != nil {
		return fmt.Errorf("whether the filter for %v is gone: %w", peer, err)
	}
	if slices.ContainsFunc(left, func(f netlink.Filter) bool { return f.Attrs().Priority == own.Priority }) {
		return fmt.Errorf("the filter for %v is still there, though the kernel removed it", peer)
	}
	delete(s.late, peer)
	return nil
}

// leads finds the interface that leads to a peer.
func (s *shaper) leads(peer netip.Addr) (int, error) {
	routes, err := s.tc.RouteGet(peer.AsSlice())
	if err == nil && len(routes) == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		return 0, fmt.Errorf("the route to %v: %w", peer, err)
	}
	return routes[0].LinkIndex, nil
}

// root puts the qdisc that has the classes on an interface, once.
func (s *shaper) root(link int) error {
	if s.rooted[link] {
		return nil
	}
	q := netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: link, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(rootHandle, 0)})
	queue := uint32(directQueue)
	q.DirectQlen = &queue
	if err := s.tc.QdiscAdd(q); err != nil {
		return fmt.Errorf("the kernel's htb (CONFIG_NET_SCH_HTB): %w", err)
	}
	s.rooted[link] = true
	return nil
}

// toPeer is the filter that leads packets for a peer's address to its class. Its priority is its own, by which it is removed.
func toPeer(link int, class uint16, peer netip.Addr) *netlink.U32 {
	a := peer.As4()
	return &netlink.U32{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: link, Parent: netlink.MakeHandle(rootHandle, 0), Priority: class, Protocol: unix.ETH_P_IP},
		ClassId:     netlink.MakeHandle(rootHandle, class),
		Sel: &netlink.TcU32Sel{
			Flags: nl.TC_U32_TERMINAL, Nkeys: 1,
			Keys: []netlink.TcU32Key{{Mask: ^uint32(0), Val: binary.BigEndian.Uint32(a[:]), Off: atDestination}},
		},
	}
}

func newShaper() *shaper {
	return &shaper{tc: &netlink.Handle{}, rooted: map[int]bool{}, classes: map[netip.Addr]uint16{}, late: map[netip.Addr]bool{}}
}
