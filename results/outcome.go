package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// outcomeFormat is the version of results.json that this package reads and writes.
const outcomeFormat = 1

// Outcome is all that a report tells.
//
// results.json holds it, without the run that run.json holds, as one object:
//
//	format       1
//	seed         the run's seed, a decimal string: JavaScript's numbers cannot hold 64 bits
//	started      when the run started, as run.json has it; left out by older builds
//	hash         the trace hash of a simulated run, hexadecimal; "" elsewhere
//	replay       the line to paste that replays the run
//	wallSeconds  seconds of real time that the run took
//	truncated    what is missing of the journal; "" if nothing
//	underWay     true as long as the run has neither come to its end nor to trouble; left out otherwise
//	history      which file the verdict was given on, Journal: its bytes and their sha256; left out by older builds, and where there is none
//	logs         what each broker-N.log held then, by its name: a Journal each; left out by older builds
//	ground       of a run in containers, history.Ground: engine, kernel, image, and each broker's listeners
//	shrunk       of a failing run that was shrunk: the plan that is left, and the line that replays it
//	verdict      checker.Verdict: status, reason, findings with their witnesses, contract, stats, porcupine (the second judge)
//
// Times inside the verdict (ackedNanos, timeNanos, the time of a witness's step) are nanoseconds since the run's start; -1 is never. In
// stats, Sends is Acked + Failed + Unknown, the outcomes that history calls OK, Fail and Info; FaultsObserved and FaultsByKind count the
// faults that a probe saw take effect.
type Outcome struct {
	Run       history.Run
	Verdict   checker.Verdict
	Hash      string             // the trace hash of a simulated run, hex; "" elsewhere
	Replay    string             // the line to paste that replays the run
	Wall      float64            // seconds of real time that the run took
	Truncated string             // what is missing of the journal
	UnderWay  bool               // the run has begun and not yet told how it ended: it goes on, or its harness was killed
	Journal   *Journal           // which history was judged; nil is the one that lies in the directory when it is told
	Logs      map[string]Journal // which logs, by their names; nil are those that lie in the directory when it is told
	Ground    *history.Ground    // what a run in containers stood on; nil of a simulated one
	Shrunk    *Shrunk            // what shrinking left of the run; nil if it was not shrunk
}

// Shrunk is the smallest run that was found to fail as this one does.
type Shrunk struct {
	Plan   string `json:"plan"`
	Replay string `json:"replay"` // the line to paste that replays it
	Done   bool   `json:"done"`   // nothing smaller fails alike
}

// storedOutcome is results.json.
type storedOutcome struct {
	Format    int                `json:"format"`
	Seed      uint64             `json:"seed,string"`
	Started   time.Time          `json:"started,omitzero"`
	Hash      string             `json:"hash"`
	Replay    string             `json:"replay"`
	Wall      float64            `json:"wallSeconds"`
	Truncated string             `json:"truncated"`
	UnderWay  bool               `json:"underWay,omitempty"`
	Journal   *Journal           `json:"history,omitempty"`
	Logs      map[string]Journal `json:"logs,omitempty"`
	Ground    *history.Ground    `json:"ground,omitempty"`
	Shrunk    *Shrunk            `json:"shrunk,omitempty"`
	Verdict   checker.Verdict    `json:"verdict"`
}

// Finish writes results.json and report.html, and porcupine.html if porcupine objects, also over those of an earlier check. None is put in place before
// all are written, and results.json, which is what is believed, last: so page and results tell the same verdict, also where the disk is full.
func (d Dir) Finish(o Outcome, h *history.History) error {
	if o.Journal == nil && !o.UnderWay { // of a run under way it grows
		var err error
		if o.Journal, err = d.journal(); err != nil {
			return err
		}
	}
	if o.Logs == nil && !o.UnderWay {
		var err error
		if o.Logs, err = d.logs(); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(storedOutcome{
		Format: outcomeFormat, Seed: o.Run.Seed, Started: o.Run.Started, Hash: o.Hash, Replay: o.Replay, Wall: o.Wall, Truncated: o.Truncated, UnderWay: o.UnderWay, Journal: o.Journal, Logs: o.Logs, Ground: o.Ground, Shrunk: o.Shrunk,
		Verdict: o.Verdict,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("results cannot be written as JSON: %w", err)
	}
	if len(text) >= outcomeBytesMax {
		return fmt.Errorf("%s would have %d bytes, expected fewer than %d: the verdict has %d findings",
			outcomeFile, len(text), outcomeBytesMax, len(o.Verdict.Findings))
	}
	drafts := []draft{{reportFile, func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		if err := WriteReport(buffered, o, h, d.Logs); err != nil {
			return err
		}
		return buffered.Flush()
	}}, {outcomeFile, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	}}}
	_, pictured := o.Verdict.Picture()
	if pictured {
		drafts = append([]draft{{pictureFile, func(w io.Writer) error { return checker.Draw(w, o.Run, h, o.Verdict) }}}, drafts...)
	}
	if err := d.writeAll(drafts); err != nil || pictured {
		return err
	}
	if err := os.Remove(d.file(pictureFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an earlier check's picture: %w", err)
	}
	return nil
}

// Outcome reads results.json back, and the run from run.json. Anything but what Finish wrote is an error that names the
// file and what was expected.
func (d Dir) Outcome() (Outcome, error) {
	_, run, err := Open(d.Path)
	if err != nil {
		return Outcome{}, err
	}
	text, err := d.read(outcomeFile, outcomeBytesMax)
	if err != nil {
		return Outcome{}, err
	}
	o, err := DecodeOutcome(text, run)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", d.file(outcomeFile), err)
	}
	return o, nil
}

