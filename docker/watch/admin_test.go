package watch_test

import (
	"errors"
	"fmt"
	"testing"

	"tidemark/docker/watch"
	"tidemark/history"
)

// Create makes a node.
func (z zoo) Create(path string, data []byte) error {
	if _, ok := z[path]; ok {
		return fmt.Errorf("%s: %w", path, watch.ErrNodeExists)
	}
	z[path] = string(data)
	return nil
}

const (
	reassigning = "/admin/reassign_partitions"
	electing    = "/admin/preferred_replica_election"
	orders      = "/brokers/topics/orders"
	ordersState = "/brokers/topics/orders/partitions/0/state"
)

// TestAnElectionByNodes elects broker 2, as the controller would go along: first it is put in front of the replicas, then elected; while the
// controller has something to do, nothing more is asked for.
func TestAnElectionByNodes(t *testing.T) {
	z, p := kafkas(), history.Partition{Topic: "orders"}
	step := func(wantDone bool, wantErr error) {
		t.Helper()
		if done, err := watch.ElectStep(z, p, 2); done != wantDone || !errors.Is(err, wantErr) {
			t.Errorf("done %t, %v, expected %t, %v", done, err, wantDone, wantErr)
		}
	}
	node := func(path, want string) {
		t.Helper()
		if z[path] != want {
			t.Errorf("%s holds %q, expected %q", path, z[path], want)
		}
	}
	step(false, nil)
	node(reassigning, `{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[2,1,3]}]}`)
	step(false, watch.ErrNodeExists)
	delete(z, reassigning)
	z[orders] = `{"version":1,"partitions":{"1":[2,3],"0":[2,1,3]}}`
	step(false, nil)
	node(electing, `{"version":1,"partitions":[{"topic":"orders","partition":0}]}`)
	node(reassigning, "")
	step(false, watch.ErrNodeExists)
	delete(z, electing)
	z[ordersState] = `{"controller_epoch":7,"leader":2,"version":1,"leader_epoch":5,"isr":[1,2]}`
	step(true, nil)
	node(electing, "")
}

// TestAnElectionThatCannotBe asks for a broker without a replica, and for a partition that is not there.
func TestAnElectionThatCannotBe(t *testing.T) {
	if _, err := watch.ElectStep(kafkas(), history.Partition{Topic: "orders"}, 4); !errors.Is(err, watch.ErrNotReplica) {
		t.Errorf("%v", err)
	}
	for _, p := range []history.Partition{{Topic: "gone"}, {Topic: "orders", Index: 7}} {
		if _, err := watch.ElectStep(kafkas(), p, 1); err == nil {
			t.Errorf("%v was elected for", p)
		}
	}
}

// TestAReassignmentByNodes asks for other replicas once; those that a partition has already are not asked for.
func TestAReassignmentByNodes(t *testing.T) {
	z, p := kafkas(), history.Partition{Topic: "orders"}
	to := []history.BrokerID{4, 1, 3}
	if done, err := watch.ReassignStep(z, p, to); !done || err != nil || z[reassigning] != `{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[4,1,3]}]}` {
		t.Errorf("%t, %v: %q", done, err, z[reassigning])
	}
	if done, err := watch.ReassignStep(z, p, []history.BrokerID{5, 1, 3}); done || !errors.Is(err, watch.ErrNodeExists) {
		t.Errorf("a second one while the first is under way: %t, %v", done, err)
	}
	if done, err := watch.ReassignStep(kafkas(), p, []history.BrokerID{1, 2, 3}); !done || err != nil {
		t.Errorf("to where it is: %t, %v", done, err)
	}
}

// TestARegistrationIsForgotten: a broker may start again once the session of the process that it was is over.
func TestARegistrationIsForgotten(t *testing.T) {
	z := kafkas()
	z["/brokers/ids/2"] = `{"host":"b2","port":9092}`
	if gone, err := watch.Forgotten(z, 2); gone || err == nil {
		t.Errorf("gone %t, %v, expected an error that it is registered still", gone, err)
	}
	delete(z, "/brokers/ids/2")
	if gone, err := watch.Forgotten(z, 2); !gone || err != nil {
		t.Errorf("gone %t, %v, expected that it is", gone, err)
	}
}
