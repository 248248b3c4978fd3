package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestServe serves an empty directory on a port that is free, answers, and ends well when it is interrupted.
func TestServe(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	read, write := io.Pipe()
	code := make(chan int, 1)
	var log strings.Builder
	go func() { code <- execute(ctx, []string{"serve", t.TempDir(), "--port", "0", "--json"}, write, &log) }()
	var told struct {
		Address string `json:"address"`
	}
	if err := json.NewDecoder(bufio.NewReader(read)).Decode(&told); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, read) //nolint:errcheck // whatever else it says
	if !strings.HasPrefix(told.Address, "http://127.0.0.1:") {
		t.Fatalf("serves on %q, expected 127.0.0.1", told.Address)
	}
	answer, err := http.Get(told.Address)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || answer.Request.URL.Path != "/campaigns/" || !strings.Contains(string(text), "There is no campaign yet") {
		t.Errorf("%s: %d, %v: %.300s", answer.Request.URL, answer.StatusCode, err, text)
	}
	http.DefaultClient.CloseIdleConnections()
	interrupt()
	if got := <-code; got != exitValid {
		t.Errorf("exit code %d, expected 0: %s", got, log.String())
	}
}
