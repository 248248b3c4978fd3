//go:build !simonly

package harness

import (
	"context"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"tidemark/docker"
	"tidemark/history"
	"tidemark/workloads"
	"tidemark/workloads/franz"
	"tidemark/world"
)

// nowhere is a cluster that answers nobody.
type nowhere struct {
	world.Cluster
	seed string
}

func (n nowhere) Seeds() []string { return []string{n.seed} }

// TestFranzEndsWithoutAnAnswer lets franz-go work where nobody listens, and where connections are taken and never answered: the load ends,
// every send has an unknown outcome, nothing was read, and no goroutine is left.
func TestFranzEndsWithoutAnAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for name, seed := range map[string]string{"silent": silent.Addr().String(), "gone": gone.Addr().String()} {
		clients, err := franz.New(nowhere{seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		env := docker.NewEnv(context.Background(), 1)
		record := history.NewRecorder(env.Now, nil)
		work := &workloads.Append{Env: env, Record: record, Topic: "orders", Parts: 2, Acks: -1, Writers: 2, Readers: 1, Rate: 300,
			Timeout: time.Second, Foreign: clients, ForeignWriters: 2, ForeignReaders: 1}
		if err := env.Run(func() error { work.Load(env.Now() + 200*time.Millisecond); return nil }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sends, polls := 0, 0
		for _, op := range record.History().Ops {
			switch {
			case op.Kind == history.Send && op.Outcome == history.Info && op.Error != "":
				sends++
			case op.Kind == history.Poll && op.Outcome == history.OK && len(op.Records) == 0:
				polls++
			default:
				t.Errorf("%s: %+v", name, op)
			}
		}
		if sends == 0 || polls == 0 {
			t.Errorf("%s: %d sends, %d polls", name, sends, polls)
		}
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines after, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	_ = silent.Close()
}

// TestClientsThatAWorldLacks: the simulated world has raw clients alone, and a half of each needs two of each.
func TestClientsThatAWorldLacks(t *testing.T) {
	for _, tt := range []struct {
		change func(*history.Run)
		want   string // "" where the run is right
	}{
		{func(r *history.Run) { r.Client = history.ClientRaw }, ""},
		{func(r *history.Run) { r.Client = history.ClientFranz }, "client: franz, expected raw, or --world docker"},
		{func(r *history.Run) { r.Client = history.ClientBoth }, "client: both, expected raw, or --world docker"},
		{func(r *history.Run) { r.Client = "librdkafka" }, `client: "librdkafka", expected raw, franz or both`},
		{func(r *history.Run) { r.World, r.Client = Contained, history.ClientFranz }, ""},
		{func(r *history.Run) { r.World, r.Client = Contained, history.ClientBoth }, ""},
		{func(r *history.Run) { r.World, r.Client, r.Writers = Contained, history.ClientBoth, 1 }, "client: both with 1 producers and 4 consumers"},
		{func(r *history.Run) { r.World, r.Client, r.Readers = Contained, history.ClientBoth, 0 }, "client: both with 5 producers and 0 consumers"},
	} {
		r := Defaults()
		tt.change(&r)
		if _, err := Expand(r, "# no faults\n"); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s in %s: %v, expected %q", r.Client, r.World, err, tt.want)
		}
	}
	if _, err := franz.New(struct{ world.Cluster }{}); err == nil {
		t.Error("a world without addresses has clients of franz-go")
	}
}
