package agent

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"tidemark/docker/proxy"
	"tidemark/history"
	"tidemark/world"
)

// Ports of an agent through whose proxy messages pass: where redirected connections arrive, and one that leads past the proxy to the broker,
// for the harness's own connections, which no fault on messages concerns.
const (
	ProxyPort    = 9193
	StraightPort = 9194
)

// proxyMark is on the packets of the proxy's own connections: they are not redirected again.
const proxyMark = 0x7469

// peersMax bounds the brokers and ports that an interception names.
const peersMax = 256

// Interception says which connections an agent's proxy stands on: those that its broker opens to other brokers, so that these still come from
// the address of who opened them, where cuts look; and those that clients open to its broker. A broker is known by its address, a client by not
// being one.
type Interception struct {
	Peers []Peer `json:"peers"` // the other brokers
	// Between are the ports at which brokers reach each other.
	Between []Between `json:"between"`
	Clients []uint16  `json:"clients"` // the ports at which clients reach the broker; the first is where StraightPort leads
}

// Peer is another broker.
type Peer struct {
	ID      history.BrokerID `json:"id"`
	Address netip.Addr       `json:"address"`
}

// Between is a port at which brokers reach each other.
type Between struct {
	Port   uint16 `json:"port"`
	Quorum bool   `json:"quorum,omitempty"` // controllers listen there
	Unread bool   `json:"unread,omitempty"` // agents listen there: it is nothing of Kafka's
	// Patience is how long bytes that were sent there may go unacknowledged, as brokers themselves have it; 0 is as long as TCP allows.
	Patience time.Duration `json:"patience"`
}

func (i Interception) check() error {
	if len(i.Peers) > peersMax || len(i.Between) > peersMax || len(i.Clients) == 0 || len(i.Clients) > peersMax {
		return fmt.Errorf("interception of %d peers at %d ports, and of clients at %d, expected at most %d of each and a port for clients", len(i.Peers), len(i.Between), len(i.Clients), peersMax)
	}
	for _, p := range i.Peers {
		if !p.Address.Is4() {
			return fmt.Errorf("peer %d at %q, expected an IPv4 address", p.ID, p.Address)
		}
	}
	return nil
}

// interceptor is the proxy of an agent, once it is in force, and what leads connections to it.
type interceptor struct {
	broker history.BrokerID

	mu    sync.Mutex
	proxy *proxy.Proxy // nil before
}

// get is the proxy, an error before it is in force.
func (i *interceptor) get() (*proxy.Proxy, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.proxy == nil {
		return nil, fmt.Errorf("no connection of broker %d is intercepted, expected an interception first", i.broker)
	}
	return i.proxy, nil
}

// past dials past the proxy, which would take any connection.
func (i *interceptor) past() func(context.Context, netip.AddrPort) (net.Conn, error) {
	if _, err := i.get(); err != nil {
		return proxy.Plain
	}
	return proxy.Marked(proxyMark)
}

// start puts the proxy in force. Connections that are open stay as they are.
func (i *interceptor) start(what Interception) error {
	if err := what.check(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.proxy != nil {
		return fmt.Errorf("the connections of broker %d are intercepted already", i.broker)
	}
	listener, err := net.Listen("tcp4", ":"+strconv.Itoa(ProxyPort))
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	if err := redirect(what); err != nil {
		_ = listener.Close() // nothing was accepted
		return fmt.Errorf("connections cannot be redirected in this network namespace (it takes the kernel's nf_nat and nft_redir): %w", err)
	}
	i.proxy = proxy.New(proxy.Options{Route: what.router(i.broker), Dial: proxy.Marked(proxyMark)})
	go func() { _ = i.proxy.Serve(listener) }() // for as long as the process lives
	return nil
}

// router tells where redirected connections lead: to a peer, from this broker, or to this broker, from a client.
func (i Interception) router(self history.BrokerID) func(net.Conn) (proxy.Route, error) {
	return func(c net.Conn) (proxy.Route, error) {
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			return proxy.Route{}, fmt.Errorf("connection %v is none of TCP", c)
		}
		to, err := proxy.Original(tcp)
		if err != nil {
			return proxy.Route{}, fmt.Errorf("where the connection from %v led: %w", c.RemoteAddr(), err)
		}
		return i.route(self, to)
	}
}

func (i Interception) route(self history.BrokerID, to netip.AddrPort) (proxy.Route, error) {
	at := slices.IndexFunc(i.Peers, func(p Peer) bool { return p.Address == to.Addr() })
	if at < 0 {
		if !slices.Contains(i.Clients, to.Port()) {
			return proxy.Route{}, fmt.Errorf("a connection to port %d here, expected one of %v", to.Port(), i.Clients)
		}
		return proxy.Route{To: to, Link: world.Link{From: history.NoBroker, To: self}}, nil
	}
	r := proxy.Route{To: to, Link: world.Link{From: self, To: i.Peers[at].ID}}
	for _, b := range i.Between {
		if b.Port == to.Port() {
			r.Patience, r.Quorum, r.Unread = b.Patience, b.Quorum, b.Unread
		}
	}
	return r, nil
}

// redirect leads connections to the proxy, by a table of its own.
func redirect(what Interception) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "tidemark-proxy"})
	c.FlushTable(table)
	chain := func(name string, hook *nftables.ChainHook) *nftables.Chain {
		return c.AddChain(&nftables.Chain{Table: table, Name: name, Type: nftables.ChainTypeNAT, Hooknum: hook, Priority: nftables.ChainPriorityNATDest})
	}
	out, in := chain("out", nftables.ChainHookOutput), chain("in", nftables.ChainHookPrerouting)
	for _, p := range what.Peers {
		for _, b := range what.Between {
			c.AddRule(&nftables.Rule{Table: table, Chain: out, Exprs: slices.Concat(
				unmarked(), address(atDestination, p.Address, expr.CmpOpEq), ofPort(unix.IPPROTO_TCP, atDestinationPort, b.Port), toPort(ProxyPort))})
		}
	}
	var noPeer []expr.Any
	for _, p := range what.Peers {
		noPeer = append(noPeer, address(atSource, p.Address, expr.CmpOpNeq)...)
	}
	for _, port := range what.Clients {
		c.AddRule(&nftables.Rule{Table: table, Chain: in, Exprs: slices.Concat(noPeer, ofPort(unix.IPPROTO_TCP, atDestinationPort, port), toPort(ProxyPort))})
	}
	c.AddRule(&nftables.Rule{Table: table, Chain: in, Exprs: slices.Concat(
		ofPort(unix.IPPROTO_TCP, atDestinationPort, StraightPort), toPort(what.Clients[0]))})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	return nil
}

func unmarked() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyMARK, Register: 1},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: binaryutil.NativeEndian.PutUint32(proxyMark)},
	}
}

// toPort leads a connection to a port of this machine.
func toPort(port uint16) []expr.Any {
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: binaryutil.BigEndian.PutUint16(port)},
		&expr.Redir{RegisterProtoMin: 1},
	}
}
