package log

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/refused"
)

// Recovery says what opening a log did.
type Recovery struct {
	Clean          bool         // the last shutdown was clean: nothing was scanned
	ScannedBytes   int64        // read and verified from the recovery point on
	TruncatedBytes int64        // cut off as torn or corrupt
	From, To       kafka.Offset // the end offset that the files seemed to have, and the one after the cut; equal when nothing was cut
	Reason         string       // why it was cut, "" if it was not
}

// maxEpochFile bounds a leader-epoch-checkpoint, in bytes: a million elections.
const maxEpochFile = 32 << 20

// Open opens or creates the log in dir. recoveryPoint is the offset below which everything is known to be on disk; with clean,
// the last shutdown was clean and nothing needs scanning. Otherwise every segment from the one that holds the recovery
// point on is read and verified, the log is cut at the first byte that is not part of a valid batch, and what is kept is synced.
// A missing or bad index, epoch checkpoint or recovery point makes it scan more.
func Open(fsys disk.FS, dir string, cfg Config, recoveryPoint kafka.Offset, clean bool) (*Log, Recovery, error) {
	return OpenFrom(fsys, dir, cfg, 0, recoveryPoint, clean)
}

// OpenFrom is Open of a log that begins at start, or at its first segment if that is later: log-start-offset-checkpoint tells it. What lies
// below is removed, and a log that ends below begins anew there.
func OpenFrom(fsys disk.FS, dir string, cfg Config, start, recoveryPoint kafka.Offset, clean bool) (*Log, Recovery, error) {
	if err := cfg.check(); err != nil {
		return nil, Recovery{}, err
	}
	l := &Log{fs: fsys, dir: dir, cfg: cfg, producers: producers{bug: cfg.Bug}}
	rec, err := l.open(start, recoveryPoint, clean)
	if err != nil {
		return nil, rec, errors.Join(fmt.Errorf("open log %s: %w", dir, err), l.Close())
	}
	return l, rec, nil
}

func (l *Log) open(start, recoveryPoint kafka.Offset, clean bool) (Recovery, error) {
	bases, err := listFiles(l.fs, l.dir, logSuffix)
	if err == nil {
		bases, err = l.dropBelow(start, bases)
	}
	if err != nil {
		return Recovery{}, err
	}
	if len(bases) == 0 {
		rec, err := l.create(start, recoveryPoint, clean)
		if err != nil {
			return rec, err
		}
		return rec, l.recoverProducers()
	}
	l.start = max(start, bases[0])
	for _, base := range bases {
		s := newSegment(l.dir, base)
		l.segments = append(l.segments, s)
		if err := s.openFiles(l.fs, false); err != nil {
			return Recovery{}, err
		}
	}
	firstScanned := len(l.segments)
	if !clean {
		firstScanned = max(0, l.segmentOf(recoveryPoint))
	}
	r := recovery{log: l}
	known, err := r.loadEpochs()
	if err != nil {
		return Recovery{}, err
	}
	if !known {
		firstScanned = 0
	}
	end, err := r.examine(firstScanned)
	if err == nil && !clean && end < recoveryPoint {
		// What was known to be on disk is not: nothing below the recovery point is certain.
		end, err = r.examine(0)
	}
	if err != nil {
		return Recovery{}, err
	}
	if err := r.settle(end); err != nil {
		return Recovery{}, err
	}
	if err := l.recoverProducers(); err != nil {
		return Recovery{}, err
	}
	if err := l.beginAt(l.start); err != nil {
		return Recovery{}, err
	}
	if l.cfg.Bug.Bites(bug.RecoveryDropsUnflushed, !clean && l.end > max(recoveryPoint, l.start)) {
		if r.To, err = l.Truncate(max(recoveryPoint, l.start)); err != nil {
			return Recovery{}, err
		}
		r.Reason = "nothing behind the recovery point is believed"
	}
	if !clean && end < recoveryPoint {
		r.From = max(r.From, recoveryPoint)
		if r.Reason == "" {
			r.Reason = fmt.Sprintf("the log ends at offset %d, expected at least recovery point %d", end, recoveryPoint)
		}
	}
	return r.Recovery, nil
}

// listFiles returns the offsets that name the files of that suffix in dir, ascending; none if there is no such directory.
func listFiles(fsys disk.FS, dir, suffix string) ([]kafka.Offset, error) {
	names, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var at []kafka.Offset
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, suffix)
		if !ok || len(digits) != 20 {
			continue
		}
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 {
			at = append(at, kafka.Offset(n))
		}
	}
	slices.Sort(at)
	return at, nil
}

