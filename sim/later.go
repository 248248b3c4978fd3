package sim

import (
	"errors"

	"tidemark/history"
)

// Freeze, Thaw, Wipe, Lose, EndLoss and Lost are not among the abilities yet.
func (c *World) Freeze(history.BrokerID) error               { return errLater }
func (c *World) Thaw(history.BrokerID) error                 { return errLater }
func (c *World) Wipe(history.BrokerID) (string, error)       { return "", errLater }
func (c *World) Lose(_, _ history.BrokerID, _ float64) error { return errLater }
func (c *World) EndLoss(_, _ history.BrokerID) error         { return errLater }
func (c *World) Lost(_, _ history.BrokerID) (int64, error)   { return 0, errLater }

var errLater = errors.New("not an ability of this world")
