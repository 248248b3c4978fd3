package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// probeEvery is how often a probe is sent again: a lost packet is not a cut link.
const probeEvery = 20 * time.Millisecond

// Bounds of probes.
const (
	nonceMin   = 8
	nonceMax   = 64
	arrivedMax = 4096 // nonces kept
)

// probes sends and awaits messages that need no answer, so that a link is tried in one direction.
type probes struct {
	sockets map[uint16]net.PacketConn // by the ports that probes name

	mu      sync.Mutex
	arrived map[string]time.Duration // when, on the machine's clock
	order   []string                 // of arrival; the oldest are forgotten
	changed chan struct{}            // closed at the next arrival
}

func newProbes(sockets map[uint16]net.PacketConn) *probes {
	p := &probes{sockets: sockets, arrived: map[string]time.Duration{}, changed: make(chan struct{})}
	for _, s := range sockets {
		go p.receive(s)
	}
	return p
}

// listenProbes takes in what comes at some ports.
func listenProbes(ports ...uint16) (*probes, error) {
	sockets := map[uint16]net.PacketConn{}
	for _, port := range ports {
		s, err := net.ListenPacket("udp4", ":"+strconv.Itoa(int(port)))
		if err != nil {
			return nil, errors.Join(err, (&probes{sockets: sockets}).close())
		}
		sockets[port] = s
	}
	return newProbes(sockets), nil
}

func (p *probes) close() error {
	var errs []error
	for _, s := range p.sockets {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// receive takes in what comes until the socket is closed.
func (p *probes) receive(from net.PacketConn) {
	buf := make([]byte, nonceMax+1)
	for {
		n, _, err := from.ReadFrom(buf)
		if err != nil {
			return
		}
		if n >= nonceMin && n <= nonceMax {
			p.note(string(buf[:n]))
		}
	}
}

func (p *probes) note(nonce string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, again := p.arrived[nonce]; again {
		return
	}
	if len(p.order) == arrivedMax {
		delete(p.arrived, p.order[0])
		p.order = p.order[1:]
	}
	p.arrived[nonce] = now()
	p.order = append(p.order, nonce)
	close(p.changed)
	p.changed = make(chan struct{})
}

// send sends a probe until ctx ends: whoever awaits it ends the request once it has arrived.
func (p *probes) send(ctx context.Context, probe Probe) Answer {
	if len(probe.Nonce) < nonceMin || len(probe.Nonce) > nonceMax {
		return Answer{Why: fmt.Sprintf("nonce of %d bytes, expected %d to %d", len(probe.Nonce), nonceMin, nonceMax)}
	}
	port := probe.Port
	if port == 0 {
		port = ProbePort
	}
	socket, ok := p.sockets[port]
	if !ok {
		return Answer{Why: fmt.Sprintf("port %d, expected one at which this agent listens", port)}
	}
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(probe.To, port))
	again := time.NewTicker(probeEvery)
	defer again.Stop()
	for {
		_, err := socket.WriteTo([]byte(probe.Nonce), to)
		select {
		case <-ctx.Done():
			if err != nil {
				return Answer{Why: err.Error()}
			}
			return Answer{Passed: true}
		case <-again.C:
		}
	}
}

// await waits until a probe arrives or ctx ends.
func (p *probes) await(ctx context.Context, probe Probe) Answer {
	for {
		p.mu.Lock()
		at, arrived := p.arrived[probe.Nonce]
		changed := p.changed
		p.mu.Unlock()
		if arrived {
			return Answer{Passed: true, At: at}
		}
		select {
		case <-ctx.Done():
			return Answer{Why: "nothing arrived"}
		case <-changed:
		}
	}
}

// connect tries a TCP connection to a peer, which takes both directions.
func connect(ctx context.Context, probe Probe, dial func(context.Context, netip.AddrPort) (net.Conn, error)) Answer {
	c, err := dial(ctx, netip.AddrPortFrom(probe.To, probe.Port))
	if err != nil {
		return Answer{Why: err.Error()}
	}
	_ = c.Close() // only whether it opens is asked
	return Answer{Passed: true}
}
