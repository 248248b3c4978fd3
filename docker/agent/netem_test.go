package agent

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"tidemark/world"
)

// fakeControl writes down what it is asked for, in the words of tc(8). Interface 1 is lo, 7 leads to peers.
type fakeControl struct {
	said    []string
	without string // a kind of qdisc that the kernel has not
	filters map[uint16]netlink.Filter
	sticky  bool // filters are not removed, though it says so
}

func (f *fakeControl) say(format string, args ...any) error {
	f.said = append(f.said, fmt.Sprintf(format, args...))
	return nil
}

func (f *fakeControl) RouteGet(net.IP) ([]netlink.Route, error) {
	return []netlink.Route{{LinkIndex: 7}}, nil
}

func (f *fakeControl) LinkByName(name string) (netlink.Link, error) {
	if name != "lo" {
		return nil, errors.New("no such interface")
	}
	return &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: 1}}, nil
}

func (f *fakeControl) qdisc(verb string, q netlink.Qdisc) error {
	a := q.Attrs()
	what := q.Type()
	if n, ok := q.(*netlink.Netem); ok {
		what += fmt.Sprintf(" delay %v jitter %v reorder %.1f%% gap %d limit %d", ticks(n.Latency), ticks(n.Jitter), 100*float64(n.ReorderProb)/(1<<32-1), n.Gap, n.Limit)
	}
	_ = f.say("qdisc %s dev %d parent %s handle %s %s", verb, a.LinkIndex, netlink.HandleStr(a.Parent), netlink.HandleStr(a.Handle), what)
	if q.Type() == f.without {
		return unix.ENOENT
	}
	return nil
}

// ticks is a time of netem's as the kernel counts it.
func ticks(n uint32) time.Duration {
	return (time.Duration(float64(n)/netlink.TickInUsec()) * time.Microsecond).Round(time.Millisecond)
}

func (f *fakeControl) QdiscAdd(q netlink.Qdisc) error     { return f.qdisc("add", q) }
func (f *fakeControl) QdiscReplace(q netlink.Qdisc) error { return f.qdisc("replace", q) }
func (f *fakeControl) QdiscDel(q netlink.Qdisc) error     { return f.qdisc("del", q) }

func (f *fakeControl) ClassAdd(c netlink.Class) error {
	a := c.Attrs()
	return f.say("class add dev %d parent %s classid %s %s", a.LinkIndex, netlink.HandleStr(a.Parent), netlink.HandleStr(a.Handle), c.Type())
}

func (f *fakeControl) filter(verb string, l netlink.Filter) error {
	u, ok := l.(*netlink.U32)
	if !ok || len(u.Sel.Keys) != 1 {
		return fmt.Errorf("filter %v, expected u32 with one key", l)
	}
	k := u.Sel.Keys[0]
	return f.say("filter %s dev %d parent %s protocol %#x prio %d u32 match u32 %#x %#x at %d flowid %s", verb, u.LinkIndex, netlink.HandleStr(u.Parent), u.Protocol, u.Priority,
		k.Val, k.Mask, k.Off, netlink.HandleStr(u.ClassId))
}

func (f *fakeControl) FilterAdd(l netlink.Filter) error {
	if f.filters == nil {
		f.filters = map[uint16]netlink.Filter{}
	}
	f.filters[l.Attrs().Priority] = l
	return f.filter("add", l)
}

func (f *fakeControl) FilterDel(l netlink.Filter) error {
	if _, there := f.filters[l.Attrs().Priority]; !there {
		return unix.ENOENT
	}
	if !f.sticky {
		delete(f.filters, l.Attrs().Priority)
	}
	return f.filter("del", l)
}

func (f *fakeControl) FilterList(netlink.Link, uint32) ([]netlink.Filter, error) {
	return slices.Collect(maps.Values(f.filters)), nil
}

func shaping(f *fakeControl) *shaper {
	s := newShaper()
	s.tc = f
	return s
}

