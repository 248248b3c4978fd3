package proxy

import (
	"bytes"
	"io"
	"testing"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// There and back, between clients and the broker.
var (
	there = world.Link{From: history.NoBroker, To: 1}
	back  = world.Link{From: 1, To: history.NoBroker}
)

// took sends a word one way and tells how long it was under way.
func (s *stage) took(from, to *served, word string) time.Duration {
	s.t.Helper()
	begun := time.Now()
	_, err := io.WriteString(from, word)
	s.do(err)
	got := make([]byte, len(word))
	_, err = io.ReadFull(to.in, got)
	s.do(err)
	if string(got) != word {
		s.t.Errorf("%q arrived, expected %q", got, word)
	}
	return time.Since(begun)
}

// TestBytesAreLate delays what goes one way on a connection that is open: nothing arrives before its time, and what comes back is untouched.
func TestBytesAreLate(t *testing.T) {
	s := newStage(t, nil)
	client, server := s.dial()
	s.took(client, server, "before")
	const by, jitter = 60 * time.Millisecond, 20 * time.Millisecond
	s.do(s.proxy.Lag(there, world.Lag{By: by, Jitter: jitter}))
	for range 5 {
		if took := s.took(client, server, "late"); took < by-jitter {
			t.Errorf("a word took %v, expected %v at least", took, by-jitter)
		}
	}
	// What is sent without an end arrives as it was sent: the delay holds nothing up but itself.
	sent := make([]byte, 2*lagBytesWay)
	for i := range sent {
		sent[i] = byte(i * 7 >> 3)
	}
	go func() { _, _ = client.Write(sent) }()
	got := make([]byte, len(sent))
	_, err := io.ReadFull(server.in, got)
	s.do(err)
	if !bytes.Equal(got, sent) {
		t.Error("what arrived is not what was sent")
	}
	// What is sent once it is over stands behind what is late.
	_, err = io.WriteString(client, "last ")
	s.do(err)
	s.do(s.proxy.EndLag(there))
	_, err = io.WriteString(client, "after")
	s.do(err)
	both := make([]byte, len("last after"))
	_, err = io.ReadFull(server.in, both)
	s.do(err)
	if string(both) != "last after" {
		t.Errorf("%q arrived, expected what was late first", both)
	}
	if kept := s.proxy.lagged.Load(); kept != 0 {
		t.Errorf("%d bytes are kept for nobody", kept)
	}
}

// TestTheEndIsLate closes a connection: whoever is at its other end hears of it as late as of all else, and behind all else.
func TestTheEndIsLate(t *testing.T) {
	s := newStage(t, nil)
	client, server := s.dial()
	const by = 50 * time.Millisecond
	s.do(s.proxy.Lag(back, world.Lag{By: by}))
	begun := time.Now()
	_, err := io.WriteString(server, "farewell")
	s.do(err)
	s.do(server.Close())
	got, err := io.ReadAll(client.in)
	s.do(err)
	if took := time.Since(begun); string(got) != "farewell" || took < by {
		t.Errorf("%q and the end arrived after %v, expected them after %v at least", got, took, by)
	}
}

// TestALagThatCannotBe: one of nothing, a second one, the end of none, and packets that overtake.
func TestALagThatCannotBe(t *testing.T) {
	s := newStage(t, nil)
	s.do(s.proxy.Lag(there, world.Lag{By: time.Second}))
	for _, l := range []world.Lag{{}, {By: time.Second, Reorder: 0.1}, {By: time.Second, Jitter: 2 * time.Second}} {
		if err := s.proxy.Lag(back, l); err == nil {
			t.Errorf("a lag of %v was taken", l)
		}
	}
	if s.proxy.Lag(there, world.Lag{By: time.Second}) == nil || s.proxy.EndLag(back) == nil {
		t.Error("a second lag, or the end of none, was taken")
	}
	s.do(s.proxy.EndLag(there))
}
