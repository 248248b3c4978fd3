package targets

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// site is three brokers at addresses of a network, with what a run configures.
func site(t Target) Site {
	s := Site{Cluster: "MkU3OEVBNTcwNTJENDM2Qk", ELR: t.ELR, Settings: maps.Clone(t.Quick)}
	if s.Settings == nil {
		s.Settings = map[string]string{}
	}
	s.Settings["min.insync.replicas"] = "2"
	if t.Keeper {
		s.Keeper = "192.0.2.9"
	}
	for i := range 4 {
		s.Nodes = append(s.Nodes, Node{ID: int32(i + 1), Address: fmt.Sprintf("192.0.2.%d", i+1), Published: fmt.Sprintf("127.0.0.1:3000%d", i+1)})
	}
	for i := range 3 {
		s.Nodes[i].Voter = !t.Isolated
		if t.Isolated {
			s.Quorum = append(s.Quorum, Node{ID: int32(101 + i), Address: fmt.Sprintf("192.0.2.%d", 11+i), Voter: true, Apart: true})
		}
	}
	return s
}

// TestWhatRuns tells what runs in a container of each target: the files under testdata/process.
//
//	target NAME [node=N]    of a target known by its name, broker N; 0 is the ZooKeeper, from 101 on are controllers
//	file NAME [node=N]      of the target that the input describes
func TestWhatRuns(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "process"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name := d.CmdArgs[0].String()
			node := 1
			d.MaybeScanArgs(t, "node", &node)
			target, err := Find(name)
			if d.Cmd == "file" {
				target, err = Parse(name, d.Input)
			}
			if err != nil {
				return err.Error() + "\n"
			}
			p := target.keeperOr(t, node)
			var out strings.Builder
			fmt.Fprintf(&out, "faults: %v\n", target.Abilities)
			if target.Image != "" {
				fmt.Fprintf(&out, "image: %s\n", target.Image)
			}
			fmt.Fprintf(&out, "command: %s\n", strings.Join(p.Command, " "))
			for _, key := range slices.Sorted(maps.Keys(p.Env)) {
				fmt.Fprintf(&out, "environment: %s=%s\n", key, p.Env[key])
			}
			for _, path := range slices.Sorted(maps.Keys(p.Files)) {
				fmt.Fprintf(&out, "file %s:\n%s", path, p.Files[path])
			}
			return out.String()
		})
	})
}

// keeperOr is the process of a broker, of a controller, or of the ZooKeeper.
func (t Target) keeperOr(tb testing.TB, node int) Process {
	if node == 0 {
		return t.KeeperProcess()
	}
	s := site(t)
	n := s.Nodes[(node-1)%len(s.Nodes)]
	if node > 100 {
		n = s.Quorum[node-101]
	}
	p, err := t.Process(s, n)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestNoSuchTarget gives names that are no target's: each error says what was expected.
func TestNoSuchTarget(t *testing.T) {
	for name, want := range map[string]string{
		"":                             "expected a make",
		"kafka":                        "expected a make",
		"redpanda:24.2":                "expected apache-kafka:RELEASE",
		"apache-kafka:":                "expected numbers",
		"apache-kafka:4.1":             "expected numbers",
		"apache-kafka:4.01.0":          "expected numbers",
		"apache-kafka:0.9.0.1":         "expected 0.10.2.0 or newer",
		"apache-kafka-zookeeper:4.0.0": "ZooKeeper is gone",
		"apache-kafka-isolated:3.2.0":  "ZooKeeper takes the place of controllers",
		"apache/kafka:2.8.2":           "begin with 3.7.0",
	} {
		if _, err := Find(name); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", name, err, want)
		}
	}
}

// TestReleasesInOrder compares releases by number, not as texts.
func TestReleasesInOrder(t *testing.T) {
	order := []string{"0.10.2.2", "0.11.0.3", "1.0.2", "2.8.0", "2.8.2", "3.9.1", "4.1.0", "4.10.0"}
	for i := range order[1:] {
		if a, b := mustRelease(order[i]), mustRelease(order[i+1]); !a.before(b) || b.before(a) || a.before(a) {
			t.Errorf("%s is not before %s", a, b)
		}
	}
}

// TestPOMs compares what Maven is asked for with the files under testdata.
func TestPOMs(t *testing.T) {
	for _, text := range []string{"0.10.2.2", "2.0.1", "3.9.1", "4.1.0"} {
		r, err := ParseRelease(text)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "pom-"+text+".xml")
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.POM(); got != string(want) {
			t.Errorf("%s: got\n%s\nexpected\n%s", path, got, want)
		}
	}
}