// TestNetemOnTheWayToAPeer delays what goes to two peers, one of them twice: each has a class, which stays.
func TestNetemOnTheWayToAPeer(t *testing.T) {
	f := &fakeControl{}
	s := shaping(f)
	two, three := netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	for _, err := range []error{
		s.add(Lag{two, world.Lag{By: 100 * time.Millisecond, Jitter: 50 * time.Millisecond, Reorder: 0.1}}),
		s.add(Lag{three, world.Lag{By: 10 * time.Second}}),
		s.end(two),
		s.add(Lag{two, world.Lag{By: 200 * time.Millisecond}}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := `qdisc add dev 7 parent root handle 1:0 htb
class add dev 7 parent 1:0 classid 1:2 htb
qdisc replace dev 7 parent 1:2 handle 2:0 netem delay 100ms jitter 50ms reorder 10.0% gap 1 limit 100000
filter add dev 7 parent 1:0 protocol 0x800 prio 2 u32 match u32 0xa000002 0xffffffff at 16 flowid 1:2
class add dev 7 parent 1:0 classid 1:3 htb
qdisc replace dev 7 parent 1:3 handle 3:0 netem delay 10s jitter 0s reorder 0.0% gap 0 limit 100000
filter add dev 7 parent 1:0 protocol 0x800 prio 3 u32 match u32 0xa000003 0xffffffff at 16 flowid 1:3
filter del dev 7 parent 1:0 protocol 0x800 prio 2 u32 match u32 0xa000002 0xffffffff at 16 flowid 1:2
qdisc replace dev 7 parent 1:2 handle 2:0 netem delay 200ms jitter 0s reorder 0.0% gap 0 limit 100000
filter add dev 7 parent 1:0 protocol 0x800 prio 2 u32 match u32 0xa000002 0xffffffff at 16 flowid 1:2`
	if got := strings.Join(f.said, "\n"); got != want {
		t.Errorf("the kernel was asked for\n%s\nexpected\n%s", got, want)
	}
	if s.add(Lag{two, world.Lag{By: time.Second}}) == nil || s.end(netip.MustParseAddr("10.0.0.4")) == nil || s.add(Lag{netip.MustParseAddr("::1"), world.Lag{By: time.Second}}) == nil {
		t.Error("a second lag, the end of none, or a peer that has no IPv4 address was taken")
	}
	// What the kernel says that it removed is looked for: a lag that stays is told, and ends when it is tried again.
	f.sticky = true
	if err := s.end(three); err == nil || !strings.Contains(err.Error(), "still there") {
		t.Errorf("a filter that stayed gave %v", err)
	}
	f.sticky = false
	if err := s.end(three); err != nil || len(f.filters) != 1 {
		t.Errorf("%v, %d filters left, expected that of the other peer", err, len(f.filters))
	}
}

// TestAKernelWithoutNetem is asked once.
func TestAKernelWithoutNetem(t *testing.T) {
	f := &fakeControl{without: "netem"}
	s := shaping(f)
	for range 2 {
		if n := s.has(); n.Has || !strings.Contains(n.Why, "no netem") {
			t.Errorf("%+v", n)
		}
	}
	if len(f.said) != 1 {
		t.Errorf("it was asked for %q, expected one", f.said)
	}
	f = &fakeControl{}
	if n := shaping(f).has(); !n.Has || len(f.said) != 2 {
		t.Errorf("%+v, asked for %q, expected that it has, and one that came and went", n, f.said)
	}
}

// TestATransitIsMeasured sends a message over the loopback interface by TCP and UDP: when it came is not before when it went.
func TestATransitIsMeasured(t *testing.T) {
	a, client := started(t, nil)
	if _, err := client.Transit(t.Context(), Transit{Nonce: "short", To: netip.MustParseAddr("127.0.0.1"), For: time.Second}); err == nil {
		t.Error("a short nonce was taken")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go a.probes.accept(l)
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	sent := now()
	if _, err := c.Write([]byte("nonce-by-tcp")); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	got, err := client.Await(t.Context(), Probe{Nonce: "nonce-by-tcp", For: 5 * time.Second})
	if err != nil || !got.Passed || got.At < sent || got.At > now() {
		t.Errorf("%+v, %v, expected between %v and now", got, err, sent)
	}
}
