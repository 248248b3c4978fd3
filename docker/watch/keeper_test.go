package watch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/docker/watch"
	"tidemark/history"
)

// zoo is ZooKeeper's nodes by path, the children of a node as words. Versions are the lengths of the data.
type zoo map[string]string

func (z zoo) Get(path string) ([]byte, int32, error) {
	text, ok := z[path]
	if !ok {
		return nil, 0, fmt.Errorf("%s: %w", path, watch.ErrNoNode)
	}
	return []byte(text), int32(len(text)), nil
}

func (z zoo) Children(path string) ([]string, error) {
	text, _, err := z.Get(path + "/*")
	return strings.Fields(string(text)), err
}

// kafkas are the nodes as Kafka 0.10 writes them.
func kafkas() zoo {
	return zoo{
		"/controller":                               `{"version":1,"brokerid":3,"timestamp":"1796007240037"}`,
		"/brokers/topics/*":                         "orders __consumer_offsets gone",
		"/brokers/topics/orders":                    `{"version":1,"partitions":{"1":[2,3],"0":[1,2,3]}}`,
		"/brokers/topics/orders/partitions/0/state": `{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":4,"isr":[1,2]}`,
	}
}

func TestReadKeeper(t *testing.T) {
	k, err := watch.ReadKeeper(kafkas())
	if err != nil || k.Controller != 3 || len(k.Partitions) != 2 {
		t.Fatalf("read %+v, %v, expected controller 3 and two partitions", k, err)
	}
	p, q := k.Partitions[0], k.Partitions[1]
	if p.Partition.Index != 0 || p.Leader != 1 || p.Epoch != 4 || p.Version != 74 || len(p.ISR) != 2 || len(p.Replicas) != 3 {
		t.Errorf("read %+v, expected what the nodes tell of orders/0", p)
	}
	if q.Partition.Index != 1 || q.Leader != history.NoBroker || q.Epoch != -1 || q.Version != -1 || len(q.Replicas) != 2 {
		t.Errorf("read %+v, expected orders/1 without a state", q)
	}
	if k, err := watch.ReadKeeper(zoo{}); err != nil || k.Controller != history.NoBroker || len(k.Partitions) != 0 {
		t.Errorf("an empty ZooKeeper gives %+v, %v, expected nobody and nothing", k, err)
	}
}

func TestReadKeeperSaysWhatIsWrong(t *testing.T) {
	for path, c := range map[string]struct{ text, want string }{
		"/controller":                               {"{}", "brokerid"},
		"/brokers/topics/orders":                    {"[", "partitions"},
		"/brokers/topics/gone":                      {`{"partitions":{"x":[]}}`, `partition "x"`},
		"/brokers/topics/orders/partitions/0/state": {`{"leader":1}`, "leader_epoch"},
	} {
		z := kafkas()
		z[path] = c.text
		if _, err := watch.ReadKeeper(z); err == nil || errors.Is(err, watch.ErrNoNode) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected an error with %q", path, err, c.want)
		}
	}
}
