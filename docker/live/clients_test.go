package live_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

// TestRealClients lets franz-go and kcat list, produce and consume, against one broker and three: over the ports that are published on
// 127.0.0.1, and as processes inside the run's network, where a sidecar's namespace takes them. Each is told addresses that it can reach.
func TestRealClients(t *testing.T) {
	engine(t)
	for _, brokers := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d of them", brokers), func(t *testing.T) {
			c := startAs(t, func(r *history.Run) { r.Brokers, r.Factor, r.MinISR, r.Parts = brokers, brokers, min(brokers, 2), 3 })
			var published, inside []string
			for _, b := range c.Brokers() {
				published = append(published, c.Published(b))
				address := dockerSays(t, "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", c.container(b)+"-agent")
				inside = append(inside, address+":9092")
			}
			if i := slices.IndexFunc(published, func(a string) bool { return !strings.HasPrefix(a, "127.0.0.1:") }); i >= 0 {
				t.Fatalf("published at %q, expected 127.0.0.1", published[i])
			}
			t.Run("franz-go over published ports", func(t *testing.T) {
				if err := useFranz(t.Context(), published, "published"); err != nil {
					t.Error(err)
				}
			})
			t.Run("kcat over published ports", func(t *testing.T) {
				needKcat(t)
				useKcat(t, []string{"kcat"}, published, "published-kcat")
			})
			enter := []string{"nsenter", "-t", dockerSays(t, "inspect", "-f", "{{.State.Pid}}", c.container(1)+"-agent"), "-n"}
			t.Run("franz-go inside", func(t *testing.T) {
				needNamespace(t, enter)
				self, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(enter[0], append(enter[1:], self, "-test.run=^TestFranzByItself$", "-test.count=1", "-test.v")...)
				cmd.Env = append(os.Environ(), seedsVariable+"="+strings.Join(inside, ","))
				if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "--- PASS: TestFranzByItself") {
					t.Errorf("%v: %s", err, text)
				}
			})
			t.Run("kcat inside", func(t *testing.T) {
				needKcat(t)
				needNamespace(t, enter)
				useKcat(t, append(enter, "kcat"), inside, "inside-kcat")
			})
		})
	}
}

// seedsVariable names the variable that makes this program a client inside a network, of the brokers that it lists.
const seedsVariable = "TIDEMARK_TEST_SEEDS"

// TestFranzByItself is what TestRealClients runs inside the network.
func TestFranzByItself(t *testing.T) {
	text := os.Getenv(seedsVariable)
	if text == "" {
		t.Skip("it is TestRealClients that runs it")
	}
	seeds := strings.Split(text, ",")
	if err := useFranz(t.Context(), seeds, "inside"); err != nil {
		t.Fatal(err)
	}
}

// clientBound is how long a client may take for all of its work.
const clientBound = 30 * time.Second

// values are unique to who writes them.
func values(who string) []string {
	out := make([]string, 50)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%02d", who, i)
	}
	return out
}

// useFranz lists, produces and consumes. It must be told of the brokers at the addresses by which it came, and of no others.
func useFranz(ctx context.Context, seeds []string, who string) error {
	ctx, cancel := context.WithTimeout(ctx, clientBound)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.DefaultProduceTopic("orders"), kgo.ConsumeTopics("orders"))
	if err != nil {
		return err
	}
	defer client.Close()
	listed, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	var told []string
	for _, b := range listed.Brokers {
		told = append(told, fmt.Sprintf("%s:%d", b.Host, b.Port))
	}
	if slices.Sort(told); !slices.Equal(told, slices.Sorted(slices.Values(seeds))) || len(listed.Topics) != 1 || len(listed.Topics[0].Partitions) != 3 {
		return fmt.Errorf("listed brokers at %q and topics %v, expected %q and orders with 3 partitions", told, listed.Topics, seeds)
	}
	sent := values(who)
	for _, v := range sent {
		if err := client.ProduceSync(ctx, kgo.StringRecord(v)).FirstErr(); err != nil {
			return fmt.Errorf("producing: %w", err)
		}
	}
	var got []string
	for len(got) < len(sent) {
		fetched := client.PollFetches(ctx)
		if err := fetched.Err0(); err != nil {
			return fmt.Errorf("consumed %q only: %w", got, err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			if strings.HasPrefix(string(r.Value), who+"-") {
				got = append(got, string(r.Value))
			}
		})
	}
	if slices.Sort(got); !slices.Equal(got, sent) {
		return fmt.Errorf("consumed %q, sent %q", got, sent)
	}
	return nil
}

