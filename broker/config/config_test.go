package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScenarios reads each configuration of testdata and shows what became of it: the keys that differ from Kafka's defaults, or
// the error.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				c, err := Parse(d.Input)
				if err != nil {
					return "error: " + err.Error()
				}
				return differences(c)
			case "topic":
				name, value, _ := strings.Cut(d.Input, "=")
				if err := CheckTopic(name, value); err != nil {
					return "error: " + err.Error()
				}
				return differences(Default().ForTopic(map[string]string{name: value}))
			default:
				return "unknown command " + d.Cmd
			}
		})
	})
}

func differences(c Config) string {
	var out strings.Builder
	plain := Default()
	before := plain.Pairs()
	for i, p := range c.Pairs() {
		if p != before[i] {
			fmt.Fprintf(&out, "%s=%s\n", p.Key, p.Value)
		}
	}
	return out.String()
}

// several is a broker with more than one of all that a key can list.
var several = []Pair{
	{"node.id", "1"},
	{"controller.quorum.voters", "1@a:9093,2@b:9093"},
	{"listeners", "BROKER://:9092,CONTROLLER://:9093,EXTERNAL://[::]:9094"},
	{"advertised.listeners", "BROKER://a:9092,EXTERNAL://localhost:32801"},
	{"listener.security.protocol.map", "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT"},
	{"inter.broker.listener.name", "BROKER"},
	{"controller.listener.names", "CONTROLLER"},
}

// TestEveryKeyReadsWhatItWrites sets each key to the text that it gives for itself.
func TestEveryKeyReadsWhatItWrites(t *testing.T) {
	c := Default()
	for _, p := range several {
		if err := c.Set(p.Key, p.Value); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range c.Pairs() {
		again := c
		if err := again.Set(p.Key, p.Value); err != nil {
			t.Errorf("%s: wrote %q and cannot read it: %v", p.Key, p.Value, err)
		}
		if got := fmt.Sprint(again); got != fmt.Sprint(c) {
			t.Errorf("%s: changed by its own value %q:\n%s\n%s", p.Key, p.Value, got, fmt.Sprint(c))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("node.id=1\ncontroller.quorum.voters=1@localhost:9093\nadvertised.listeners=PLAINTEXT://localhost:9092\n")
	f.Add("node.id=1\ncontroller.quorum.voters=1@a:9093\nlisteners=B://:9092,C://:9093,E://:9094\nadvertised.listeners=B://a:9092,E://b:1\n" +
		"listener.security.protocol.map=B:PLAINTEXT,C:PLAINTEXT,E:PLAINTEXT\ninter.broker.listener.name=B\ncontroller.listener.names=C\n")
	f.Add("process.roles=broker,controller\n# comment\nreplica.lag.time.max.ms = 10\n")
	f.Add("min.insync.replicas=999999999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			if len(err.Error()) > unknownMax*256 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if err := c.Check(); err != nil {
			t.Fatalf("parsed, but unusable: %v", err)
		}
	})
}
