package docker

import (
	"slices"
	"testing"

	"tidemark/broker/config"
	"tidemark/docker/agent"
)

// TestBrokersOfNoQuorumAreDialledAtTheController introduces a voter and a broker that is none: both listen at the controller's port, so that
// what the voter sends the other is cut there, but only the one that controller.quorum.voters does not tell of advertises it.
func TestBrokersOfNoQuorumAreDialledAtTheController(t *testing.T) {
	voter := config.Default()
	voter.NodeID, voter.Voters = 1, []config.Voter{{ID: 1}}
	other := voter
	other.NodeID, other.Controller = 2, false
	c, err := newCluster(NewEnv(t.Context(), 1), nil, Options{Configs: []config.Config{voter, other}})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range c.machines {
		m.address, m.published = []string{"192.0.2.1", "192.0.2.2"}[i], "127.0.0.1:30001"
	}
	if err := c.introduce(); err != nil {
		t.Fatal(err)
	}
	for i, m := range c.machines {
		if err := m.cfg.Check(); err != nil {
			t.Errorf("broker %d: %v", i+1, err)
		}
		if _, listens := config.Named(m.cfg.Listeners, controllerListener); !listens {
			t.Errorf("broker %d has no listener for the controller in %v", i+1, m.cfg.Listeners)
		}
		at := config.Listener{Name: controllerListener, Host: m.address, Port: agent.ControllerPort}
		if told := slices.Contains(m.cfg.AdvertisedListeners, at); told != (i == 1) {
			t.Errorf("broker %d advertises %v: %v", i+1, at, told)
		}
	}
}
