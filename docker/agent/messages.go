package agent

import (
	"context"
	"net/http"
	"time"

	"tidemark/docker/proxy"
	"tidemark/world"
)

// watchBound is how long an agent waits for something to tell of a fault on messages.
const watchBound = 10 * time.Second

// Watch is what whoever watches a fault on messages tells and knows.
type Watch struct {
	Number  int            `json:"number"`
	Known   world.Caught   `json:"known"`
	Answers []proxy.Answer `json:"answers,omitempty"` // to messages that asked
}

// serveMessages serves faults on messages.
func (i *interceptor) serveMessages(mux *http.ServeMux) {
	mux.HandleFunc("PUT /proxy", func(w http.ResponseWriter, r *http.Request) {
		var what Interception
		if decode(w, r, &what) {
			answer(w, struct{}{}, i.start(what))
		}
	})
	mux.HandleFunc("GET /proxy", func(w http.ResponseWriter, _ *http.Request) {
		p, err := i.get()
		if err != nil {
			answer(w, nil, err)
			return
		}
		answer(w, p.Stats(), nil)
	})
	handle(mux, "POST /catches", i, func(_ context.Context, p *proxy.Proxy, f proxy.Fault) (any, error) { return struct{}{}, p.Catch(f) })
	handle(mux, "POST /catches/settle", i, func(_ context.Context, p *proxy.Proxy, number int) (any, error) {
		return struct{}{}, p.Settle(number)
	})
	handle(mux, "DELETE /catches", i, func(_ context.Context, p *proxy.Proxy, number int) (any, error) { return p.End(number) })
	handle(mux, "POST /catches/watch", i, func(ctx context.Context, p *proxy.Proxy, of Watch) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, watchBound)
		defer cancel()
		return p.Watch(ctx, of.Number, of.Known, of.Answers)
	})
}

// handle serves what is asked of the proxy.
func handle[T any](mux *http.ServeMux, pattern string, i *interceptor, do func(context.Context, *proxy.Proxy, T) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var asked T
		if !decode(w, r, &asked) {
			return
		}
		p, err := i.get()
		if err != nil {
			answer(w, nil, err)
			return
		}
		value, err := do(r.Context(), p, asked)
		answer(w, value, err)
	})
}

// Intercept puts the agent's proxy in force, for the connections that are opened from now on.
func (c Client) Intercept(ctx context.Context, what Interception) error {
	return c.call(ctx, http.MethodPut, "/proxy", what, nil, answerBytesMax)
}

// Passed counts what the agent's proxy has passed.
func (c Client) Passed(ctx context.Context) (s proxy.Stats, err error) {
	return s, c.call(ctx, http.MethodGet, "/proxy", nil, &s, answerBytesMax)
}

// Catch lets messages meet a fault from now on.
func (c Client) Catch(ctx context.Context, f proxy.Fault) error {
	return c.call(ctx, http.MethodPost, "/catches", f, nil, answerBytesMax)
}

// Settle lets no more messages meet a fault.
func (c Client) Settle(ctx context.Context, number int) error {
	return c.call(ctx, http.MethodPost, "/catches/settle", number, nil, answerBytesMax)
}

// EndCatch ends a fault on messages and returns what it had done.
func (c Client) EndCatch(ctx context.Context, number int) (last world.Caught, err error) {
	return last, c.call(ctx, http.MethodDelete, "/catches", number, &last, answerBytesMax)
}

// Watch answers messages that asked, and waits for something that is not known of a fault, at most a while.
func (c Client) Watch(ctx context.Context, w Watch) (seen proxy.Seen, err error) {
	return seen, c.call(ctx, http.MethodPost, "/catches/watch", w, &seen, answerBytesMax)
}
