package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// TestEndpointsOfARegistration registers a broker with the endpoints of its listeners: they are kept as they are, or refused whole.
func TestEndpointsOfARegistration(t *testing.T) {
	var many []metadata.Endpoint
	for i := range metadata.EndpointsMax {
		many = append(many, metadata.Endpoint{Listener: strings.Repeat("L", i+1), Host: "b1", Port: int32(9092 + i)})
	}
	cfg := config.Default()
	long := strings.Repeat("x", nameMax+1)
	for _, tc := range []struct {
		name      string
		endpoints []metadata.Endpoint
		want      kafka.Code
	}{
		{"two listeners", []metadata.Endpoint{{Listener: "BROKER", Host: "10.0.0.2", Port: 9092}, {Listener: "EXTERNAL", Host: "localhost", Port: 32801}}, kafka.None},
		{"as many as there may be", many, kafka.None},
		{"one more", append(slices.Clone(many), metadata.Endpoint{Listener: "ONE_MORE", Host: "b1", Port: 1}), kafka.InvalidRequest},
		{"none", nil, kafka.InvalidRequest},
		{"one twice", []metadata.Endpoint{{Listener: "BROKER", Host: "b1", Port: 9092}, {Listener: "BROKER", Host: "b1", Port: 9093}}, kafka.InvalidRequest},
		{"no name", []metadata.Endpoint{{Host: "b1", Port: 9092}}, kafka.InvalidRequest},
		{"no host", []metadata.Endpoint{{Listener: "BROKER", Port: 9092}}, kafka.InvalidRequest},
		{"no port", []metadata.Endpoint{{Listener: "BROKER", Host: "b1"}}, kafka.InvalidRequest},
		{"a name too long", []metadata.Endpoint{{Listener: long, Host: "b1", Port: 9092}}, kafka.InvalidRequest},
		{"a host too long", []metadata.Endpoint{{Listener: "BROKER", Host: long, Port: 9092}}, kafka.InvalidRequest},
	} {
		d := register(view{img: metadata.New(), cfg: &cfg, index: 7}, sessions{}, registrationAt(tc.endpoints))
		resp := d.answer.(*kmsg.BrokerRegistrationResponse)
		if kafka.Code(resp.ErrorCode) != tc.want {
			t.Errorf("%s: %v, expected %v", tc.name, kafka.Code(resp.ErrorCode), tc.want)
		}
		if tc.want != kafka.None {
			if len(d.records) > 0 {
				t.Errorf("%s: refused, yet it writes %v", tc.name, d.records)
			}
			continue
		}
		if rec := d.records[0].(metadata.RegisterBroker); !slices.Equal(rec.Endpoints, tc.endpoints) {
			t.Errorf("%s: registered at %v, expected %v", tc.name, rec.Endpoints, tc.endpoints)
		}
	}
}

// TestARepeatedRegistrationBringsItsEndpointsUpToDate registers an incarnation twice: nothing is written unless an endpoint differs.
func TestARepeatedRegistrationBringsItsEndpointsUpToDate(t *testing.T) {
	before := []metadata.Endpoint{{Listener: "BROKER", Host: "b1", Port: 9092}, {Listener: "EXTERNAL", Host: "localhost", Port: 1}}
	after := []metadata.Endpoint{before[0], {Listener: "EXTERNAL", Host: "localhost", Port: 2}}
	cfg, img := config.Default(), metadata.New()
	if _, err := img.Apply(metadata.RegisterBroker{ID: 1, Epoch: 5, Incarnation: [16]byte{1}, Endpoints: before}); err != nil {
		t.Fatal(err)
	}
	if d := register(view{img: img, cfg: &cfg, index: 7}, sessions{}, registrationAt(before)); len(d.records) > 0 {
		t.Errorf("the same endpoints write %v", d.records)
	}
	d := register(view{img: img, cfg: &cfg, index: 7}, sessions{}, registrationAt(after))
	if len(d.records) != 1 {
		t.Fatalf("another port writes %v, expected the registration", d.records)
	}
	if rec := d.records[0].(metadata.RegisterBroker); !slices.Equal(rec.Endpoints, after) || rec.Epoch != 5 {
		t.Errorf("registered %+v, expected %v in broker epoch 5", rec, after)
	}
}

// registrationAt is broker 1's registration with these endpoints.
func registrationAt(endpoints []metadata.Endpoint) *kmsg.BrokerRegistrationRequest {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.BrokerID, req.IncarnationID = 1, [16]byte{1}
	for _, e := range endpoints {
		req.Listeners = append(req.Listeners, kmsg.BrokerRegistrationRequestListener{Name: e.Listener, Host: e.Host, Port: uint16(e.Port)})
	}
	return req
}
