package server

import (
	"fmt"
	"io"
	"sync/atomic"

	"tidemark/broker/server/debug"
)

// metrics counts what happened in the shell.
type metrics struct {
	requests, accepted, evicted, idleClosed, slowClosed, badFrames, linksOpened, linkFailures, flushes atomic.Int64
}

// metric is one line of the metrics, with its help.
type metric struct {
	name, kind, help string
	value            int64
}

// writeMetrics writes Prometheus' text format.
func (s *Server) writeMetrics(w io.Writer, state *debug.State) error {
	m := &s.metrics
	conns, owed := s.conns.size()
	leads := 0
	behind := int64(0)
	for _, r := range state.Replicas {
		if r.Role == debug.Leader {
			leads++
		}
		behind += r.LEO - r.HW
	}
	lines := []metric{
		{"connections", "gauge", "Accepted connections that are open.", int64(conns)},
		{"connections_accepted_total", "counter", "Connections accepted.", m.accepted.Load()},
		{"connections_evicted_total", "counter", "Idle connections closed for want of room (max.connections).", m.evicted.Load()},
		{"connections_idle_closed_total", "counter", "Connections closed after connections.max.idle.ms.", m.idleClosed.Load()},
		{"connections_slow_closed_total", "counter", "Answers for whose sake clients that do not read theirs were cut off.", m.slowClosed.Load()},
		{"bad_frames_total", "counter", "Connections closed for a frame whose length is no length, or that broke inside one.", m.badFrames.Load()},
		{"requests_total", "counter", "Requests handed to the broker.", m.requests.Load()},
		{"request_bytes", "gauge", "Bytes of requests that are being read or wait.", int64(s.requests.taken())},
		{"response_bytes", "gauge", "Bytes of answers that clients have not taken yet.", owed},
		{"links_opened_total", "counter", "Connections opened to other brokers.", m.linksOpened.Load()},
		{"link_failures_total", "counter", "Connections to other brokers that failed.", m.linkFailures.Load()},
		{"flushes_total", "counter", "Flushes done.", m.flushes.Load()},
		{"flushes_waiting", "gauge", "Flushes that have not begun.", int64(s.flusher.waiting())},
		{"protocol_steps_total", "counter", "Protocol steps: elections, truncations, high watermarks.", state.NextStep},
		{"replicas", "gauge", "Replicas on this broker.", int64(len(state.Replicas))},
		{"replicas_leading", "gauge", "Replicas that lead.", int64(leads)},
		{"replica_uncommitted_records", "gauge", "Records above the high watermark, over all replicas.", behind},
		{"fetch_sessions", "gauge", "Fetch sessions of followers and consumers (KIP-227).", int64(state.Sessions.Sessions)},
		{"fetch_session_partitions", "gauge", "Partitions that fetch sessions remember.", int64(state.Sessions.Partitions)},
		{"controller_id", "gauge", "The active controller as this broker knows it, -1 if none.", int64(state.Controller)},
		{"controller_term", "gauge", "Term of the controller quorum.", state.Term},
		{"metadata_index", "gauge", "Index of the last metadata entry applied.", state.MetadataIndex},
	}
	for _, line := range append(lines, processMetrics()...) {
		if _, err := fmt.Fprintf(w, "# HELP tidemark_%s %s\n# TYPE tidemark_%s %s\ntidemark_%s{broker=\"%d\"} %d\n",
			line.name, line.help, line.name, line.kind, line.name, s.cfg.NodeID, line.value); err != nil {
			return err
		}
	}
	return nil
}