// create makes an empty log where no segment is.
func (l *Log) create(start, recoveryPoint kafka.Offset, clean bool) (Recovery, error) {
	if err := l.fs.MkdirAll(l.dir); err != nil {
		return Recovery{}, err
	}
	rec := Recovery{Clean: clean, From: start, To: start}
	if recoveryPoint > start {
		rec = Recovery{From: recoveryPoint, To: start, Reason: fmt.Sprintf("no segment is left, expected one below recovery point %d", recoveryPoint)}
	}
	l.start, l.end = start, start
	return rec, l.startSegment(start)
}

// recovery brings a log's memory, and where needed its files, in agreement with the batches on disk. It looks first and
// changes files only once it knows what to keep.
type recovery struct {
	Recovery
	log     *Log
	epochs  []EpochStart // as the checkpoint had them
	scanned []*segment
	kept    int   // segments from this one on go
	valid   int64 // and so much of the last one kept stays
}

// loadEpochs reads the leader-epoch-checkpoint. False if there is none that can be used for the records there are.
func (r *recovery) loadEpochs() (bool, error) {
	l := r.log
	data, err := disk.ReadFile(l.fs, path.Join(l.dir, epochFile), maxEpochFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l.active().size == 0 && len(l.segments) == 1, nil
	case errors.Is(err, disk.ErrTooLarge):
		return false, nil
	case err != nil:
		return false, err
	}
	r.epochs, err = ParseEpochs(data)
	return err == nil, nil
}

// examine takes segments before firstScanned as their indexes say, and the others by reading all of their bytes. It stops at
// the first segment that does not end with a whole valid batch, or not where the next one starts, and returns the offset there.
func (r *recovery) examine(firstScanned int) (kafka.Offset, error) {
	l := r.log
	r.Recovery, r.scanned = Recovery{}, nil
	l.epochs.entries = slices.Clone(r.epochs)
	for i, s := range l.segments {
		r.kept, r.valid = i+1, s.size
		if i < firstScanned {
			ok, err := r.adopt(i)
			if err != nil {
				return 0, err
			}
			if ok {
				continue
			}
			firstScanned = i
		}
		switch i {
		case 0:
			l.epochs.trim(0) // of a log that began earlier, perhaps
		case firstScanned:
			l.epochs.trim(s.base)
		}
		if err := r.scan(s); err != nil {
			return 0, err
		}
		if r.Reason == "" && i+1 < len(l.segments) && s.end != l.segments[i+1].base {
			r.Reason = fmt.Sprintf("%s ends at offset %d, expected the next segment's base %d", s.logPath, s.end, l.segments[i+1].base)
		}
		if r.Reason != "" {
			break
		}
	}
	return l.segments[r.kept-1].end, nil
}

// adopt takes a segment by its index: the headers behind the last entry must lead exactly to the end of the file and to
// the next segment's base, in the epochs that the cache has. False if they do not.
func (r *recovery) adopt(i int) (bool, error) {
	l, s := r.log, r.log.segments[i]
	data, err := disk.ReadFile(l.fs, s.indexPath, int(s.size/headerSize+1)*indexEntrySize)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrTooLarge) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if s.index, err = parseIndex(data, s.size); err != nil {
		return false, nil
	}
	pos, next := int64(0), s.base
	if n := len(s.index); n > 0 {
		last := s.index[n-1]
		b, err := l.batchAt(s, int64(last.position))
		if err != nil || b.Last-s.base != kafka.Offset(last.relative) {
			return false, ignoreCorrupt(err)
		}
		pos, next = int64(last.position), b.Base
	}
	for pos < s.size {
		b, err := l.batchAt(s, pos)
		if err != nil || b.Base != next || int64(b.Size) > s.size-pos || b.Base >= l.start && b.Epoch != l.epochs.at(b.Base) {
			return false, ignoreCorrupt(err)
		}
		pos, next = pos+int64(b.Size), b.Last+1
	}
	s.end = next
	return i+1 == len(l.segments) || next == l.segments[i+1].base, nil
}

