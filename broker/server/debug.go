package server

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"tidemark/broker/kafka"
	"tidemark/broker/replica"
	"tidemark/broker/server/debug"
)

// stepsMax bounds one answer of /steps.
const stepsMax = 20_000

// debugServer is the debug endpoint.
type debugServer struct {
	listener net.Listener
	http     http.Server
}

func newDebugServer(s *Server, address string) (*debugServer, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", s.serveState)
	mux.HandleFunc("GET /steps", s.serveSteps)
	mux.HandleFunc("GET /metrics", s.serveMetrics)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	const bound = 10 * time.Second
	return &debugServer{listener, http.Server{
		Handler: mux, ReadTimeout: bound, WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}}, nil
}

func (d *debugServer) serve() { _ = d.http.Serve(d.listener) }

func (d *debugServer) close() error {
	if err := d.http.Close(); err != nil {
		return err
	}
	return d.listener.Close() // where serve was never called
}

func (s *Server) serveState(w http.ResponseWriter, r *http.Request) {
	state, err := s.State()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, state)
}

func (s *Server) serveSteps(w http.ResponseWriter, r *http.Request) {
	var from int64
	if text := r.FormValue("from"); text != "" {
		var err error
		if from, err = strconv.ParseInt(text, 10, 64); err != nil || from < 0 {
			http.Error(w, fmt.Sprintf("from=%.80q, expected a sequence number from 0 up", text), http.StatusBadRequest)
			return
		}
	}
	out := debug.Steps{Broker: int32(s.cfg.NodeID), Started: s.started.UnixNano()}
	out.Steps, out.Lost, out.Next = s.steps.from(from, stepsMax)
	writeJSON(w, out)
}

func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	state, err := s.State()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = s.writeMetrics(w, state)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// State is the broker as it stands between two inputs. An error once it has ended.
func (s *Server) State() (*debug.State, error) {
	var state *debug.State
	seen := make(chan struct{})
	if s.post(event{kind: evLook, look: func() { state = s.look(); close(seen) }}) {
		select {
		case <-seen:
			return state, nil
		case <-s.quit:
		}
	}
	return nil, fmt.Errorf("broker %d has ended", s.cfg.NodeID)
}

// look reads the node; the loop calls it.
func (s *Server) look() *debug.State {
	n := s.node
	img := n.Image()
	controller, term := n.ActiveController()
	state := &debug.State{
		Broker: int32(s.cfg.NodeID), Time: time.Now().UnixNano(), Started: s.started.UnixNano(), BrokerEpoch: int64(n.BrokerEpoch()),
		Controller: int32(controller), IsController: n.IsActiveController(), Term: term, MetadataIndex: img.Index, NextStep: s.steps.count(),
		Replicas: []debug.Replica{}, Brokers: []debug.Broker{}, Partitions: []debug.Registration{},
	}
	state.Sessions.Sessions, state.Sessions.Partitions = n.FetchSessions()
	n.EachReplica(func(p *replica.Partition) { state.Replicas = append(state.Replicas, s.lookAt(p)) })
	for _, id := range img.BrokerIDs() {
		b := img.Brokers[id]
		at, _ := b.Endpoint(s.cfg.InterBrokerListener)
		state.Brokers = append(state.Brokers, debug.Broker{
			ID: int32(id), Epoch: int64(b.Epoch), Host: at.Host, Port: at.Port, Fenced: b.Fenced, Stopping: b.Stopping,
		})
	}
	for _, name := range img.TopicNames() {
		for i := range img.Topics[name].Partitions {
			p := &img.Topics[name].Partitions[i]
			state.Partitions = append(state.Partitions, debug.Registration{
				Topic: name, Partition: int32(i), Leader: int32(p.Leader), LeaderEpoch: int32(p.LeaderEpoch), PartitionEpoch: p.PartitionEpoch,
				Replicas: numbers(p.Replicas), ISR: numbers(p.ISR), ELR: numbers(p.ELR), LastKnownELR: numbers(p.LastKnownELR),
			})
		}
	}
	return state
}

func (s *Server) lookAt(p *replica.Partition) debug.Replica {
	name, log := p.Name(), p.Log()
	out := debug.Replica{
		Topic: name.Topic, Partition: name.Index, Role: debug.Follower, Leader: int32(p.Leader()), Epoch: int32(p.Epoch()),
		LogEpoch: int32(log.LatestEpoch()), LEO: int64(log.End()), HW: int64(p.HW()), Start: int64(log.Start()),
		Recovery: int64(log.RecoveryPoint()), EpochStart: -1,
	}
	switch {
	case p.Leads():
		out.Role, out.EpochStart = debug.Leader, int64(p.EpochStart())
		out.ISR, out.MaximalISR = numbers(p.ISR()), numbers(p.MaximalISR())
		for _, r := range p.Remotes() {
			out.Remotes = append(out.Remotes, debug.Remote{
				Broker: int32(r.ID), LEO: int64(r.LEO), BrokerEpoch: int64(r.BrokerEpoch),
				LastFetch: s.wall(r.LastFetch), CaughtUp: s.wall(r.LastCaughtUp),
			})
		}
	case p.Leader() == kafka.NoBroker:
		out.Role = debug.Offline
	}
	return out
}

// wall turns a time of the broker's clock into one of the wall clock; 0 for never.
func (s *Server) wall(at time.Duration) int64 {
	if at < 0 {
		return 0
	}
	return s.started.Add(at).UnixNano()
}
