package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/docker/proxy"
	"tidemark/world"
)

// Bytes is a lag of the bytes that the agent's proxy passes on a link.
type Bytes struct {
	Link world.Link `json:"link"`
	Lag  world.Lag  `json:"lag"`
}

// Transit is one message whose way to a peer's agent is measured: it goes once.
type Transit struct {
	Nonce string     `json:"nonce"`
	To    netip.Addr `json:"to"`
	// Stream is by TCP, as what brokers send each other, which the agent's proxy takes if it is in force; else by UDP.
	Stream bool          `json:"stream"`
	For    time.Duration `json:"for"`
}

// now is the machine's monotonic clock.
func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it has one
	return time.Duration(t.Nano())
}

// serveLags serves what delays packets, and what measures that.
func (a *Agent) serveLags(mux *http.ServeMux) {
	mux.HandleFunc("GET /netem", func(w http.ResponseWriter, _ *http.Request) { answer(w, a.shaper.has(), nil) })
	mux.HandleFunc("POST /lags", func(w http.ResponseWriter, r *http.Request) {
		var l Lag
		if decode(w, r, &l) {
			answer(w, struct{}{}, a.shaper.add(l))
		}
	})
	mux.HandleFunc("DELETE /lags", func(w http.ResponseWriter, r *http.Request) {
		var peer netip.Addr
		if decode(w, r, &peer) {
			answer(w, struct{}{}, a.shaper.end(peer))
		}
	})
	handle(mux, "POST /proxy/lags", &a.messages, func(_ context.Context, p *proxy.Proxy, b Bytes) (any, error) {
		return struct{}{}, p.Lag(b.Link, b.Lag)
	})
	handle(mux, "DELETE /proxy/lags", &a.messages, func(_ context.Context, p *proxy.Proxy, at world.Link) (any, error) {
		return struct{}{}, p.EndLag(at)
	})
	mux.HandleFunc("POST /transit", func(w http.ResponseWriter, r *http.Request) {
		var t Transit
		if !decode(w, r, &t) {
			return
		}
		if len(t.Nonce) < nonceMin || len(t.Nonce) > nonceMax || !t.To.Is4() || t.For <= 0 || t.For > probeTimeMax {
			answer(w, nil, fmt.Errorf("a message %q to %v within %v, expected %d to %d bytes, an IPv4 address, and at most %v", t.Nonce, t.To, t.For, nonceMin, nonceMax, probeTimeMax))
			return
		}
		at, err := a.probes.once(r.Context(), t)
		answer(w, Answer{Passed: err == nil, At: at}, err)
	})
}

// once sends a message to a peer's agent, and tells when it went.
func (p *probes) once(ctx context.Context, t Transit) (at time.Duration, err error) {
	to := netip.AddrPortFrom(t.To, ProbePort)
	if !t.Stream {
		at = now()
		_, err = p.sockets[ProbePort].WriteTo([]byte(t.Nonce), net.UDPAddrFromAddrPort(to))
		return at, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.For)
	defer cancel()
	c, err := proxy.Plain(ctx, to)
	if err != nil {
		return 0, err
	}
	at = now()
	_, err = c.Write([]byte(t.Nonce))
	_ = c.Close() // what was sent arrives nevertheless
	return at, err
}

// accept takes in what comes by TCP, until the listener is closed: a connection brings one message.
func (p *probes) accept(from net.Listener) {
	for {
		c, err := from.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()                                     //nolint:errcheck // it has told what it had to
			_ = c.SetReadDeadline(time.Now().Add(probeTimeMax)) // fails on a closed connection only
			nonce, err := io.ReadAll(io.LimitReader(c, nonceMax+1))
			if n := len(nonce); err == nil && n >= nonceMin && n <= nonceMax {
				p.note(string(nonce))
			}
		}()
	}
}

// Netem asks whether the kernel delays packets by itself.
func (c Client) Netem(ctx context.Context) (n Netem, err error) {
	return n, c.call(ctx, http.MethodGet, "/netem", nil, &n, answerBytesMax)
}

// Lag delays what goes to a peer, by netem.
func (c Client) Lag(ctx context.Context, l Lag) error {
	return c.call(ctx, http.MethodPost, "/lags", l, nil, answerBytesMax)
}

// EndLag ends it.
func (c Client) EndLag(ctx context.Context, peer netip.Addr) error {
	return c.call(ctx, http.MethodDelete, "/lags", peer, nil, answerBytesMax)
}

// LagBytes delays what the agent's proxy passes on a link.
func (c Client) LagBytes(ctx context.Context, b Bytes) error {
	return c.call(ctx, http.MethodPost, "/proxy/lags", b, nil, answerBytesMax)
}

// EndLagBytes ends it.
func (c Client) EndLagBytes(ctx context.Context, at world.Link) error {
	return c.call(ctx, http.MethodDelete, "/proxy/lags", at, nil, answerBytesMax)
}

// Transit sends one message, and tells when it went.
func (c Client) Transit(ctx context.Context, t Transit) (a Answer, err error) {
	return a, c.call(ctx, http.MethodPost, "/transit", t, &a, answerBytesMax)
}
