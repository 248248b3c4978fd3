package log

import (
	"path"
	"slices"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

const epochFile = "leader-epoch-checkpoint"

// flushState knows what the disk lacks. Every change has a version; a flush, once done, covers all up to its own.
type flushState struct {
	version  uint64 // of the last change
	soon     uint64 // of the last change that should not wait for long
	given    uint64 // covered by the last flush that was handed out
	done     uint64 // covered by the last flush that was reported
	dir      uint64 // of the last change of the directory
	epochs   uint64 // of the last change of the epoch cache
	underWay []flushUnderWay
}

// flushUnderWay is a flush handed out and not reported yet.
type flushUnderWay struct {
	version uint64
	end     kafka.Offset // the log's end then
	covers  kafka.Offset // the smallest end since: what was truncated is not what was flushed
}

func (f *flushState) touch(s *segment) {
	f.version++
	s.changed = f.version
}

func (f *flushState) dirChanged() {
	f.version++
	f.dir, f.soon = f.version, f.version
}

func (f *flushState) epochsChanged() {
	f.version++
	f.epochs, f.soon = f.version, f.version
}

func (f *flushState) truncated(end kafka.Offset) {
	f.soon = f.version
	for i := range f.underWay {
		f.underWay[i].covers = min(f.underWay[i].covers, end)
	}
}

// FlushSteps returns the disk work that makes everything below the current End last (segments written since the recovery
// point, their index, the epoch checkpoint, the directory), and that End. What an earlier flush has under way is in it again.
// Steps, if there are any, must be run whole and answered with Flushed, in order; a log whose flush failed is of no use.
func (l *Log) FlushSteps() ([]disk.Step, kafka.Offset) {
	f := &l.flush
	f.given = f.version
	if f.done == f.version {
		return nil, l.end
	}
	var steps []disk.Step
	for _, s := range l.segments {
		if s.changed > f.done {
			steps = append(steps, disk.Step{Op: disk.SyncFile, Path: s.logPath}, disk.Step{Op: disk.SyncFile, Path: s.indexPath})
		}
	}
	steps = append(steps, l.snapshotSteps()...)
	if f.epochs > f.done {
		steps = append(steps, disk.ReplaceFile(l.dir, epochFile, FormatEpochs(l.epochs.entries))...)
	}
	if f.dir > f.done {
		if f.epochs <= f.done { // else the replacement has synced it
			steps = append(steps, disk.Step{Op: disk.SyncDir, Path: l.dir})
		}
		steps = append(steps, disk.Step{Op: disk.SyncDir, Path: path.Dir(l.dir)})
	}
	ownDir := func(s disk.Step) bool { return s.Op == disk.SyncDir && s.Path == l.dir }
	if l.cfg.Bug.Bites(bug.DirectoryUnsynced, slices.ContainsFunc(steps, ownDir)) {
		steps = slices.DeleteFunc(steps, ownDir)
	}
	f.underWay = append(f.underWay, flushUnderWay{f.version, l.end, l.end})
	return steps, l.end
}

// Flushed says that the work for end is done: the recovery point moves up to it, unless the log was truncated below since.
func (l *Log) Flushed(end kafka.Offset) {
	f := &l.flush
	for i, u := range f.underWay {
		if u.end == end {
			f.done = u.version
			l.owed = slices.DeleteFunc(l.owed, func(o owedSnapshot) bool { return o.version <= f.done })
			l.recoveryPoint = max(l.recoveryPoint, u.covers)
			f.underWay = append(f.underWay[:0], f.underWay[i+1:]...)
			return
		}
	}
}

// NeedsFlush reports whether something should be flushed soon that no flush has been asked for: a segment was rolled, the log
// was truncated, or the epoch cache changed.
func (l *Log) NeedsFlush() bool { return l.flush.soon > l.flush.given }
