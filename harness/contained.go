//go:build !simonly

package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/docker"
	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/results"
	"tidemark/world"
)

// Look says what to keep or show of a run in containers besides its result.
type Look struct {
	Binary string // path of the static binary that the containers run; "" is this program
	Keep   bool   // leave the cluster for a look inside
	// Progress, if set, is told now and then how far the run is, and of every phase and fault.
	Progress func(Progress)
	// Say is told what goes on, a line at a time.
	Say func(line string)
}

// Contain carries out a run in containers and judges it; the journal is written to d as it goes. The error is the harness's own
// trouble, a *docker.Missing where there is no engine, or ctx's end, never a finding; there is a result beside it if only the
// clearing away went wrong. The containers are gone when it returns, unless they are to be kept.
func Contain(ctx context.Context, run history.Run, d results.Dir, look Look) (*Result, error) {
	begun := time.Now()
	configs, err := Configs(run)
	if err != nil {
		return nil, err
	}
	opt := docker.Options{Configs: configs, Binary: look.Binary, Keep: look.Keep, Memory: run.Memory, CPUs: run.CPUs, Say: look.Say}
	if run.Target != "" {
		t, err := targetOf(run)
		if err != nil {
			return nil, err
		}
		opt.Target, opt.Site = &t, Site(run)
	}
	plan, err := nemesis.Parse(run.Plan)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	opt.Messages = slices.ContainsFunc(plan.Needs(), world.OfMessages)
	opt.Lags, opt.Reorders = plan.Lags()
	engine, err := docker.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer engine.Close() //nolint:errcheck // nothing is under way
	journal, err := history.CreateJournal(d.HistoryPath(), &run)
	if err != nil {
		return nil, err
	}
	env := docker.NewEnv(ctx, run.Seed)
	record := history.NewRecorder(env.Now, journal)
	record.Reserve(expected(run))
	res := &Result{Run: run, journaled: true, logs: map[history.BrokerID]string{}}
	tell := &teller{tell: look.Progress}
	tell.enter(PhaseStart)
	opt.Record = record.StepAt
	cluster, err := docker.Start(env, engine, opt)
	var closed error
	if err == nil {
		l := &loop{run: run, env: env, cluster: cluster, record: record, tell: tell}
		res.Ground, err = cluster.Ground()
		if err == nil {
			err = env.Run(l.execute)
		}
		for _, b := range slices.Concat(cluster.Brokers(), cluster.Controllers()) {
			text, missing := cluster.Log(b)
			if missing != nil {
				text = missing.Error() + "\n"
			}
			res.logs[b] = text
		}
		if look.Keep {
			res.Kept = cluster.Addresses()
		} else {
			tell.enter(PhaseRemove)
		}
		closed = cluster.Close()
	}
	res.History, res.Virtual = record.History(), env.Now()
	if err = errors.Join(err, journal.Close()); err != nil {
		if len(res.logs) > 0 {
			err = errors.Join(err, saveLogs(d, res)) // what they say is why
		}
		for _, line := range res.Kept {
			look.Say(line)
		}
		return nil, fmt.Errorf("seed %d: %w", run.Seed, errors.Join(err, closed))
	}
	tell.enter(PhaseJudge)
	res.Verdict = Judge(run, res.History)
	res.Wall = time.Since(begun)
	return res, closed
}

// Admit looks whether a run in containers can start at all, before anything of it is written: an engine answers, and its machine has what
// the limits ask for. The error is a *docker.Missing where there is no engine, docker.ErrLimit where a limit is out of reach.
func Admit(ctx context.Context, run history.Run) error {
	engine, err := docker.Connect(ctx)
	if err != nil {
		return err
	}
	defer engine.Close() //nolint:errcheck // only asked
	return engine.CheckLimits(ctx, run.Memory, run.CPUs)
}
