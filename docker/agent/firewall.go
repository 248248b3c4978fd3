package agent

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// firewall is the rules in force in this network namespace, in a table of its own. Each comes and goes by itself, so that the
// counters of the others go on.
type firewall struct {
	mu    sync.Mutex
	rules []numbered
	last  uint64
	table *nftables.Table
	in    *nftables.Chain
	out   *nftables.Chain
}

// numbered is a rule in force. Those of the kernel's rules that make it up carry its number as their comment.
type numbered struct {
	Rule
	number uint64
}

func newFirewall() (*firewall, error) {
	f := &firewall{table: &nftables.Table{Family: nftables.TableFamilyIPv4, Name: "tidemark"}}
	f.in = f.chain("in", nftables.ChainHookInput)
	f.out = f.chain("out", nftables.ChainHookOutput)
	err := f.change(func(c *nftables.Conn) error {
		c.AddTable(f.table)
		c.AddChain(f.in)
		c.AddChain(f.out)
		c.FlushTable(f.table) // of an agent that was here before
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("nf_tables does not work in this network namespace (it takes the kernel's nf_tables and CAP_NET_ADMIN): %w", err)
	}
	return f, nil
}

func (f *firewall) chain(name string, hook *nftables.ChainHook) *nftables.Chain {
	return &nftables.Chain{Table: f.table, Name: name, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: nftables.ChainPriorityFilter}
}

// change carries out what is asked for in one transaction.
func (f *firewall) change(ask func(*nftables.Conn) error) error {
	c, err := nftables.New()
	if err == nil {
		err = ask(c)
	}
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	return nil
}

func (f *firewall) find(r Rule) int {
	return slices.IndexFunc(f.rules, func(n numbered) bool { return n.Rule == r })
}

func (f *firewall) add(r Rule) error {
	if err := r.check(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.find(r) >= 0:
		return fmt.Errorf("rule %+v is in force already", r)
	case len(f.rules) >= rulesMax:
		return fmt.Errorf("%d rules are in force, expected fewer than %d", len(f.rules), rulesMax)
	}
	n := numbered{r, f.last + 1}
	err := f.change(func(c *nftables.Conn) error {
		for _, exprs := range expressions(r) {
			c.AddRule(&nftables.Rule{Table: f.table, Chain: f.chainOf(r.Direction), Exprs: exprs, UserData: n.comment()})
		}
		return nil
	})
	if err != nil {
		return err
	}
	f.last = n.number
	f.rules = append(f.rules, n)
	return nil
}

// remove ends a rule and returns what it has dropped.
func (f *firewall) remove(r Rule) (Counted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(r)
	if i < 0 {
		return Counted{}, fmt.Errorf("rule %+v is not in force", r)
	}
	n := f.rules[i]
	var last Counted
	found := 0
	err := f.change(func(c *nftables.Conn) error {
		inForce, err := c.GetRules(f.table, f.chainOf(r.Direction))
		if err != nil {
			return err
		}
		last, inForce = n.among(inForce)
		found = len(inForce)
		for _, k := range inForce {
			if err := c.DelRule(k); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Counted{}, err
	}
	if made := len(expressions(r)); found < made {
		return last, fmt.Errorf("rule %+v: somebody else removed %d of the %d rules that the kernel had for it", r, made-found, made)
	}
	f.rules = slices.Delete(f.rules, i, i+1)
	return last, nil
}

// list returns the rules in force, with what each has dropped so far. One that the kernel has and this does not know is an error, and
// the other way round.
func (f *firewall) list() ([]Counted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("nftables: %w", err)
	}
	counted := []Counted{}
	for _, d := range []Direction{In, Out} {
		inForce, err := c.GetRules(f.table, f.chainOf(d))
		if err != nil {
			return nil, fmt.Errorf("nftables: %w", err)
		}
		expected := 0
		for _, n := range f.rules {
			if n.Direction == d {
				rule, _ := n.among(inForce)
				counted = append(counted, rule)
				expected += len(expressions(n.Rule))
			}
		}
		if len(inForce) != expected {
			return nil, fmt.Errorf("the kernel has %d rules for packets %s, expected %d", len(inForce), d, expected)
		}
	}
	return counted, nil
}

func (n numbered) comment() []byte {
	return userdata.AppendString(nil, userdata.TypeComment, strconv.FormatUint(n.number, 10))
}

// among finds the kernel's rules that make up a rule, and counts what they have dropped.
func (n numbered) among(inForce []*nftables.Rule) (Counted, []*nftables.Rule) {
	counted := Counted{Rule: n.Rule}
	var its []*nftables.Rule
	for _, k := range inForce {
		if !slices.Equal(k.UserData, n.comment()) {
			continue
		}
		its = append(its, k)
		for _, e := range k.Exprs {
			if c, ok := e.(*expr.Counter); ok {
				counted.Dropped += c.Packets
			}
		}
	}
	return counted, its
}

func (f *firewall) chainOf(d Direction) *nftables.Chain {
	if d == In {
		return f.in
	}
	return f.out
}

// Where a field stands in an IPv4 header, and in those of TCP and UDP.
const (
	atSource          = 12
	atDestination     = 16
	atSourcePort      = 0
	atDestinationPort = 2
)

// lossSteps is how finely a loss can be set.
const lossSteps = 1_000_000

// expressions is a rule in the kernel's words, which know no or: of one for a port there are four, of which a packet meets at most
// one, but for a probe's datagram, which goes from a port to the same.
func expressions(r Rule) [][]expr.Any {
	if r.Port == 0 {
		return [][]expr.Any{slices.Concat(ofPeer(r), dropping(r))}
	}
	var out [][]expr.Any
	for _, protocol := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		for _, at := range []uint32{atSourcePort, atDestinationPort} {
			out = append(out, slices.Concat(ofPeer(r), ofPort(protocol, at, r.Port), dropping(r)))
		}
	}
	return out
}

func ofPeer(r Rule) []expr.Any {
	at := uint32(atSource)
	if r.Direction == Out {
		at = atDestination
	}
	return address(at, r.Peer, expr.CmpOpEq)
}

// address compares an address of a packet's header.
func address(at uint32, with netip.Addr, op expr.CmpOp) []expr.Any {
	a := with.As4()
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: at, Len: 4},
		&expr.Cmp{Op: op, Register: 1, Data: a[:]},
	}
}

func ofPort(protocol byte, at uint32, port uint16) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{protocol}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: at, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(port)},
	}
}

// dropping counts and drops a packet, by chance if the loss is below 1.
func dropping(r Rule) []expr.Any {
	var out []expr.Any
	if r.Loss < 1 {
		most := binary.BigEndian.AppendUint32(nil, uint32(math.Round(r.Loss*lossSteps)))
		out = []expr.Any{
			&expr.Numgen{Register: 1, Type: unix.NFT_NG_RANDOM, Modulus: lossSteps},
			&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
			&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: most},
		}
	}
	return append(out, &expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop})
}
