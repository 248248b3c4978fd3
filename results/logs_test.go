package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// TestLogsAroundAFinding reads what three brokers logged, each in a form of its own, and keeps what belongs to the window, in order of time.
func TestLogsAroundAFinding(t *testing.T) {
	began := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	texts := map[history.BrokerID]string{
		1: "     9.000000 election orders/0 epoch 0\n    12.100000 append orders/0 epoch 1 40 -> 43\n    12.100001 append orders/0 epoch 1 43 -> 44\n" +
			"    12.100002 append orders/1 epoch 1 40 -> 43\n    12.200000 truncate orders/0 epoch 2 peer 2 44 -> 40 (" + hostile + ")\n    20.000000 down\n",
		2: "no time yet\ntime=2026-11-30T08:00:12.050Z level=WARN msg=\"no way to a peer\" error=" + hostile + "\ntime=2026-11-30T08:00:30Z level=INFO msg=late\ntime=nonsense level=INFO msg=odd\n",
		3: "[2026-11-30 08:00:12,150] ERROR Halting (kafka.log)\njava.io.IOException: gone\n\tat kafka.log.Log.append\n[2026-11-30 08:00:13,000] INFO " + strings.Repeat("x", 200_000) + "\n[2026-11-30 08:01:00,000] INFO later\n\tat nowhere\n",
	}
	logs := func(b history.BrokerID) (io.ReadCloser, error) {
		text, ok := texts[b]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
	o := Outcome{Run: history.Run{Brokers: 5, Started: began}}
	findings := []checker.Finding{{Partition: orders, Offset: 42}}
	windows := logsIn(o, []span{{0, 12 * time.Second, 14 * time.Second}}, findings, logs)
	var got []string
	for _, l := range windows[0].Lines {
		got = append(got, fmt.Sprintf("%s %d %s %.50s", l.At, l.Broker, l.Level, l.Text))
	}
	want := []string{
		"12.050 s 2 warn level=WARN msg=\"no way to a peer\" error=" + hostile[:10],
		"12.100 s 1  append orders/0 epoch 1 40 -> 43",
		"12.150 s 3 bad ERROR Halting (kafka.log)",
		"12.150 s 3 bad java.io.IOException: gone",
		"12.150 s 3 bad \tat kafka.log.Log.append",
		"12.200 s 1  truncate orders/0 epoch 2 peer 2 44 -> 40 (<img sr",
		"13.000 s 3  INFO " + strings.Repeat("x", 45),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the window has\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !windows[0].Guessed {
		t.Error("when the run's clock began is not known, and nobody says so")
	}
	o.Ground = &history.Ground{Zero: began.Add(time.Second)}
	if w := logsIn(o, []span{{0, 11 * time.Second, 11100 * time.Millisecond}}, findings, logs)[0]; len(w.Lines) != 1 || w.Lines[0].Broker != 2 || w.Guessed {
		t.Errorf("with the time at which the clock began: %+v, expected the line of broker 2", w)
	}
}

// TestALoudLogIsBounded: what is told of a window has a bound, and warnings come first.
func TestALoudLogIsBounded(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		level := "INFO"
		if i%1000 == 999 {
			level = "ERROR"
		}
		fmt.Fprintf(&text, "time=2026-11-30T08:00:%02d.%03dZ level=%s msg=%d\n", i/1000, i%1000, level, i)
	}
	logs := func(b history.BrokerID) (io.ReadCloser, error) {
		if b > 2 {
			return nil, errors.New("unreadable")
		}
		return io.NopCloser(strings.NewReader(text.String())), nil
	}
	o := Outcome{Run: history.Run{Brokers: 3, Started: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}}
	w := logsIn(o, []span{{0, 0, time.Minute}}, []checker.Finding{{Offset: -1}}, logs)[0]
	loud := 0
	for _, l := range w.Lines {
		if l.Level == "bad" {
			loud++
		}
	}
	if len(w.Lines) != logLinesMax || w.Left != 10_000-logLinesMax {
		t.Errorf("%d lines and %d left, expected %d and %d", len(w.Lines), w.Left, logLinesMax, 10_000-logLinesMax)
	}
	if loud != 10 {
		t.Errorf("%d errors among the lines that are kept, expected 10", loud)
	}
}

// TestThePageSaysWhoChecksLogs: a log names no run, so that of another one, or one that was made up, would be shown as well.
func TestThePageSaysWhoChecksLogs(t *testing.T) {
	const says = "These lines are as the files broker-N.log beside the run say; tidemark check tells whether they are still what the run wrote."
	o, h := invalidRunWith("")
	var lines strings.Builder
	for s := range 100 {
		fmt.Fprintf(&lines, "%13.6f made up\n", float64(s))
	}
	for text, shown := range map[string]bool{lines.String(): true, "": false} {
		var page strings.Builder
		logs := func(history.BrokerID) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
		if err := WriteReport(&page, o, h, logs); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.String(), "made up") != shown || strings.Contains(page.String(), says) != shown {
			t.Errorf("with %d bytes of logs the page shows them: %v, and says %q: %v; expected both %v", len(text), strings.Contains(page.String(), "made up"), says,
				strings.Contains(page.String(), says), shown)
		}
	}
}
