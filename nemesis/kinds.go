package nemesis

import (
	"slices"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// kind is all that the plan language, the generator and a run know of one kind of fault. Another one is a file that holds its
// kind and its action, a line in kinds, and the world's ability.
type kind struct {
	ability world.Ability

	// The language: what stands behind the kind's word, and what of it a cluster may lack beyond the brokers and partitions of its targets.
	read  func(w *words, f *Fault) error
	write func(f Fault) string
	check func(c checker, f Fault) error // nil: nothing
	also  func(f Fault) string           // what else could stand behind what was read; nil: nothing
	// instant says that the fault has no length, as there is nothing to undo.
	instant bool

	// waits says that the fault waits for its moment, however long, and that its length counts from then; nil: never.
	waits func(f Fault) bool

	// A run: the brokers and links that the line means when it strikes, and what is done to them.
	resolve func(s *scene, f Fault) (targets []history.BrokerID, links []link, err error) // nil: the targets
	act     func(l *life, links []link) action
	// crashes says that it makes replicas unclean, loses that it may take data from them: all of it, or what was not synced, which is all
	// that counts, as acknowledged data need not be synced.
	crashes, loses bool

	// The generator: whether the fault makes sense in a cluster, one around a partition, how long it lasts, one that surely takes
	// something from the leader, and whether a line surely changes a leader, an ISR or an outcome in a healthy cluster, where
	// drawn for a run.
	useful func(s Space) bool // nil: always
	draw   func(d *drawer, p history.Partition) Fault
	length func(d *drawer) time.Duration   // nil: short enough to pass unnoticed, or long enough to tell
	steady bool                            // a short one would be none
	opener func(p history.Partition) Fault // nil: any that draw draws
	bites  func(d *drawer, l Line) bool    // nil: never
	weight float64                         // how often it is drawn, against others; 0 is 1
	// asked says that it is drawn only where it was asked for by its name: a space that names no kinds has it not.
	asked bool
}

// kinds lists every kind of fault, in the order in which errors and help name them.
var kinds = []*kind{
	&cutKind, &lossKind, &lagKind,
	&killKind, &wipeKind, &newDiskKind, &powerFailKind, &stopKind, &pauseKind, &freezeKind,
	&electKind, &votersKind, &reassignKind, &recreateKind, &clockKind,
	&holdKind, &dropKind, &lateKind, &delayKind, &throttleKind,
	&ioErrorKind, &shortWriteKind, &failSyncKind, &slowDiskKind, &bitFlipKind, &powerOffKind,
}

// kindOf finds a kind; nil if there is none of that name.
func kindOf(a world.Ability) *kind {
	for _, k := range kinds {
		if k.ability == a {
			return k
		}
	}
	return nil
}

// expectKind names all kinds, for an error.
func expectKind() string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k.ability)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// crashes reports whether a kind of fault makes replicas unclean, and loses whether it may take data from them.
func crashes(a world.Ability) bool { k := kindOf(a); return k != nil && k.crashes }
func loses(a world.Ability) bool   { k := kindOf(a); return k != nil && k.loses }

// ends reports whether a kind of fault ends a broker's process.
func ends(a world.Ability) bool { return a == world.CanStop || crashes(a) }

// instant reports whether a kind of fault has no length.
func instant(a world.Ability) bool { k := kindOf(a); return k != nil && k.instant }

// Asked reports whether a kind of fault is drawn only where it was asked for by its name.
func Asked(a world.Ability) bool { k := kindOf(a); return k != nil && k.asked }

// readTargets and writeTargets are the language of faults that say no more than whom they strike.
func readTargets(w *words, f *Fault) (err error) {
	f.Targets, err = w.targets(many)
	return err
}

func writeTargets(f Fault) string { return list(f.Targets, Target.String) }

// leaderAlone is the opener of a kind that strikes brokers.
func leaderAlone(a world.Ability) func(p history.Partition) Fault {
	return func(p history.Partition) Fault {
		return Fault{Kind: a, Targets: []Target{{Role: Leader, Partition: p}}}
	}
}

// resolveLinks is that of faults about links between two sides.
func resolveLinks(s *scene, f Fault) ([]history.BrokerID, []link, error) { return s.cut(f) }

// checkSides is the check of faults that have two sides.
func checkSides(c checker, f Fault) error { return c.sides(f) }

// twoBrokers is what faults on links need.
func twoBrokers(s Space) bool { return len(s.Brokers) > 1 }

// hitsReplica is what bites of faults that need strike no more than a replica.
func hitsReplica(d *drawer, l Line) bool { return d.hasReplica(l.Fault.Targets) }

// hasReplica reports whether a replica of some partition is surely among the targets.
func (d *drawer) hasReplica(ts []Target) bool {
	return slices.ContainsFunc(ts, func(t Target) bool {
		switch t.Role {
		case Leader, Follower, ISR:
			return true
		case OSR:
			return false
		}
		return d.Factor >= len(d.Brokers)
	})
}
