package sim

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// forever is a time that never comes.
const forever = time.Duration(math.MaxInt64)

// ppb is the rate of a clock that is right, in parts per billion.
const ppb = 1_000_000_000

// The rates that SetClock takes.
const (
	clockRateMin = 0.1
	clockRateMax = 10
)

// clock is a broker's own clock: piecewise linear over virtual time, never jumping, running on while the broker is down.
// Integers, so that no processor rounds it differently.
type clock struct {
	from  time.Duration // virtual time of the last change of rate
	local time.Duration // what the clock showed then
	rate  uint64        // local nanoseconds per 10⁹ virtual ones
}

// at is what the clock shows at virtual time t, which is not before the last change of rate.
func (c *clock) at(t time.Duration) time.Duration {
	hi, lo := bits.Mul64(uint64(t-c.from), c.rate)
	q, _ := bits.Div64(hi, lo, ppb)
	return c.local + time.Duration(q)
}

// when is the first virtual time at which the clock shows local; forever if that is out of reach.
func (c *clock) when(local time.Duration) time.Duration {
	if local <= c.local {
		return c.from
	}
	if local == forever {
		return forever
	}
	hi, lo := bits.Mul64(uint64(local-c.local), ppb)
	if hi >= c.rate {
		return forever
	}
	q, rest := bits.Div64(hi, lo, c.rate)
	if rest > 0 {
		q++
	}
	if q > uint64(forever) {
		return forever
	}
	return after(c.from, time.Duration(q))
}

// setRate changes the rate from virtual time now on.
func (c *clock) setRate(now time.Duration, rate float64) error {
	if !(rate >= clockRateMin && rate <= clockRateMax) {
		return fmt.Errorf("clock rate %v, expected %v to %v", rate, clockRateMin, clockRateMax)
	}
	c.local, c.from = c.at(now), now
	c.rate = uint64(math.Round(rate * ppb))
	return nil
}
