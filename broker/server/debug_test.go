package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark/broker/server/debug"
)

// TestDebugEndpoint follows a topic's life from the outside: states, steps without gaps, metrics.
func TestDebugEndpoint(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	c.create("orders", 1, 3, "2")
	c.produce(c.client(), "orders", numbered("record", 10)...)
	leader := c.leader("orders")
	c.eventually("every replica's high watermark is 10", func() bool {
		for i := range 3 {
			if state := getJSON[debug.State](c, i, "/state"); len(state.Replicas) != 1 || state.Replicas[0].HW != 10 {
				return false
			}
		}
		return true
	})
	for i := range 3 {
		state := getJSON[debug.State](c, i, "/state")
		r, p := state.Replicas[0], state.Partitions[0]
		if state.Broker != int32(i+1) || state.Controller < 1 || state.Term < 1 || state.BrokerEpoch < 1 || len(state.Brokers) != 3 {
			t.Errorf("broker %d: %+v", i+1, state)
		}
		if p.Leader != int32(leader+1) || r.Leader != p.Leader || r.Epoch != p.LeaderEpoch || r.LogEpoch != p.LeaderEpoch || r.LEO != 10 || len(p.ISR) != 3 {
			t.Errorf("broker %d: replica %+v, registered as %+v", i+1, r, p)
		}
		if leads := i == leader; leads != (r.Role == debug.Leader) || leads != (len(r.Remotes) == 2) || leads != (r.EpochStart == 0) {
			t.Errorf("broker %d: leads is %v, replica %+v", i+1, leads, r)
		}
	}
	for _, r := range getJSON[debug.State](c, leader, "/state").Replicas[0].Remotes {
		if r.LEO != 10 || r.BrokerEpoch < 1 || r.LastFetch == 0 {
			t.Errorf("the leader knows of a follower: %+v", r)
		}
	}
	all := getJSON[debug.Steps](c, leader, "/steps")
	kinds := map[string]bool{}
	for i, s := range all.Steps {
		kinds[s.Kind] = true
		if s.Seq != int64(i) || s.Time == 0 {
			t.Errorf("step %d: %+v", i, s)
		}
	}
	for _, kind := range []string{"election", "append", "hw", debug.ISRStep} {
		if !kinds[kind] {
			t.Errorf("no step %q in %+v", kind, all.Steps)
		}
	}
	if rest := getJSON[debug.Steps](c, leader, fmt.Sprintf("/steps?from=%d", all.Next-2)); len(rest.Steps) < 2 || rest.Steps[0].Seq != all.Next-2 || rest.Lost != 0 {
		t.Errorf("the last two steps: %+v", rest)
	}
	metrics := get(c, leader, "/metrics")
	for _, want := range []string{fmt.Sprintf("tidemark_replicas_leading{broker=\"%d\"} 1\n", leader+1), "# TYPE tidemark_requests_total counter\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %q:\n%s", want, metrics)
		}
	}
	if bad := get(c, leader, "/steps?from=x"); !strings.Contains(bad, "expected a sequence number") {
		t.Errorf("/steps?from=x: %q", bad)
	}
}

func get(c *cluster, i int, path string) string {
	c.t.Helper()
	resp, err := http.Get("http://" + c.servers[i].DebugAddr() + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(body)
}

func getJSON[T any](c *cluster, i int, path string) (v T) {
	c.t.Helper()
	body := get(c, i, path)
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		c.t.Fatalf("%s: %v in %q", path, err, body)
	}
	return v
}

// TestStepsAreRemembered overflows the ring and asks from everywhere.
func TestStepsAreRemembered(t *testing.T) {
	st := newSteps(4)
	for i := range 10 {
		st.push(debug.Step{To: int64(i)})
		if _, _, next := st.from(0, 100); next != int64(i+1) {
			t.Fatalf("after %d steps the next is %d", i+1, next)
		}
	}
	for _, tc := range []struct {
		from       int64
		most       int
		want       []int64
		lost, next int64
	}{
		{0, 100, []int64{6, 7, 8, 9}, 6, 10},
		{6, 2, []int64{6, 7}, 0, 8},
		{8, 100, []int64{8, 9}, 0, 10},
		{10, 100, nil, 0, 10},
		{99, 100, nil, 0, 10},
	} {
		steps, lost, next := st.from(tc.from, tc.most)
		var got []int64
		for _, s := range steps {
			if s.Seq != s.To {
				t.Errorf("step %d has number %d", s.To, s.Seq)
			}
			got = append(got, s.Seq)
		}
		if !slices.Equal(got, tc.want) || lost != tc.lost || next != tc.next {
			t.Errorf("from %d: %v, %d lost, next %d; expected %v, %d, %d", tc.from, got, lost, next, tc.want, tc.lost, tc.next)
		}
	}
}
