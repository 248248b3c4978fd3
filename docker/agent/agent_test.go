package agent

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/broker/disk"
	"tidemark/broker/log"
)

// started is an agent without a firewall, served to the client that is returned.
func started(t testing.TB, data disk.FS) (*Agent, Client) {
	t.Helper()
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{firewall: &firewall{}, probes: newProbes(map[uint16]net.PacketConn{ProbePort: socket}), shaper: newShaper(), data: data, broker: 1}
	srv := httptest.NewServer(a.handler())
	t.Cleanup(func() {
		srv.Close()
		_ = socket.Close()
	})
	return a, Client{Base: srv.URL, HTTP: srv.Client()}
}

// TestProbesPassInOneDirection sends a datagram from one agent's socket to another's: who awaits it learns that it came, who awaits
// another waits in vain.
func TestProbesPassInOneDirection(t *testing.T) {
	a, client := started(t, nil)
	ctx := t.Context()
	go func() {
		time.Sleep(20 * time.Millisecond)
		socket := a.probes.sockets[ProbePort]
		_, _ = socket.WriteTo([]byte("nonce-one"), socket.LocalAddr())
	}()
	if answer, err := client.Await(ctx, Probe{Nonce: "nonce-one", For: 5 * time.Second}); err != nil || !answer.Passed {
		t.Errorf("%+v, %v", answer, err)
	}
	begun := time.Now()
	answer, err := client.Await(ctx, Probe{Nonce: "nonce-two", For: 50 * time.Millisecond})
	if took := time.Since(begun); err != nil || answer.Passed || answer.Why == "" || took < 50*time.Millisecond {
		t.Errorf("%+v, %v after %v", answer, err, took)
	}
	for _, nonsense := range []time.Duration{0, -1, probeTimeMax + 1} {
		if _, err := client.Await(ctx, Probe{Nonce: "nonce-two", For: nonsense}); err == nil {
			t.Errorf("a probe for %v was taken", nonsense)
		}
	}
}

// TestProbesForget keeps no more nonces than its bound, the newest.
func TestProbesForget(t *testing.T) {
	a, _ := started(t, nil)
	for i := range arrivedMax + 10 {
		a.probes.note(strings.Repeat("x", 8) + string(rune('a'+i%26)) + time.Duration(i).String())
	}
	if len(a.probes.arrived) != arrivedMax || len(a.probes.order) != arrivedMax {
		t.Errorf("%d nonces in order of %d, expected %d", len(a.probes.arrived), len(a.probes.order), arrivedMax)
	}
}