// simulated is the world of runs that replay exactly.
const simulated = "sim"

// wallMax bounds the seconds that a run took: more than anybody waits.
const wallMax = 1e9

// hash matches a trace hash.
var hash = regexp.MustCompile(`^[0-9a-f]{16}$`)

// credible looks whether what is told of a run can be so: its verdict, and what stands around it. The error is a checker.ErrIncredible.
func (s *storedOutcome) credible(run history.Run) error {
	v := &s.Verdict
	proves := v.Status == checker.Valid || v.Status == checker.Vacuous
	switch {
	case proves && s.Truncated != "":
		return fmt.Errorf("%w: it is %s, and truncated is %.300q, expected %s or %s of a history that is not whole", checker.ErrIncredible, v.Status, s.Truncated, checker.Unknown, checker.Invalid)
	case proves && s.UnderWay:
		return fmt.Errorf("%w: it is %s, and underWay is true, expected %s or %s of a run that has not told how it ended", checker.ErrIncredible, v.Status, checker.Unknown, checker.Invalid)
	case !(s.Wall >= 0 && s.Wall <= wallMax):
		return fmt.Errorf("%w: wallSeconds is %g, expected 0 to %g", checker.ErrIncredible, s.Wall, float64(wallMax))
	case s.Hash != "" && (run.World != simulated || !hash.MatchString(s.Hash)):
		return fmt.Errorf("%w: hash is %.80q of a run in the world %.80q, expected 16 hexadecimal digits of one in %s, and none elsewhere", checker.ErrIncredible, s.Hash, run.World, simulated)
	case proves && s.Hash == "" && s.Wall > 0 && run.World == simulated: // where results were lost, both went with them
		return fmt.Errorf("%w: it is %s and took %g s, and its hash is empty, expected 16 hexadecimal digits of a simulated run that came to its end", checker.ErrIncredible, v.Status, s.Wall)
	}
	return v.Credible(run)
}

// DecodeOutcome reads what results.json holds, of a run that run.json holds. It believes no file that cannot be what Finish wrote: of another
// format, of another run, or whose verdict is against its own findings.
func DecodeOutcome(text []byte, run history.Run) (Outcome, error) {
	var s storedOutcome
	if err := decodeStrict(text, &s); err != nil {
		return Outcome{}, err
	}
	switch {
	case s.Format != outcomeFormat:
		return Outcome{}, fmt.Errorf("format is %d, expected %d", s.Format, outcomeFormat)
	case s.Seed != run.Seed:
		return Outcome{}, fmt.Errorf("%w: seed is %d, expected %d as in %s", ErrAnotherRun, s.Seed, run.Seed, runFile)
	case !s.Started.IsZero() && !s.Started.Equal(run.Started):
		return Outcome{}, fmt.Errorf("%w: started is %s, expected %s as in %s", ErrAnotherRun, s.Started.Format(time.RFC3339Nano), run.Started.Format(time.RFC3339Nano), runFile)
	}
	if s.Verdict.Status == "" {
		return Outcome{}, errors.New("it has no verdict, or one without a status: expected verdict as an object with status, reason, contract and the rest")
	}
	if was, is := s.Verdict.Contract.Configured(), checker.ContractOf(run).Configured(); was != is {
		return Outcome{}, fmt.Errorf("%w: its contract is that of %s, expected %s as in %s", ErrAnotherRun, was, is, runFile)
	}
	if err := s.credible(run); err != nil {
		return Outcome{}, err
	}
	return Outcome{Run: run, Verdict: s.Verdict, Hash: s.Hash, Replay: s.Replay, Wall: s.Wall, Truncated: s.Truncated, UnderWay: s.UnderWay, Journal: s.Journal, Logs: s.Logs, Ground: s.Ground, Shrunk: s.Shrunk}, nil
}
