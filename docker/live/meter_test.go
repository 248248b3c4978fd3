package live_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tidemark/history"
)

// meters are what a broker's process says of itself on /metrics, after a garbage collection.
type meters struct {
	conns, requestBytes, responseBytes, goroutines, files, heap, resident, limit int64
}

// measure collects a broker's garbage and reads its meters.
func (c *cluster) measure(b history.BrokerID) (meters, error) {
	if _, err := c.page(b, "/debug/pprof/heap?gc=1"); err != nil {
		return meters{}, err
	}
	text, err := c.page(b, "/metrics")
	if err != nil {
		return meters{}, err
	}
	var m meters
	fields := map[string]*int64{
		"connections": &m.conns, "request_bytes": &m.requestBytes, "response_bytes": &m.responseBytes, "goroutines": &m.goroutines,
		"open_files": &m.files, "heap_live_bytes": &m.heap, "resident_bytes": &m.resident, "memory_limit_bytes": &m.limit,
	}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, rest, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "tidemark_"), "{")
		_, value, ok2 := strings.Cut(rest, "} ")
		field, wanted := fields[name]
		if !ok || !ok2 || !wanted {
			continue
		}
		if *field, err = strconv.ParseInt(value, 10, 64); err != nil {
			return m, fmt.Errorf("metric %q: %w", lines.Text(), err)
		}
		delete(fields, name)
	}
	if len(fields) > 0 {
		return m, fmt.Errorf("broker %d does not tell %d metrics: %v", b, len(fields), fields)
	}
	return m, nil
}

func (c *cluster) page(b history.BrokerID, path string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Get(c.Debug(b) + path)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return string(text), err
}

// measured is measure, where an error fails the test.
func (c *cluster) measured(b history.BrokerID) meters {
	c.t.Helper()
	m, err := c.measure(b)
	c.do(err)
	return m
}

// seeds is where clients on this machine find the brokers themselves, without the engine's proxy between.
func (c *cluster) seeds() (out []string) {
	for _, b := range c.Brokers() {
		out = append(out, c.Address(b))
	}
	return out
}

// inSync waits until every replica is in its ISR.
func (c *cluster) inSync() {
	c.t.Helper()
	c.eventually("all in sync", func() bool {
		s := c.Observe()
		for _, p := range s.Partitions {
			if len(p.ISR) != len(p.Replicas) {
				return false
			}
		}
		return len(s.Partitions) > 0
	})
}

// settles waits until a broker takes no more than it did, give or take a few, for instance connections of metadata requests.
func (c *cluster) settles(b history.BrokerID, before meters) {
	c.t.Helper()
	c.t.Logf("broker %d before: %+v", b, before)
	const few = 4
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		now, err := c.measure(b)
		if err == nil && now.conns <= before.conns+few && now.requestBytes == 0 && now.goroutines <= before.goroutines+2*few && now.files <= before.files+few {
			c.t.Logf("broker %d after:  %+v", b, now)
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("broker %d still takes %+v after 15s, %v", b, now, err)
		}
	}
}

func mebi(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