func TestConnectTellsWhoListens(t *testing.T) {
	_, client := started(t, nil)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	probe := Probe{To: at.Addr(), Port: at.Port(), For: time.Second}
	if answer, err := client.Connect(t.Context(), probe); err != nil || !answer.Passed {
		t.Errorf("%+v, %v", answer, err)
	}
	_ = l.Close()
	if answer, err := client.Connect(t.Context(), probe); err != nil || answer.Passed || answer.Why == "" {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestRulesAreChecked(t *testing.T) {
	peer := netip.MustParseAddr("192.0.2.1")
	for _, r := range []Rule{
		{}, {Direction: "up", Peer: peer, Loss: 1}, {Direction: In, Loss: 1}, {Direction: In, Peer: netip.MustParseAddr("::1"), Loss: 1},
		{Direction: In, Peer: peer}, {Direction: In, Peer: peer, Loss: 1.5}, {Direction: Out, Peer: peer, Loss: -1},
	} {
		if r.check() == nil {
			t.Errorf("%+v was taken", r)
		}
	}
	if err := (Rule{Direction: Out, Peer: peer, Port: 9092, Loss: 0.01}).check(); err != nil {
		t.Error(err)
	}
	_, client := started(t, nil)
	if _, err := client.Remove(t.Context(), Rule{Direction: In, Peer: peer, Loss: 1}); err == nil || !strings.Contains(err.Error(), "not in force") {
		t.Errorf("removing a rule that is not there gave %v", err)
	}
}

// TestDumpReadsTheBrokersFiles writes a replica as a broker does, and reads it through an agent that may not change a thing.
func TestDumpReadsTheBrokersFiles(t *testing.T) {
	root := t.TempDir()
	files, err := disk.OS(root)
	if err != nil {
		t.Fatal(err)
	}
	l, _, err := log.Open(files, "orders-0", log.Config{SegmentBytes: 1 << 20, IndexIntervalBytes: 4096, MaxBatchBytes: 1 << 20}, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Append(log.BuildBatch(0, 3, 1, []byte("one"), []byte("two")), 3); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := readOnly(root)
	if err != nil {
		t.Fatal(err)
	}
	_, client := started(t, data)
	dumps, err := client.Dump(t.Context())
	if err != nil || len(dumps) != 1 || dumps[0].Err != "" || len(dumps[0].Records) != 2 || dumps[0].Records[1].Value != "two" || dumps[0].LEO != 2 {
		t.Errorf("dumped %+v, %v", dumps, err)
	}
	if _, err := data.Open(filepath.Join("orders-0", "new"), true); !errors.Is(err, errReadOnly) {
		t.Errorf("creating a file gave %v", err)
	}
	f, err := data.Open("orders-0/00000000000000000000.log", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, errReadOnly) {
		t.Errorf("writing gave %v", err)
	}
	_ = f.Close()
}

func TestWithoutDataThereIsNoDump(t *testing.T) {
	_, client := started(t, nil)
	if _, err := client.Dump(t.Context()); err == nil {
		t.Error("an agent without data gave a dump")
	}
}

// TestAWipeSparesWhatRuns writes files as a broker does, and wipes them: not while the broker's lock is held, then all but the lock.
func TestAWipeSparesWhatRuns(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "orders-0"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"orders-0/00000000000000000000.log": 100, "recovery-point-offset-checkpoint": 10, ".lock": 0} {
		if err := os.WriteFile(filepath.Join(root, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, client := started(t, nil)
	if _, err := client.Wipe(t.Context()); err == nil {
		t.Error("an agent without data wiped some")
	}
	a.root = root
	lock, err := os.Open(filepath.Join(root, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Wipe(t.Context()); err == nil || !strings.Contains(err.Error(), "a broker runs") {
		t.Errorf("wiping under a broker that runs gave %v", err)
	}
	_ = lock.Close()
	for _, want := range []Wiped{{Files: 2, Bytes: 110}, {}} { // the second finds nothing more
		if w, err := client.Wipe(t.Context()); err != nil || w != want {
			t.Errorf("wiped %+v, %v, expected %+v", w, err, want)
		}
		if left, err := os.ReadDir(root); err != nil || len(left) != 1 || left[0].Name() != lockFile {
			t.Errorf("left %v, %v", left, err)
		}
	}
}

// TestAPortIsBothWays says in how many of the kernel's words a rule is.
func TestAPortIsBothWays(t *testing.T) {
	r := Rule{Direction: In, Peer: netip.MustParseAddr("192.0.2.1"), Loss: 1}
	if n := len(expressions(r)); n != 1 {
		t.Errorf("a rule for everything is %d rules of the kernel, expected 1", n)
	}
	r.Port = BrokerPort
	if n := len(expressions(r)); n != 4 {
		t.Errorf("a rule for a port is %d rules of the kernel, expected 4: from and to it, TCP and UDP", n)
	}
}

// FuzzRequests sends anything to every address: the agent answers, and no rule comes into force.
func FuzzRequests(f *testing.F) {
	a, _ := started(f, nil)
	h := a.handler()
	paths := []string{"/rules", "/probe/send", "/probe/await", "/probe/connect", "/dump", "/wipe", "/config", "/health", "/"}
	f.Add(0, []byte(`{"direction":"in","peer":"::","loss":1}`))
	f.Add(2, []byte(`{"nonce":"12345678","for":1}`))
	f.Add(1, bytes.Repeat([]byte("{"), 100))
	f.Fuzz(func(t *testing.T, which int, body []byte) {
		path := paths[uint(which)%uint(len(paths))]
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPost, http.MethodPut} {
			if path == "/rules" && method != http.MethodDelete { // those need a kernel
				continue
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, bytes.NewReader(body)))
			if w.Code < 200 || w.Code >= 500 {
				t.Errorf("%s %s with %q gave %d %s", method, path, body, w.Code, w.Body)
			}
		}
		if len(a.firewall.rules) != 0 {
			t.Errorf("rules %v came into force", a.firewall.rules)
		}
	})
}
