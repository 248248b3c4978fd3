package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"tidemark/history"
)

// action is one fault on brokers that are known by now. Its methods are called in this order, apply at most once; undo and
// verify may be called again, and do no harm then.
type action interface {
	// ready looks whether the fault means anything now; it returns why it must not be done, "" if it may.
	ready() string
	// claim reserves what the fault needs, under the run's lock; it returns why it must not be done, "" if it may.
	claim(s history.ClusterState) string
	// apply does it. After an error, what was done in part is undone by undo.
	apply() (detail string, err error)
	// probe looks once whether the fault is in force.
	probe() (detail string, err error)
	// look is how long still takes.
	look() time.Duration
	// still looks once more, right before the fault is undone, whether it lasted: the error says what is no more as it was.
	still() error
	// undo ends it, as far as it is not ended.
	undo() error
	// verify looks once whether it has ended.
	verify() (detail string, err error)
	// release gives back what was claimed.
	release()
}

// look is nothing for most faults: still asks the world, or nothing.
func (*life) look() time.Duration { return 0 }

// still asks nothing where nobody but the world can end the fault (a clock), where it does not last (an election), or where the world
// knows when it is ended whether it still was (a loss, a lag).
func (*life) still() error { return nil }

// life is one plan line on its way from requested to verified undone.
type life struct {
	*run
	line   Line
	event  history.FaultEvent // the next event, but for its phase and detail
	rnd    *rand.Rand
	action action        // nil until it is allowed
	ended  bool          // verified undone
	undone bool          // recorded as undone
	end    time.Duration // when it is to be undone
	unseen string        // why no probe could have seen it in force
}

// errHidden is in a probe's error when other faults hide this one: it does not count, but nothing went wrong.
var errHidden = errors.New("not observed, as other faults hide it")

func (x *run) newLife(i int, l Line, text string, nth int) *life {
	return &life{
		run:   x,
		line:  l,
		event: history.FaultEvent{Fault: i, Kind: string(l.Fault.Kind), Line: text},
		// The stream's name is the line itself, so that a shorter plan leaves the remaining lines' draws as they were.
		rnd: x.Env.Rand("nemesis "+text, nth),
	}
}

func (f *life) record(phase history.FaultPhase, detail string) {
	e := f.event
	e.Phase, e.Detail = phase, detail
	f.Record.Fault(e)
}

// live leads the fault through its life. It returns when the fault is verified undone, refused, or has failed.
func (f *life) live() {
	if why := f.await(f.line.Trigger); why != "" {
		f.record(history.FaultRefused, why)
		return
	}
	v, a, err := f.prepare()
	f.record(history.FaultRequested, "")
	if err != nil {
		f.record(history.FaultRefused, err.Error())
		return
	}
	f.Record.State(v.raw)
	if why := f.begin(a, v.known); why != "" {
		f.record(history.FaultRefused, why)
		return
	}
	failed := f.act()
	f.locked(func() { f.inForce-- })
	if err := f.settle(); err != nil {
		failed = errors.Join(failed, err)
	}
	f.Record.State(f.observe().raw)
	if failed != nil {
		f.record(history.FaultFailed, failed.Error())
	}
}

// begin lets the fault begin, or says why it must not: it means nothing now, it is outside the budget, or another fault has what
// it needs. Budget and claim are one step, so that two faults at once cannot both be allowed.
func (f *life) begin(a action, s history.ClusterState) (why string) {
	f.strays(s)
	if why = a.ready(); why != "" {
		return why
	}
	kind := f.line.Fault.Kind
	f.locked(func() {
		if p := unknown(f.Parts, s); crashes(kind) && p != "" && !f.Budget.Ignored {
			why = "the fault budget is unknown: " + p + " was never observed"
		}
		if why == "" {
			why = f.Budget.Refuse(s, &f.unclean, f.strike(kind, f.event.Targets))
		}
		if why == "" {
			why = a.claim(s)
		}
		if why == "" {
			f.action = a
			f.inForce++
			f.strikes++
			f.open++
		}
	})
	f.changed.Notify()
	return why
}

// prepare resolves the line's roles and makes its action.
func (f *life) prepare() (v view, a action, err error) {
	v = f.observe()
	sc := &scene{brokers: f.brokers, nodes: f.nodes, state: v.known, held: v.held, rnd: f.rnd}
	k := kindOf(f.line.Fault.Kind)
	var links []link
	if k.resolve != nil {
		f.event.Targets, links, err = k.resolve(sc, f.line.Fault)
	} else {
		f.event.Targets, err = sc.all(f.line.Fault.Targets)
	}
	return v, k.act(f, links), err
}

// act applies the fault, looks whether it is in force, and lets it last.
func (f *life) act() error {
	detail, err := f.action.apply()
	if err != nil {
		return fmt.Errorf("not applied: %w", err)
	}
	f.record(history.FaultApplied, detail)
	f.end = f.until
	if k := kindOf(f.line.Fault.Kind); f.line.For != 0 && (k.waits == nil || !k.waits(f.line.Fault)) {
		f.end = min(f.end, f.Env.Now()+f.line.For)
	}
	bound := f.Bound
	if !instant(f.line.Fault.Kind) {
		bound = min(bound, f.end-f.Env.Now())
	}
	err = f.poll(bound, func() (err error) {
		detail, err = f.action.probe()
		return err
	})
	switch {
	case errors.Is(err, errHidden), errors.Is(err, errUnmet), errors.Is(err, errIdle):
		f.unseen, err = err.Error(), nil
	case err != nil:
		err = fmt.Errorf("not observed: %w", err)
	default:
		f.record(history.FaultObserved, detail)
	}
	f.Record.State(f.observe().raw)
	if instant(f.line.Fault.Kind) {
		return err
	}
	if err == nil && f.unseen == "" {
		f.Env.Sleep(f.end - f.action.look() - f.Env.Now())
		if gone := f.action.still(); gone != nil {
			err = fmt.Errorf("not in force to its end: %w", gone)
		}
	}
	f.Env.Sleep(f.end - f.Env.Now())
	return err
}

// overrunMin is from when on a fault that lasted longer than its line says so: the harness itself was held up.
const overrunMin = time.Second

// undoing is what is to be said of a fault that was just undone.
func (f *life) undoing() string {
	late := f.Env.Now() - f.end
	if f.end == 0 || instant(f.line.Fault.Kind) || late < overrunMin {
		return f.unseen
	}
	said := fmt.Sprintf("%v later than its line says", late.Round(time.Millisecond))
	if f.unseen != "" {
		said += "; " + f.unseen
	}
	return said
}

// settle undoes the fault and verifies that.
func (f *life) settle() error {
	var detail string
	err := f.patiently(func() (err error) {
		if err = f.action.undo(); err != nil {
			return fmt.Errorf("not undone: %w", err)
		}
		if !f.undone {
			f.undone = true
			f.record(history.FaultUndone, f.undoing())
		}
		if detail, err = f.action.verify(); err != nil {
			return fmt.Errorf("not verified undone: %w", err)
		}
		return nil
	})
	if err == nil {
		f.ended = true
		f.action.release()
		now := f.Env.Now()
		f.locked(func() { f.open--; f.calm = now })
		f.record(history.FaultVerified, detail)
		f.changed.Notify()
	}
	return err
}

// finish tries again, once all other faults are over, to undo a fault that could not be verified undone.
func (f *life) finish() error {
	if f.action == nil || f.ended {
		return nil
	}
	return f.settle()
}
