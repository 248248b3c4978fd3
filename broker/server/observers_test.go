package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/broker/config"
)

// follow waits until every broker knows the same active controller: one that hears nothing of the quorum knows none.
func (c *cluster) follow() {
	c.t.Helper()
	c.eventually("every broker follows the same controller", func() bool {
		var followed []int32
		for _, s := range c.servers {
			state, err := s.State()
			if err != nil {
				return false
			}
			followed = append(followed, int32(state.Controller))
		}
		slices.Sort(followed)
		return followed[0] >= 0 && len(slices.Compact(followed)) == 1
	})
}

// everywhere produces and consumes at each broker, with kcat and with franz-go, and lists no address of the controller's.
func (c *cluster) everywhere(topic string) {
	c.t.Helper()
	t := c.t.(*testing.T)
	var sent []string
	for i, at := range c.addresses() {
		values := numbered(fmt.Sprintf("kcat-at-%d", i+1), 20)
		kcat(t, strings.Join(values, "\n")+"\n", "-b", at, "-P", "-t", topic, "-X", "acks=all")
		sent = append(sent, values...)
	}
	franz := numbered("franz", 50)
	c.produce(c.client(), topic, franz...)
	sent = append(sent, franz...)
	slices.Sort(sent)
	for i, at := range c.addresses() {
		got := strings.Fields(kcat(t, "", "-b", at, "-C", "-t", topic, "-o", "beginning", "-e", "-q"))
		if slices.Sort(got); !slices.Equal(got, sent) {
			t.Errorf("consumed %d records through broker %d, sent %d:\n%q", len(got), i+1, len(sent), got)
		}
		listed := kcat(t, "", "-b", at, "-L")
		if !strings.Contains(listed, fmt.Sprintf(" %d brokers:", len(c.servers))) {
			t.Errorf("broker %d lists other than %d brokers:\n%s", i+1, len(c.servers), listed)
		}
		for _, cfg := range c.configs {
			if l, ok := config.Named(cfg.Listeners, "CONTROLLER"); ok && strings.Contains(listed, fmt.Sprintf(":%d ", l.Port)) {
				t.Errorf("broker %d tells clients of %v:\n%s", i+1, l, listed)
			}
		}
	}
}

// TestOneVoterAndABrokerOfNoQuorum has one listener on each node, so that the quorum's messages reach the broker between the brokers. It
// is then restarted elsewhere, and the voter finds it where it registered anew.
func TestOneVoterAndABrokerOfNoQuorum(t *testing.T) {
	t.Parallel()
	c := startRoles(t, 1, 1)
	c.create("orders", 2, 2, "2")
	c.follow()
	c.everywhere("orders")

	c.shutDown(1)
	c.configs[1].OneListener("127.0.0.1", int32(freePorts(t, 1)[0]))
	c.restart(1)
	c.inSync("orders", 2)
	c.create("payments", 2, 2, "2")
	c.follow()
	c.everywhere("payments")
}

// TestThreeVotersAndTwoBrokersOfNoQuorum has a controller's listener on every node. The brokers that are no voters follow whoever is elected.
func TestThreeVotersAndTwoBrokersOfNoQuorum(t *testing.T) {
	t.Parallel()
	c, _ := startApart(t, 3, 2)
	c.create("orders", 5, 3, "2")
	c.follow()
	c.everywhere("orders")

	state, err := c.servers[4].State()
	if err != nil {
		t.Fatal(err)
	}
	before := int(state.Controller)
	c.kill(before - 1)
	c.eventually("the brokers that are no voters follow another controller", func() bool {
		for _, s := range c.servers[3:] {
			if state, err := s.State(); err != nil || state.Controller < 0 || int(state.Controller) == before {
				return false
			}
		}
		return true
	})
	c.restart(before - 1)
	c.inSync("orders", 3)
	c.create("payments", 5, 3, "2")
	c.everywhere("payments")
}
