package agent

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"tidemark/docker/proxy"
	"tidemark/history"
	"tidemark/world"
)

// intercepting is an agent whose proxy stands on nothing yet.
func intercepting(t *testing.T) Client {
	t.Helper()
	a, client := started(t, nil)
	a.messages.proxy = proxy.New(proxy.Options{})
	return client
}

// TestFaultsOnMessagesComeAndGo puts one in force, watches it, and ends it.
func TestFaultsOnMessagesComeAndGo(t *testing.T) {
	client := intercepting(t)
	ctx := t.Context()
	f := proxy.Of(world.MessageFault{Kind: world.CanHold, API: "fetch", Links: []world.Link{{From: 2, To: 1}}})
	f.Number = 3
	if err := client.Catch(ctx, f); err != nil {
		t.Fatal(err)
	}
	if err := client.Catch(ctx, f); err == nil {
		t.Error("a number was taken twice")
	}
	if seen, err := client.Watch(ctx, Watch{Number: 3, Known: world.Caught{Messages: 1}}); err != nil || seen.Caught != (world.Caught{}) {
		t.Errorf("%+v, %v", seen, err)
	}
	if err := client.Settle(ctx, 3); err != nil {
		t.Error(err)
	}
	if last, err := client.EndCatch(ctx, 3); err != nil || last != (world.Caught{}) {
		t.Errorf("%+v, %v", last, err)
	}
	if _, err := client.EndCatch(ctx, 3); err == nil || client.Settle(ctx, 3) == nil {
		t.Error("a fault ended twice, or was settled after its end")
	}
	if _, err := client.Watch(ctx, Watch{Number: 3}); err == nil {
		t.Error("a fault that has ended is watched")
	}
	if s, err := client.Passed(ctx); err != nil || s != (proxy.Stats{}) {
		t.Errorf("%+v, %v", s, err)
	}
	f.Number, f.API = 4, "fish"
	if err := client.Catch(ctx, f); err == nil || !strings.Contains(err.Error(), "fish") {
		t.Errorf("a fault on an API that there is not: %v", err)
	}
}

// TestWithoutAnInterceptionThereAreNoFaultsOnMessages asks an agent whose proxy is not in force, and for interceptions that make no sense.
func TestWithoutAnInterceptionThereAreNoFaultsOnMessages(t *testing.T) {
	_, client := started(t, nil)
	if err := client.Catch(t.Context(), proxy.Fault{}); err == nil || !strings.Contains(err.Error(), "intercept") {
		t.Errorf("a fault was taken: %v", err)
	}
	if _, err := client.Passed(t.Context()); err == nil {
		t.Error("a proxy that is not in force counts")
	}
	for _, wrong := range []Interception{
		{},
		{Clients: []uint16{9092}, Peers: []Peer{{ID: 2, Address: netip.MustParseAddr("::1")}}},
		{Clients: make([]uint16, peersMax+1)},
	} {
		if err := client.Intercept(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%+v was taken: %v", wrong, err)
		}
	}
}

// TestConnectionsAreToldByWhereTheyLed: to a peer from this broker, to a port of clients here from a client, and nowhere else.
func TestConnectionsAreToldByWhereTheyLed(t *testing.T) {
	what := Interception{
		Peers:   []Peer{{ID: 2, Address: netip.MustParseAddr("10.0.0.2")}},
		Between: []Between{{Port: 9092, Patience: 2 * time.Second}, {Port: 9093, Patience: time.Second, Quorum: true}},
		Clients: []uint16{9092, 9094},
	}
	for _, c := range []struct {
		to   string
		want proxy.Route
	}{
		{"10.0.0.2:9092", proxy.Route{Link: world.Link{From: 1, To: 2}, Patience: 2 * time.Second}},
		{"10.0.0.2:9093", proxy.Route{Link: world.Link{From: 1, To: 2}, Patience: time.Second, Quorum: true}},
		{"10.0.0.1:9094", proxy.Route{Link: world.Link{From: history.NoBroker, To: 1}}},
	} {
		c.want.To = netip.MustParseAddrPort(c.to)
		if got, err := what.route(1, c.want.To); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.to, got, err)
		}
	}
	if r, err := what.route(1, netip.MustParseAddrPort("10.0.0.1:9193")); err == nil {
		t.Errorf("a connection to the proxy itself leads to %+v", r)
	}
}
