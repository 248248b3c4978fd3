package construct

import (
	"math/rand/v2"

	"tidemark/history"
)

// Planter turns a valid history into one with exactly one anomaly.
type Planter struct {
	Class string // as the checker names it
	How   string
	needs func(*Config) // what the configuration must have for there to be a place
	plant func(s *scene) *Planted
}

// Planted is where an anomaly was planted.
type Planted struct {
	Partition history.Partition
	Offset    history.Offset // UnknownOffset where the anomaly has none
	Value     string         // of the record that is wrong, "" if none is
	Ops       []int64        // operations that the witness must name
}

// Plant makes the history of a configuration and plants the anomaly at a place drawn from the configuration's seed; nil where there is none. What
// copies of a retry would make legal is left out: no producer sends a value again.
func (p *Planter) Plant(cfg Config) (*Case, *Planted) {
	cfg.Retries = false
	if p.needs != nil {
		p.needs(&cfg)
	}
	c := Make(cfg)
	planted := p.plant(newScene(rand.New(rand.NewPCG(cfg.Seed, 107)), c))
	if planted == nil {
		return nil, nil
	}
	return c, planted
}

func (s *scene) planted(part int32, o history.Offset, value string, ops ...*history.Op) *Planted {
	p := &Planted{Partition: history.Partition{Topic: topic, Index: part}, Offset: o, Value: value}
	for _, op := range ops {
		p.Ops = append(p.Ops, op.ID)
	}
	return p
}

// Planters is every way to plant, by class.
var Planters = append(append(append([]Planter{}, logPlanters...), answerPlanters...), clusterPlanters...)