// useKcat is useFranz by kcat.
func useKcat(t *testing.T, kcat, seeds []string, who string) {
	t.Helper()
	run := func(input string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), clientBound)
		defer cancel()
		all := slices.Concat(kcat, []string{"-b", strings.Join(seeds, ",")}, args)
		cmd := exec.CommandContext(ctx, all[0], all[1:]...)
		cmd.Stdin = strings.NewReader(input)
		var said strings.Builder
		cmd.Stderr = &said
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v: %s%s", all, err, text, said.String())
		}
		return string(text)
	}
	listed := run("", "-L", "-t", "orders")
	wanted := []string{fmt.Sprintf(" %d brokers:", len(seeds)), `topic "orders" with 3 partitions`, "(controller)"}
	for _, seed := range seeds {
		wanted = append(wanted, " at "+seed)
	}
	for _, want := range wanted {
		if !strings.Contains(listed, want) {
			t.Errorf("the list lacks %q: %s", want, listed)
		}
	}
	sent := values(who)
	run(strings.Join(sent, "\n")+"\n", "-P", "-t", "orders", "-X", "acks=all")
	var got []string
	for v := range strings.FieldsSeq(run("", "-C", "-t", "orders", "-o", "beginning", "-e", "-q")) {
		if strings.HasPrefix(v, who+"-") {
			got = append(got, v)
		}
	}
	if slices.Sort(got); !slices.Equal(got, sent) {
		t.Errorf("consumed %q, sent %q", got, sent)
	}
}

// lacking skips a test for want of something, or fails it where nothing may be lacking.
func lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

func needKcat(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("kcat"); err != nil {
		lacking(t, "kcat is not installed")
	}
}

// needNamespace asks for a way into a container's network: its engine on this machine, and root.
func needNamespace(t *testing.T, enter []string) {
	t.Helper()
	if text, err := exec.Command(enter[0], append(enter[1:], "true")...).CombinedOutput(); err != nil {
		lacking(t, fmt.Sprintf("no way into the network: %v: %s", err, text))
	}
}

// TestBothKindsOfClients kills a leader under the load of raw clients and franz-go's: both kinds are acknowledged and read, nothing is lost,
// only values of franz-go's stand twice if any does, and no goroutine of theirs is left.
func TestBothKindsOfClients(t *testing.T) {
	engine(t)
	before := runtime.NumGoroutine()
	r := run(t, func(r *history.Run) { r.Duration, r.Parts, r.Client = 10*time.Second, 3, history.ClientBoth }, "at 2s kill leader(orders/0) for 4s\n")
	d, err := results.Create(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	res, err := harness.Contain(t.Context(), r, d, harness.Look{Binary: tool(t), Say: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict.Status != checker.Valid || res.Verdict.Stats.LeaderChanges == 0 || res.Verdict.Porcupine.Outcome != checker.Agrees {
		t.Errorf("%s", harness.Summary(res.Verdict))
	}
	for _, f := range res.Verdict.Findings {
		t.Log(f.Text)
		if f.Class != checker.Duplicate || !r.Retries(f.Witness.Producer) {
			t.Errorf("%s %s of process %d", f.Severity, f.Class, f.Witness.Producer)
		}
	}
	type kind struct {
		consumer, franz bool
	}
	producers, consumers := r.Franz()
	done := map[kind]int{}
	for i := range res.History.Ops {
		op := &res.History.Ops[i]
		client := int(op.Process) % (r.Writers + r.Readers + 2)
		switch {
		case op.Outcome != history.OK || client >= r.Writers+r.Readers:
		case op.Kind == history.Send:
			done[kind{false, client >= r.Writers-producers}]++
		case op.Kind == history.Poll:
			done[kind{true, client >= r.Writers+r.Readers-consumers}] += len(op.Records)
		}
	}
	t.Logf("acknowledged: %d raw, %d franz-go's; read: %d raw, %d franz-go's",
		done[kind{}], done[kind{franz: true}], done[kind{consumer: true}], done[kind{true, true}])
	for _, k := range []kind{{}, {franz: true}, {consumer: true}, {true, true}} {
		if done[k] < 50 {
			t.Errorf("%+v: %d, expected 50 or more", k, done[k])
		}
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines after the run, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

func itoa(n int) string { return strconv.Itoa(n) }
