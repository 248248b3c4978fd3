package results

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// Logs opens what a broker logged; an error that is fs.ErrNotExist says that it logged nothing.
type Logs func(b history.BrokerID) (io.ReadCloser, error)

// Logs opens the logs that the directory holds.
func (d Dir) Logs(b history.BrokerID) (io.ReadCloser, error) {
	f, err := history.OpenFile(d.file(logFile(b)))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// logView is a line of a broker's log in a window.
type logView struct {
	At, Seconds string
	Broker      int
	Level       string // as its colour
	Text        string

	time  time.Duration
	order int
}

// windowLog is what the brokers logged in a window.
type windowLog struct {
	Lines   []logView
	Left    int  // lines in the window that are not shown
	Guessed bool // the brokers' clocks are placed by when the run was made up, which is some time before its start
}

const (
	logLinesMax     = 400 // of a window
	logLineBytesMax = 600
	logReadBytesMax = 64 << 20 // of a broker's log
)

// The beginnings of a line that tell its time: a step, in seconds of the run; a line of log/slog's; one of Log4j's as Apache Kafka sets it up,
// in the container's time zone, which is UTC.
var (
	stepLine  = regexp.MustCompile(`^ *(\d+\.\d{6}) (\w+)(?: (\S+) epoch -?\d+)?(?: peer \d+)?(?: (\d+) -> (\d+))?`)
	slogLine  = regexp.MustCompile(`^time=(\S+) level=(\w+)`)
	log4jLine = regexp.MustCompile(`^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (\w+)`)
)

// zero is the time of day at which the run's clock stood at nothing; guessed if only the time at which the run was made up is known.
func zero(o Outcome) (at time.Time, guessed bool) {
	if o.Ground != nil && !o.Ground.Zero.IsZero() {
		return o.Ground.Zero, false
	}
	return o.Run.Started, true
}

// logsIn reads the lines of every broker's log that fall in the windows. Steps that only move a log's end or a high watermark are left out,
// unless they touch the finding's offset.
func logsIn(o Outcome, spans []span, findings []checker.Finding, logs Logs) []windowLog {
	out := make([]windowLog, len(spans))
	if logs == nil || len(spans) == 0 {
		return out
	}
	began, guessed := zero(o)
	for b := range max(min(o.Run.Brokers, listenersMax), 0) {
		text, err := logs(history.BrokerID(b + 1))
		if err != nil {
			continue // a broker that never started has none
		}
		taken := make([][2]int, len(spans)) // of this broker, quiet and loud
		readLog(text, began, func(l logLine) {
			for i, s := range spans {
				if !s.holds(l.at) {
					continue
				}
				w := &out[i]
				w.Guessed = w.Guessed || guessed && !l.exact
				if l.steady && !l.touches(findings[s.finding]) {
					continue
				}
				loud := 0
				if l.level != "" {
					loud = 1
				}
				if taken[i][loud]++; taken[i][loud] > logLinesMax {
					w.Left++
					continue
				}
				w.Lines = append(w.Lines, logView{At: at(l.at), Seconds: inSeconds(l.at), Broker: b + 1, Level: l.level, Text: l.text, time: l.at, order: len(w.Lines)})
			}
		})
		_ = text.Close() // only read
	}
	for i := range out {
		w := &out[i]
		slices.SortStableFunc(w.Lines, func(a, b logView) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.order, b.order)) })
		if over := len(w.Lines) - logLinesMax; over > 0 {
			w.Lines, w.Left = thinned(w.Lines, logLinesMax), w.Left+over
		}
	}
	return out
}

// thinned keeps so many lines: what a broker warned of before what it only told, each in order of time.
func thinned(lines []logView, most int) []logView {
	keep := make([]bool, len(lines))
	left := most
	for _, loud := range []bool{true, false} {
		for i := range lines {
			if left > 0 && !keep[i] && (lines[i].Level != "") == loud {
				keep[i] = true
				left--
			}
		}
	}
	var out []logView
	for i := range lines {
		if keep[i] {
			out = append(out, lines[i])
		}
	}
	return out
}

// logLine is a line that tells its time, or that goes on with one that did.
type logLine struct {
	at        time.Duration
	exact     bool // its time is on the run's clock
	level     string
	text      string
	steady    bool // an append, or a high watermark that moved
	partition string
	from, to  history.Offset
}

func (l *logLine) touches(f checker.Finding) bool {
	return l.partition == f.Partition.String() && f.Offset >= 0 && l.from <= f.Offset && f.Offset < l.to
}

// readLog gives out the lines that have a time, or that go on with one that does, as stack traces do.
func readLog(r io.Reader, began time.Time, give func(logLine)) {
	in := bufio.NewReaderSize(io.LimitReader(r, logReadBytesMax), 1<<16)
	var last logLine
	known := false
	for {
		raw, err := in.ReadSlice('\n')
		text := strings.TrimRight(string(raw), "\r\n")
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is too long
			_, err = in.ReadSlice('\n')
		}
		if text != "" {
			if line, ok := parseLogLine(text, began); ok {
				last, known = line, true
				give(line)
			} else if known {
				last.text, last.steady = clip(text, logLineBytesMax), false
				give(last)
			}
		}
		if err != nil {
			return
		}
	}
}

// parseLogLine reads the time at a line's beginning; the rest is its text.
func parseLogLine(text string, began time.Time) (logLine, bool) {
	if m := stepLine.FindStringSubmatch(text); m != nil {
		seconds, err := strconv.ParseFloat(m[1], 64)
		if err != nil || seconds > 1e9 {
			return logLine{}, false
		}
		l := logLine{at: time.Duration(seconds * 1e9), exact: true, text: clip(strings.TrimSpace(strings.TrimSpace(text)[len(m[1]):]), logLineBytesMax), partition: m[3]}
		l.steady = m[2] == string(history.StepAppend) || m[2] == string(history.StepHW)
		from, _ := strconv.ParseInt(m[4], 10, 64)
		to, _ := strconv.ParseInt(m[5], 10, 64)
		l.from, l.to = history.Offset(from), history.Offset(to)
		return l, true
	}
	if m := slogLine.FindStringSubmatch(text); m != nil {
		if t, err := time.Parse(time.RFC3339Nano, m[1]); err == nil {
			return logLine{at: t.Sub(began), level: levelWord(m[2]), text: clip(strings.TrimSpace(text[len("time=")+len(m[1]):]), logLineBytesMax)}, true
		}
	}
	if m := log4jLine.FindStringSubmatch(text); m != nil {
		if t, err := time.Parse("2006-01-02 15:04:05,000", m[1]); err == nil {
			return logLine{at: t.Sub(began), level: levelWord(m[2]), text: clip(strings.TrimSpace(text[len("[]")+len(m[1]):]), logLineBytesMax)}, true
		}
	}
	return logLine{}, false
}

// levelWord is a logger's level, as its colour.
func levelWord(level string) string {
	switch strings.ToUpper(level) {
	case "ERROR", "FATAL":
		return "bad"
	case "WARN", "WARNING":
		return "warn"
	default:
		return ""
	}
}
