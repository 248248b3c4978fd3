package nemesis

import (
	"errors"

	"tidemark/history"
)

// Freeze, Thaw, Wipe, Lose, EndLoss and Lost are not among the abilities yet.
func (c *fakeCluster) Freeze(history.BrokerID) error               { return errLater }
func (c *fakeCluster) Thaw(history.BrokerID) error                 { return errLater }
func (c *fakeCluster) Wipe(history.BrokerID) (string, error)       { return "", errLater }
func (c *fakeCluster) Lose(_, _ history.BrokerID, _ float64) error { return errLater }
func (c *fakeCluster) EndLoss(_, _ history.BrokerID) error         { return errLater }
func (c *fakeCluster) Lost(_, _ history.BrokerID) (int64, error)   { return 0, errLater }

var errLater = errors.New("not an ability of this world")
