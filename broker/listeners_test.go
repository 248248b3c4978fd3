package broker

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/metadata"
	"tidemark/broker/wire"
)

// TestRaftIsServedWhereTheControllerIs hands a voter's message to another voter at each of its listeners: with a controller's listener
// that one takes it and no other; without, the inter-broker listener does, which a single listener is.
func TestRaftIsServedWhereTheControllerIs(t *testing.T) {
	protocols := "listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT\ninter.broker.listener.name=BROKER\n"
	for _, tc := range []struct {
		name, settings string
		taken          map[string]bool
	}{
		{"a controller's listener", "listeners=BROKER://b:9092,CONTROLLER://b:9093,EXTERNAL://b:9094\ncontroller.listener.names=CONTROLLER\n" + protocols,
			map[string]bool{"BROKER": false, "CONTROLLER": true, "EXTERNAL": false}},
		{"none of the controller's", "listeners=BROKER://b:9092,EXTERNAL://b:9094\n" + protocols, map[string]bool{"BROKER": true, "EXTERNAL": false}},
		{"one listener", "listeners=PLAINTEXT://b:9092\n", map[string]bool{"PLAINTEXT": true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			candidate, voter := voter(t, 1, tc.settings), voter(t, 2, tc.settings)
			message := raftMessage(t, candidate)
			conn := ConnID(0)
			for listener, want := range tc.taken {
				conn++
				voter.RequestAt(time.Second, listener, conn, message)
				replies := voter.Ready().Replies
				if len(replies) != 1 || replies[0].Conn != conn || replies[0].Close == want {
					t.Errorf("at %s: %+v, expected the message taken: %v", listener, replies, want)
				}
			}
		})
	}
}

// TestRaftIsServedToBrokersThatAreNoVoters: a node that only follows the quorum takes its messages at a controller's listener of its own, and
// without one between the brokers; never where clients are.
func TestRaftIsServedToBrokersThatAreNoVoters(t *testing.T) {
	common := "node.id=3\nprocess.roles=broker\ncontroller.quorum.voters=1@a:9093,2@b:9093\ncontroller.listener.names=CONTROLLER\n" +
		"listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT\ninter.broker.listener.name=BROKER\n"
	for _, tc := range []struct {
		listeners string
		served    map[string]bool
	}{
		{"BROKER://c:9092,EXTERNAL://c:9094", map[string]bool{"BROKER": true, "EXTERNAL": false}},
		{"BROKER://c:9092,EXTERNAL://c:9094,CONTROLLER://c:9093", map[string]bool{"BROKER": false, "EXTERNAL": false, "CONTROLLER": true}},
	} {
		cfg, err := config.Parse(common + "listeners=" + tc.listeners + "\n")
		if err != nil {
			t.Fatal(err)
		}
		for listener, want := range tc.served {
			if n := (&Node{cfg: cfg}); n.serves(listener, wire.KeyRaft) != want {
				t.Errorf("listeners=%s: raft is served at %s: %v, expected %v", tc.listeners, listener, !want, want)
			}
		}
	}
}

// TestAsManyListenersAsEndpoints: what the configuration allows, the controller registers.
func TestAsManyListenersAsEndpoints(t *testing.T) {
	for n, want := range map[int]bool{metadata.EndpointsMax: true, metadata.EndpointsMax + 1: false} {
		cfg := config.Default()
		var listeners []string
		for i := range n {
			listeners = append(listeners, fmt.Sprintf("L%d://a:%d", i, i+1))
		}
		if err := cfg.Set("listeners", strings.Join(listeners, ",")); (err == nil) != want {
			t.Errorf("%d listeners: %v, expected them taken: %v", n, err, want)
		}
	}
}

// voter is one of two voters, just started.
func voter(t *testing.T, id int, settings string) *Node {
	t.Helper()
	cfg, err := config.Parse(fmt.Sprintf("node.id=%d\ncontroller.quorum.voters=1@a:9093,2@b:9093\n%s", id, settings))
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(cfg, disk.Mem(), 0, rand.New(rand.NewPCG(1, uint64(id))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// raftMessage is the first message with which a voter asks for votes.
func raftMessage(t *testing.T, n *Node) []byte {
	t.Helper()
	for now := time.Duration(0); now < time.Minute; now += 100 * time.Millisecond {
		n.Tick(now)
		out := n.Ready()
		for _, f := range out.Flushes {
			n.Flushed(now, f.ID, nil)
		}
		for _, s := range append(out.Sends, n.Ready().Sends...) {
			if s.Link.Purpose == ForRaft {
				return s.Frame
			}
		}
	}
	t.Fatal("a voter alone never asks for votes")
	return nil
}
