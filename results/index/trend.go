package index

import "math"

// Point is one campaign in the trend over nights.
type Point struct {
	Name     string  `json:"name"` // of the campaign
	Status   Status  `json:"status"`
	Runs     int     `json:"runs"`     // seeds, scenarios and runs in containers
	Failures int     `json:"failures"` // runs that broke their contract and that nobody expects
	Known    int     `json:"known"`    // those that somebody does
	Vacuous  float64 `json:"vacuous"`  // the share of vacuous runs, 0 to 1
	Speed    float64 `json:"speed"`    // seconds on the runs' own clocks in a second of real time, over the parts that ran
}

// trendMax is over how many campaigns a trend goes at most.
const trendMax = 90

// Trend is the last campaigns of one label, the oldest first.
func Trend(campaigns []Stored) []Point {
	campaigns = campaigns[max(0, len(campaigns)-trendMax):]
	out := make([]Point, len(campaigns))
	for i := range campaigns {
		c := &campaigns[i]
		sum := c.Sum()
		p := Point{Name: c.Name, Status: c.Campaign.Status(), Runs: sum.Runs, Failures: sum.Invalid - sum.Known, Known: sum.Known, Vacuous: sum.VacuousShare()}
		var seconds float64
		for j := range c.Parts {
			seconds += c.Parts[j].Seconds
		}
		if speed := sum.World / seconds; seconds > 0 && !math.IsInf(speed, 0) && !math.IsNaN(speed) {
			p.Speed = speed
		}
		out[i] = p
	}
	return out
}
