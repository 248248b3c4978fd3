package docker

import (
	"testing"

	"tidemark/history"
)

// TestTheZooKeeperItselfWaitsForNobody: a broker that was killed starts once ZooKeeper has forgotten it; a ZooKeeper that was killed is asked for
// nothing before it is there again.
func TestTheZooKeeperItselfWaitsForNobody(t *testing.T) {
	keeper := &machine{id: history.ZooKeeper}
	brokers := &targetBrokers{outside: &outside{cluster: &Cluster{keeper: keeper}, keeper: &standing{}}}
	if err := brokers.admit(keeper); err != nil { // whoever asks it anything has nobody to ask here
		t.Error(err)
	}
}
