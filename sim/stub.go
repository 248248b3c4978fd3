package sim

import (
	"math/rand/v2"
	"time"

	"tidemark/history"
	"tidemark/world"
)

func (w *World) Now() time.Duration                                   { panic("not built") }
func (w *World) Sleep(d time.Duration)                                { panic("not built") }
func (w *World) Go(name string, fn func())                            { panic("not built") }
func (w *World) Rand(purpose string, index int) *rand.Rand            { panic("not built") }
func (w *World) NewSignal() world.Signal                              { panic("not built") }
func (w *World) Brokers() []history.BrokerID                          { panic("not built") }
func (w *World) Abilities() []world.Ability                           { panic("not built") }
func (w *World) Cut(from, to history.BrokerID) error                  { panic("not built") }
func (w *World) Heal(from, to history.BrokerID) error                 { panic("not built") }
func (w *World) Kill(b history.BrokerID) error                        { panic("not built") }
func (w *World) PowerFail(b history.BrokerID) (string, error)         { panic("not built") }
func (w *World) Stop(b history.BrokerID, timeout time.Duration) error { panic("not built") }
func (w *World) Start(b history.BrokerID) error                       { panic("not built") }
func (w *World) Pause(b history.BrokerID) error                       { panic("not built") }
func (w *World) Resume(b history.BrokerID) error                      { panic("not built") }
func (w *World) SetClock(b history.BrokerID, rate float64) error      { panic("not built") }
func (w *World) Elect(p history.Partition, b history.BrokerID, timeout time.Duration) error {
	panic("not built")
}
func (w *World) ProbeLink(from, to history.BrokerID, timeout time.Duration) bool { panic("not built") }
func (w *World) ProbeProcess(b history.BrokerID) world.ProcessState              { panic("not built") }
func (w *World) ProbeServing(b history.BrokerID, timeout time.Duration) bool     { panic("not built") }
func (w *World) ProbeClock(b history.BrokerID) (time.Duration, error)            { panic("not built") }
func (w *World) Observe() history.ClusterState                                   { panic("not built") }
func (w *World) Dump(b history.BrokerID) []history.Dump                          { panic("not built") }
func (w *World) Dial(client string, to history.BrokerID, timeout time.Duration) (world.Conn, error) {
	panic("not built")
}
