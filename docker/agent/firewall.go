package agent

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// firewall is the rules in force in this network namespace, in a table of its own. The kernel's table is made anew, in one
// transaction, whenever the rules change.
type firewall struct {
	mu    sync.Mutex
	rules []Rule
	table *nftables.Table
	in    *nftables.Chain
	out   *nftables.Chain
}

func newFirewall() (*firewall, error) {
	f := &firewall{table: &nftables.Table{Family: nftables.TableFamilyIPv4, Name: "tidemark"}}
	f.in = f.chain("in", nftables.ChainHookInput)
	f.out = f.chain("out", nftables.ChainHookOutput)
	if err := f.install(nil); err != nil {
		return nil, fmt.Errorf("nf_tables does not work in this network namespace (it takes the kernel's nf_tables and CAP_NET_ADMIN): %w", err)
	}
	return f, nil
}

func (f *firewall) chain(name string, hook *nftables.ChainHook) *nftables.Chain {
	return &nftables.Chain{Table: f.table, Name: name, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: nftables.ChainPriorityFilter}
}

func (f *firewall) add(r Rule) error {
	if err := r.check(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case slices.Contains(f.rules, r):
		return fmt.Errorf("rule %+v is in force already", r)
	case len(f.rules) >= rulesMax:
		return fmt.Errorf("%d rules are in force, expected fewer than %d", len(f.rules), rulesMax)
	}
	return f.install(append(slices.Clone(f.rules), r))
}

func (f *firewall) remove(r Rule) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.rules, r)
	if i < 0 {
		return fmt.Errorf("rule %+v is not in force", r)
	}
	return f.install(slices.Delete(slices.Clone(f.rules), i, i+1))
}

// install puts rules in force in place of those that are. The lock is held.
func (f *firewall) install(rules []Rule) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	c.AddTable(f.table)
	c.AddChain(f.in)
	c.AddChain(f.out)
	c.FlushTable(f.table)
	for _, r := range rules {
		c.AddRule(&nftables.Rule{Table: f.table, Chain: f.chainOf(r.Direction), Exprs: expressions(r)})
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	f.rules = rules
	return nil
}

func (f *firewall) chainOf(d Direction) *nftables.Chain {
	if d == In {
		return f.in
	}
	return f.out
}

// Where a field stands in an IPv4 header, and in that of TCP.
const (
	atSource      = 12
	atDestination = 16
	atPort        = 2
)

// lossSteps is how finely a loss can be set.
const lossSteps = 1_000_000

// expressions is a rule in the kernel's words: every test must hold, then the packet is counted and dropped.
func expressions(r Rule) []expr.Any {
	at := uint32(atSource)
	if r.Direction == Out {
		at = atDestination
	}
	peer := r.Peer.As4()
	out := []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: at, Len: 4},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: peer[:]},
	}
	if r.Port != 0 {
		out = append(out,
			&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: atPort, Len: 2},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(r.Port)},
		)
	}
	if r.Loss < 1 {
		most := binary.BigEndian.AppendUint32(nil, uint32(math.Round(r.Loss*lossSteps)))
		out = append(out,
			&expr.Numgen{Register: 1, Type: unix.NFT_NG_RANDOM, Modulus: lossSteps},
			&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
			&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: most},
		)
	}
	return append(out, &expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop})
}

// list returns the rules that the kernel has, with what each has dropped since the rules last changed.
func (f *firewall) list() ([]Counted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("nftables: %w", err)
	}
	counted := []Counted{}
	for _, d := range []Direction{In, Out} {
		known := slices.DeleteFunc(slices.Clone(f.rules), func(r Rule) bool { return r.Direction != d })
		inForce, err := c.GetRules(f.table, f.chainOf(d))
		if err != nil {
			return nil, fmt.Errorf("nftables: %w", err)
		}
		if len(inForce) != len(known) {
			return nil, fmt.Errorf("the kernel has %d rules for packets %s, expected %d", len(inForce), d, len(known))
		}
		for i, r := range inForce {
			rule := Counted{Rule: known[i]}
			for _, e := range r.Exprs {
				if n, ok := e.(*expr.Counter); ok {
					rule.Dropped = n.Packets
				}
			}
			counted = append(counted, rule)
		}
	}
	return counted, nil
}
