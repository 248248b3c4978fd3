package watch_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tidemark/docker/watch"
	"tidemark/history"
)

// TestStories tells looks at three brokers and what they make of the cluster.
//
//	look broker=1 from=100ms to=120ms [controller=2]   what a broker told; lines:
//	  orders/0 leader=1 epoch=5 isr=1,2,3 [elr=] replicas=1,2,3
//	  own orders/0 [leads] epoch=5 end=10 hw=8 [start=0]
//	keeper controller=2 begun=100ms                    what ZooKeeper held, with version=N in the lines
//	down broker=1, restarted broker=1
//	state
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		w := watch.New([]history.BrokerID{1, 2, 3})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "look":
				told := watch.Told{Broker: brokerArg(t, d, "broker"), From: timeArg(t, d, "from"), To: timeArg(t, d, "to"), Controller: history.NoBroker}
				if d.HasArg("controller") {
					told.Controller = brokerArg(t, d, "controller")
				}
				told.Partitions, told.Replicas = lines(t, d.Input, told.Broker)
				return stepped(w.Tell(told))
			case "keeper":
				k := watch.Kept{Controller: brokerArg(t, d, "controller")}
				k.Partitions, _ = lines(t, d.Input, history.NoBroker)
				return stepped(w.Keep(k, timeArg(t, d, "begun")))
			case "down":
				w.Down(brokerArg(t, d, "broker"))
				return ""
			case "restarted":
				w.Restarted(brokerArg(t, d, "broker"))
				return ""
			case "state":
				return stated(w.State(0))
			default:
				t.Fatalf("command %q, expected look, keeper, down, restarted or state", d.Cmd)
				return ""
			}
		})
	})
}

func brokerArg(t *testing.T, d *datadriven.TestData, key string) history.BrokerID {
	t.Helper()
	var n int
	d.ScanArgs(t, key, &n)
	return history.BrokerID(n)
}

func timeArg(t *testing.T, d *datadriven.TestData, key string) time.Duration {
	t.Helper()
	var text string
	d.ScanArgs(t, key, &text)
	at, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// lines reads partitions and replicas of a broker.
func lines(t *testing.T, input string, b history.BrokerID) (parts []watch.Registration, own []watch.Replica) {
	t.Helper()
	for _, line := range strings.Split(input, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		isOwn := words[0] == "own"
		if isOwn {
			words = words[1:]
		}
		topic, index, _ := strings.Cut(words[0], "/")
		p := history.Partition{Topic: topic, Index: int32(number(t, index))}
		reg := watch.Registration{Partition: p, Leader: history.NoBroker, Epoch: -1, Version: -1}
		rep := watch.Replica{Partition: p, ReplicaState: history.ReplicaState{Broker: b, Up: true, Epoch: -1}}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "leads":
				rep.Leads = true
			case "leader":
				reg.Leader = history.BrokerID(number(t, value))
			case "epoch":
				reg.Epoch, rep.Epoch = history.Epoch(number(t, value)), history.Epoch(number(t, value))
			case "version":
				reg.Version = int32(number(t, value))
			case "isr":
				reg.ISR = list(t, value)
			case "elr":
				reg.ELR = list(t, value)
			case "replicas":
				reg.Replicas = list(t, value)
			case "end":
				rep.LEO = history.Offset(number(t, value))
			case "hw":
				rep.HW = history.Offset(number(t, value))
			case "start":
				rep.Start = history.Offset(number(t, value))
			default:
				t.Fatalf("%q: no such word", word)
			}
		}
		if isOwn {
			own = append(own, rep)
		} else {
			parts = append(parts, reg)
		}
	}
	return parts, own
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func list(t *testing.T, s string) (out []history.BrokerID) {
	t.Helper()
	for _, part := range strings.Split(s, ",") {
		out = append(out, history.BrokerID(number(t, part)))
	}
	return out
}

func stepped(steps []history.Step) string {
	var out strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&out, "%v: %s of %v on broker %d", s.Time, s.Kind, s.Partition, s.Broker)
		if s.Epoch >= 0 {
			fmt.Fprintf(&out, ", epoch %d", s.Epoch)
		}
		if s.Peer != history.NoBroker {
			fmt.Fprintf(&out, ", peer %d", s.Peer)
		}
		if s.Kind == history.StepISR {
			fmt.Fprintf(&out, ", ISR %v", s.ISR)
		} else {
			fmt.Fprintf(&out, ", from %d to %d", s.From, s.To)
		}
		if s.Detail != "" {
			fmt.Fprintf(&out, " (%s)", s.Detail)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func stated(s history.ClusterState) string {
	var out strings.Builder
	fmt.Fprintf(&out, "controller %d\n", s.Controller)
	for _, p := range s.Partitions {
		fmt.Fprintf(&out, "%v: leader %d, epoch %d, version %d, ISR %v", p.Partition, p.Leader, p.Epoch, p.PartitionEpoch, p.ISR)
		if len(p.ELR) > 0 {
			fmt.Fprintf(&out, ", ELR %v", p.ELR)
		}
		out.WriteString("\n")
		for _, r := range p.Replicas {
			fmt.Fprintf(&out, "  %d: up %t, leads %t, epoch %d, %d to %d, HW %d\n", r.Broker, r.Up, r.Leads, r.Epoch, r.Start, r.LEO, r.HW)
		}
	}
	return out.String()
}
