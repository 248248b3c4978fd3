package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tidemark/history"
)

// Bounds of answers, in bytes.
const (
	answerBytesMax = 1 << 20
	dumpBytesMax   = 1 << 30
)

// Client talks to one agent.
type Client struct {
	Base string // http://address:port
	HTTP *http.Client
}

// Health asks whether the agent serves.
func (c Client) Health(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/health", nil, nil, answerBytesMax)
}

// Add puts a rule in force; one that is already is an error.
func (c Client) Add(ctx context.Context, r Rule) error {
	return c.call(ctx, http.MethodPost, "/rules", r, nil, answerBytesMax)
}

// Remove ends a rule and returns what it has dropped; one that is not in force is an error.
func (c Client) Remove(ctx context.Context, r Rule) (last Counted, err error) {
	return last, c.call(ctx, http.MethodDelete, "/rules", r, &last, answerBytesMax)
}

// Rules lists what is in force.
func (c Client) Rules(ctx context.Context) (rules []Counted, err error) {
	return rules, c.call(ctx, http.MethodGet, "/rules", nil, &rules, answerBytesMax)
}

// Send sends a probe to a peer's agent until its time is over or ctx ends.
func (c Client) Send(ctx context.Context, p Probe) (a Answer, err error) {
	return a, c.call(ctx, http.MethodPost, "/probe/send", p, &a, answerBytesMax)
}

// Await waits until a probe arrives or its time is over.
func (c Client) Await(ctx context.Context, p Probe) (a Answer, err error) {
	return a, c.call(ctx, http.MethodPost, "/probe/await", p, &a, answerBytesMax)
}

// Connect tries a TCP connection from the agent's namespace.
func (c Client) Connect(ctx context.Context, p Probe) (a Answer, err error) {
	return a, c.call(ctx, http.MethodPost, "/probe/connect", p, &a, answerBytesMax)
}

// Dump reads every replica of the agent's broker from its files.
func (c Client) Dump(ctx context.Context) (dumps []history.Dump, err error) {
	return dumps, c.call(ctx, http.MethodGet, "/dump", nil, &dumps, dumpBytesMax)
}

// DumpKafka reads every replica of the agent's broker, of Apache Kafka's make, from its files.
func (c Client) DumpKafka(ctx context.Context) (dumps []history.Dump, err error) {
	return dumps, c.call(ctx, http.MethodGet, "/dump/kafka", nil, &dumps, dumpBytesMax)
}

// Wipe removes the files of the agent's broker, which must not run.
func (c Client) Wipe(ctx context.Context) (w Wiped, err error) {
	return w, c.call(ctx, http.MethodPost, "/wipe", nil, &w, answerBytesMax)
}

func (c Client) call(ctx context.Context, method, path string, body, into any, limit int64) error {
	wrong := func(err error) error { return fmt.Errorf("agent %s: %s %s: %w", c.Base, method, path, err) }
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return wrong(err)
		}
		payload = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, payload)
	if err != nil {
		return wrong(err)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return wrong(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil {
		return wrong(err)
	}
	if resp.StatusCode != http.StatusOK {
		return wrong(fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text))))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return wrong(err)
	}
	return nil
}
