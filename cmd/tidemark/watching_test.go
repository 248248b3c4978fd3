package main

import (
	"strings"
	"testing"
	"time"

	"tidemark/harness"
)

// story is what a run in containers tells of itself.
var story = []harness.Progress{
	{Phase: harness.PhaseStart},
	{Phase: harness.PhaseLoad},
	{Phase: harness.PhaseLoad, Load: 2 * time.Second, News: "fault 1 in force: at 2s kill broker 1 for 3s", Force: []string{"kill broker 1"}},
	{Phase: harness.PhaseLoad, Load: 3 * time.Second, Acked: 431, Force: []string{"kill broker 1"}},
	{Phase: harness.PhaseLoad, Load: 5 * time.Second, News: "fault 1 undone: at 2s kill broker 1 for 3s"},
	{Phase: harness.PhaseSettle},
}

func TestOffATerminalARunIsALineAPhaseAndAFault(t *testing.T) {
	var log strings.Builder
	w := &watching{log: &log, total: 30 * time.Second}
	for _, p := range story {
		w.tell(p)
	}
	w.say("removed nothing")
	w.end()
	want := "starting brokers…\n30s of load…\n2s fault 1 in force: at 2s kill broker 1 for 3s\n5s fault 1 undone: at 2s kill broker 1 for 3s\nsettling…\nremoved nothing\n"
	if log.String() != want {
		t.Errorf("wrote\n%s\nexpected\n%s", log.String(), want)
	}
}

func TestOnATerminalARunIsOneLineThatFits(t *testing.T) {
	var log strings.Builder
	w := &watching{log: &log, width: 80, total: 30 * time.Second}
	for _, p := range story {
		w.drawn = time.Time{} // long ago
		w.tell(p)
	}
	w.say("removed nothing")
	lines := strings.Split(strings.ReplaceAll(log.String(), "\x1b[K", ""), "\r")
	if want := "3s of 30s of load, 431 acknowledged, 144 a second; kill broker 1 in force"; lines[4] != want {
		t.Errorf("drew %q, expected %q", lines[4], want)
	}
	if want := []string{"settling…", "removed nothing\n"}; lines[6] != want[0] || lines[7] != want[1] {
		t.Errorf("ended with %q, expected %q", lines[6:], want)
	}
	if strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%q has lines that stay, expected one", log.String())
	}
	w.width, w.drawn = 20, time.Time{}
	log.Reset()
	w.tell(story[3])
	if want := "\r3s of 30s of load, \x1b[K"; log.String() != want {
		t.Errorf("drew %q on 20 columns, expected %q", log.String(), want)
	}
}
