package docker

import (
	"errors"

	"tidemark/history"
)

// Freeze, Thaw, Wipe, Lose, EndLoss and Lost are not among the abilities yet.
func (c *Cluster) Freeze(history.BrokerID) error               { return errLater }
func (c *Cluster) Thaw(history.BrokerID) error                 { return errLater }
func (c *Cluster) Wipe(history.BrokerID) (string, error)       { return "", errLater }
func (c *Cluster) Lose(_, _ history.BrokerID, _ float64) error { return errLater }
func (c *Cluster) EndLoss(_, _ history.BrokerID) error         { return errLater }
func (c *Cluster) Lost(_, _ history.BrokerID) (int64, error)   { return 0, errLater }

var errLater = errors.New("not an ability of this world")
