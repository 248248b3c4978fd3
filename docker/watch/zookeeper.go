package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"tidemark/history"
)

// sessionTimeout is that of the observer's session with ZooKeeper, which holds nothing.
const sessionTimeout = 4 * time.Second

// nodeBytesMax bounds an answer of ZooKeeper (jute.maxbuffer is 1 MiB).
const nodeBytesMax = 4 << 20

// Keeper looks into ZooKeeper. Its methods are called one at a time.
type Keeper struct {
	conn  *zk.Conn
	under chan kept // a look that is under way still; nil if none is
}

// kept is how a look ended.
type kept struct {
	Kept
	err error
}

// NewKeeper returns a Keeper of the servers at these addresses, host:port, to which it connects in its own time.
func NewKeeper(addresses []string) (*Keeper, error) {
	conn, events, err := zk.Connect(addresses, sessionTimeout, zk.WithLogInfo(false), zk.WithLogger(silent{}), zk.WithMaxBufferSize(nodeBytesMax))
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper at %v: %w", addresses, err)
	}
	go func() {
		for range events { // until it is closed: who looks learns of trouble by looking
		}
	}()
	return &Keeper{conn: conn}, nil
}

// silent keeps the library from writing to the terminal.
type silent struct{}

// Printf drops a line.
func (silent) Printf(string, ...any) {}

// Close gives up the session.
func (k *Keeper) Close() { k.conn.Close() }

// Look reads what ZooKeeper holds, at most until ctx ends; a look that is not over by then goes on, and is not begun again before it is.
func (k *Keeper) Look(ctx context.Context) (Kept, error) {
	if k.under == nil {
		k.under = make(chan kept, 1)
		done := k.under
		go func() {
			all, err := ReadKeeper(nodes{k.conn})
			done <- kept{all, err}
		}()
	}
	select {
	case got := <-k.under:
		k.under = nil
		return got.Kept, got.err
	case <-ctx.Done():
		return Kept{Controller: history.NoBroker}, fmt.Errorf("ZooKeeper: %w", ctx.Err())
	}
}

// nodes are the nodes of a session.
type nodes struct{ conn *zk.Conn }

// Get reads a node.
func (n nodes) Get(path string) ([]byte, int32, error) {
	data, stat, err := n.conn.Get(path)
	if err != nil {
		return nil, 0, nodeError(path, err)
	}
	return data, stat.Version, nil
}

// Children lists what is below a node.
func (n nodes) Children(path string) ([]string, error) {
	names, _, err := n.conn.Children(path)
	return names, nodeError(path, err)
}

func nodeError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("ZooKeeper: %s: %w", path, ErrNoNode)
	}
	return fmt.Errorf("ZooKeeper: %s: %w", path, err)
}