// ignoreCorrupt drops an error about batches, which recovery itself deals with, and keeps one of the disk.
func ignoreCorrupt(err error) error {
	var refused *InvalidBatch
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// scanBytes is read at once by a scan.
const scanBytes = 64 << 10

// scan verifies a segment from its first byte and rebuilds its index and the epoch cache. If not all of it is valid, Reason
// says why.
func (r *recovery) scan(s *segment) error {
	l := r.log
	r.scanned = append(r.scanned, s)
	s.index, s.end = nil, s.base
	var w window
	pos := int64(0)
	for pos < s.size {
		b, err := verify(&w, s, pos, s.end, max(0, l.epochs.latest()), l.cfg.Bug, l.cfg.Refused)
		if err != nil {
			if ioErr := ignoreCorrupt(err); ioErr != nil {
				return ioErr
			}
			r.Reason = fmt.Sprintf("%s at %d: %v", s.logPath, pos, err)
			break
		}
		if b.Last-s.base <= maxRelative && wantsEntry(s.index, pos, l.cfg.IndexIntervalBytes) {
			s.index = append(s.index, indexEntry{int32(b.Last - s.base), int32(pos)})
		}
		l.epochs.assign(b.Epoch, b.Base)
		s.end = b.Last + 1
		pos += int64(b.Size)
	}
	r.ScannedBytes += pos
	r.valid = pos
	return nil
}

// verify reads the batch at pos, which must start at offset next, in epoch or a later one. It reads in pieces, so that a
// length that is nonsense costs no memory.
func verify(w *window, s *segment, pos int64, next kafka.Offset, epoch kafka.Epoch, on *bug.Switch, noted *refused.Log) (Batch, error) {
	if s.size-pos < headerSize {
		return Batch{}, reject(kafka.CorruptMessage, "%d bytes left, expected a batch header of %d", s.size-pos, headerSize)
	}
	h, err := w.read(s, pos, headerSize, scanBytes)
	if err != nil {
		return Batch{}, err
	}
	b, err := ParseBatch(h)
	switch {
	case err != nil:
		return b, err
	case int64(b.Size) > s.size-pos:
		return b, reject(kafka.CorruptMessage, "batch has %d bytes by its length field, but %d are left", b.Size, s.size-pos)
	case b.Base != next:
		return b, reject(kafka.CorruptMessage, "batch starts at offset %d, expected %d", b.Base, next)
	case b.Epoch < epoch:
		return b, reject(kafka.CorruptMessage, "batch at offset %d has epoch %d, expected at least %d", b.Base, b.Epoch, epoch)
	}
	crc := uint32(0)
	for at, end := pos+atAttributes, pos+int64(b.Size); at < end; {
		piece, err := w.read(s, at, 1, scanBytes)
		if err != nil {
			return b, err
		}
		piece = piece[:min(int64(len(piece)), end-at)]
		crc = crc32.Update(crc, castagnoli, piece)
		at += int64(len(piece))
	}
	if crc != b.CRC {
		noted.Note(refused.BrokenBatch, refused.Kept, refused.About{})
	}
	if crc != b.CRC && !on.Bites(bug.CRCUnchecked, true) {
		return b, reject(kafka.CorruptMessage, "batch at offset %d has CRC %08x, expected %08x", b.Base, b.CRC, crc)
	}
	return b, nil
}

// settle makes the log end at end: it drops what examine found invalid, syncs what it scanned, and opens the active segment
// for appending.
func (r *recovery) settle(end kafka.Offset) error {
	l, last := r.log, r.log.segments[r.kept-1]
	r.From, r.To = end, end
	if r.Reason != "" {
		r.From = walk(last, r.valid, end)
	}
	r.TruncatedBytes = last.size - r.valid
	for _, s := range l.segments[r.kept:] {
		r.From = max(r.From, walk(s, 0, s.base))
		r.TruncatedBytes += s.size
	}
	for len(l.segments) > r.kept {
		if err := l.active().remove(l.fs); err != nil {
			return err
		}
		l.segments = l.segments[:len(l.segments)-1]
	}
	if r.valid < last.size {
		if err := last.file.Truncate(r.valid); err != nil {
			return err
		}
		last.size = r.valid
	}
	l.end, l.recoveryPoint = end, end
	if l.epochs.trim(end) { // of these no record is left
		l.flush.epochsChanged()
	}
	l.window.forget()
	if r.Clean = len(r.scanned) == 0; !r.Clean {
		if err := r.sync(); err != nil {
			return err
		}
		l.flush = flushState{}
	}
	return last.openIndex(l.fs)
}

// sync makes what recovery decided last.
func (r *recovery) sync() error {
	l := r.log
	var steps []disk.Step
	for _, s := range r.scanned {
		steps = append(steps,
			disk.Step{Op: disk.SyncFile, Path: s.logPath},
			disk.Step{Op: disk.WriteFile, Path: s.indexPath, Data: formatIndex(s.index)},
			disk.Step{Op: disk.SyncFile, Path: s.indexPath})
	}
	steps = append(steps, disk.ReplaceFile(l.dir, epochFile, FormatEpochs(l.epochs.entries))...)
	steps = append(steps, disk.Step{Op: disk.SyncDir, Path: path.Dir(l.dir)})
	for _, step := range steps {
		if err := disk.Run(l.fs, step); err != nil {
			return err
		}
	}
	return nil
}

// walk is the offset at which the headers from pos on seem to end, whatever the bytes behind them are.
func walk(s *segment, pos int64, next kafka.Offset) kafka.Offset {
	var w window
	for s.size-pos >= headerSize {
		h, err := w.read(s, pos, headerSize, windowBytes)
		if err != nil {
			return next
		}
		b, err := ParseBatch(h)
		if err != nil || b.Base != next {
			return next
		}
		pos, next = pos+int64(b.Size), b.Last+1
	}
	return next
}
