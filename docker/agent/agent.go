// Package agent is what runs in each broker's sidecar: it owns the network namespace that the broker joins, cuts and lossens
// links there by nftables and delays them by netem, sends and awaits probes, stands on connections where messages are to meet
// faults, reads what the broker's files hold, and wipes them. It needs CAP_NET_ADMIN and nothing else.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"tidemark/broker/disk"
	"tidemark/docker/kafkadisk"
	"tidemark/history"
)

// The ports of a broker's listeners, in its namespace.
const (
	BrokerPort     = 9092 // for brokers, and clients inside the network
	ControllerPort = 9093
)

// The ports at which an agent listens: the control API over TCP, probes from other agents over UDP and, where bytes of connections
// may be late, TCP. Probes of the broker's listeners come at the ports of these, where the broker itself uses TCP alone.
const (
	ControlPort = 9190
	ProbePort   = 9191
)

// Bounds on what an agent is asked for.
const (
	requestBytesMax = 64 << 10
	probeTimeMax    = 30 * time.Second
	rulesMax        = 1024
)

// Direction is which way packets go, seen from the agent's namespace.
type Direction string

// The directions.
const (
	In  Direction = "in"  // from the peer
	Out Direction = "out" // to the peer
)

// Rule drops packets of one direction of one peer.
type Rule struct {
	Direction Direction  `json:"direction"`
	Peer      netip.Addr `json:"peer"`
	Port      uint16     `json:"port,omitempty"` // only TCP and UDP packets from or to this port; 0 is everything
	Loss      float64    `json:"loss"`           // the share of packets that is dropped, drawn for each: above 0, at most 1
}

func (r Rule) check() error {
	switch {
	case r.Direction != In && r.Direction != Out:
		return fmt.Errorf("direction %q, expected %s or %s", r.Direction, In, Out)
	case !r.Peer.Is4():
		return fmt.Errorf("peer %q, expected an IPv4 address", r.Peer)
	case !(r.Loss > 0 && r.Loss <= 1):
		return fmt.Errorf("loss %v, expected above 0 and at most 1", r.Loss)
	}
	return nil
}

// Counted is a rule in force, with the packets that it has dropped.
type Counted struct {
	Rule
	Dropped uint64 `json:"dropped"`
}

// Probe is one message of ProbeLink: a nonce that the sending agent sends to a peer's until the time is over.
type Probe struct {
	Nonce string        `json:"nonce"`
	To    netip.Addr    `json:"to"`             // unset for the one who awaits it
	Port  uint16        `json:"port,omitempty"` // from which and to which; 0 is ProbePort. Or that of a TCP connection to be tried
	For   time.Duration `json:"for"`
}

// Answer is what became of a probe.
type Answer struct {
	Passed bool   `json:"passed"`
	Why    string `json:"why,omitempty"` // it did not
	// At is when a message came, or went, on the machine's monotonic clock, which all its containers read alike.
	At time.Duration `json:"at,omitempty"`
}

// Agent serves one namespace.
type Agent struct {
	firewall *firewall
	probes   *probes
	shaper   *shaper
	root     string  // the broker's directory; "" if there is none
	data     disk.FS // the same, to be read only
	broker   history.BrokerID
	messages interceptor
}

// Options say what an agent serves.
type Options struct {
	Broker history.BrokerID
	Data   string // directory of the broker's files; "" if there is none
}

// Run serves until ctx ends.
func Run(ctx context.Context, opt Options) error {
	a := &Agent{broker: opt.Broker, root: opt.Data, messages: interceptor{broker: opt.Broker}, shaper: newShaper()}
	var err error
	if a.firewall, err = newFirewall(); err != nil {
		return err
	}
	if opt.Data != "" {
		if a.data, err = readOnly(opt.Data); err != nil {
			return err
		}
	}
	if a.probes, err = listenProbes(ProbePort, BrokerPort, ControllerPort); err != nil {
		return fmt.Errorf("agent: probes: %w", err)
	}
	streams, err := net.Listen("tcp4", ":"+strconv.Itoa(ProbePort))
	if err != nil {
		return errors.Join(fmt.Errorf("agent: probes: %w", err), a.probes.close())
	}
	go a.probes.accept(streams)
	tcp, err := net.Listen("tcp4", ":"+strconv.Itoa(ControlPort))
	if err != nil {
		return errors.Join(fmt.Errorf("agent: control: %w", err), a.probes.close(), streams.Close())
	}
	srv := &http.Server{Handler: a.handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_, _, _ = srv.Close(), a.probes.close(), streams.Close() // the process ends
	}()
	if err := srv.Serve(tcp); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("agent: %w", err)
	}
	return nil
}

func (a *Agent) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, struct{}{}, nil) })
	mux.HandleFunc("GET /rules", func(w http.ResponseWriter, _ *http.Request) {
		rules, err := a.firewall.list()
		answer(w, rules, err)
	})
	mux.HandleFunc("POST /rules", func(w http.ResponseWriter, r *http.Request) {
		var rule Rule
		if decode(w, r, &rule) {
			answer(w, struct{}{}, a.firewall.add(rule))
		}
	})
	mux.HandleFunc("DELETE /rules", func(w http.ResponseWriter, r *http.Request) {
		var rule Rule
		if decode(w, r, &rule) {
			last, err := a.firewall.remove(rule)
			answer(w, last, err)
		}
	})
	mux.HandleFunc("POST /probe/send", a.probing(func(ctx context.Context, p Probe) Answer { return a.probes.send(ctx, p) }))
	mux.HandleFunc("POST /probe/await", a.probing(func(ctx context.Context, p Probe) Answer { return a.probes.await(ctx, p) }))
	mux.HandleFunc("POST /probe/connect", a.probing(func(ctx context.Context, p Probe) Answer { return connect(ctx, p, a.messages.past()) }))
	mux.HandleFunc("GET /dump", a.dumping(Dump))
	mux.HandleFunc("GET /dump/kafka", a.dumping(kafkadisk.Dump))
	mux.HandleFunc("POST /wipe", func(w http.ResponseWriter, _ *http.Request) {
		wiped, err := Wipe(a.root)
		answer(w, wiped, err)
	})
	a.messages.serveMessages(mux)
	a.serveLags(mux)
	return mux
}

// dumping reads the broker's files in the way of its make.
func (a *Agent) dumping(read func(disk.FS, history.BrokerID) ([]history.Dump, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if a.data == nil {
			answer(w, nil, errors.New("dump: this agent was given no data directory"))
			return
		}
		dumps, err := read(a.data, a.broker)
		answer(w, dumps, err)
	}
}

func (a *Agent) probing(do func(context.Context, Probe) Answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var p Probe
		if !decode(w, r, &p) {
			return
		}
		if p.For <= 0 || p.For > probeTimeMax {
			answer(w, nil, fmt.Errorf("probe for %v, expected above 0 and at most %v", p.For, probeTimeMax))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), p.For)
		defer cancel()
		answer(w, do(ctx, p), nil)
	}
}

// decode reads a request's JSON; it answers the client itself if that is none.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	dec := json.NewDecoder(io.LimitReader(r.Body, requestBytesMax))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		http.Error(w, fmt.Sprintf("%s %s: %v, expected one JSON object", r.Method, r.URL.Path, err), http.StatusBadRequest)
		return false
	}
	return true
}

// answer is value as JSON, or the error as text.
func answer(w http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client is gone
}
