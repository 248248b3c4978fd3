package wire

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestRoundTrip sends a request and a response of every served key and version through their frames.
func TestRoundTrip(t *testing.T) {
	for _, r := range ranges {
		for v := r.Min; v <= r.Max; v++ {
			req := kmsg.RequestForKey(r.Key)
			req.SetVersion(v)
			frame := AppendRequest(nil, 77, "a client", req)
			h, got, _, err := ParseRequest(frame)
			if err != nil {
				t.Fatalf("%s version %d: %v", kmsg.NameForKey(r.Key), v, err)
			}
			want := Header{Key: r.Key, Version: v, CorrelationID: 77}
			if h != want || got.Key() != r.Key || got.GetVersion() != v {
				t.Errorf("header %+v, want %+v", h, want)
			}
			resp := req.ResponseKind()
			resp.SetVersion(v)
			answer := AppendResponse(nil, 77, resp)
			SetCorrelation(answer, false, 78)
			if c, err := Correlation(answer); c != 78 || err != nil {
				t.Errorf("correlation %d, %v", c, err)
			}
			if _, err := ParseResponse(answer, r.Key, v); err != nil {
				t.Errorf("%s response version %d: %v", kmsg.NameForKey(r.Key), v, err)
			}
		}
	}
}

// TestVersionsStepDown tells how a client that is ahead of the broker finds a version that both speak.
func TestVersionsStepDown(t *testing.T) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 4
	frame := AppendRequest(nil, 1, "ahead", req)
	frame[3] = 9
	_, _, _, err := ParseRequest(frame)
	var unsupported *UnsupportedVersionError
	if !errors.As(err, &unsupported) || unsupported.Header.Version != 9 {
		t.Fatalf("got %v, want an UnsupportedVersionError of version 9", err)
	}
	answer := ApiVersions(9)
	if answer.Version != 0 || answer.ErrorCode != 35 || len(answer.ApiKeys) != 1 || answer.ApiKeys[0].ApiKey != 18 {
		t.Errorf("answer %+v, want a version 0 body with error 35 and the range of key 18", answer)
	}
	for _, key := range ApiVersions(4).ApiKeys {
		if key.ApiKey == int16(kmsg.AlterPartition) {
			t.Error("a client was told of AlterPartition, which is between brokers")
		}
	}
}

// TestRaftHasNoBody passes a raft message through untouched.
func TestRaftHasNoBody(t *testing.T) {
	_, req, raft, err := ParseRequest(AppendRaft(nil, "broker-1", []byte("ballot")))
	if err != nil || req != nil || string(raft) != "ballot" {
		t.Fatalf("got %v, %q, %v", req, raft, err)
	}
}

// TestRefused lists frames that are not requests.
func TestRefused(t *testing.T) {
	big := AppendRequest(nil, 1, "c", kmsg.NewPtrMetadataRequest())
	big = append(big, make([]byte, bodyMax+1)...)
	for name, frame := range map[string][]byte{
		"empty":                  {},
		"half a header":          {0, 3, 0, 1, 0, 0},
		"client id past the end": {0, 3, 0, 1, 0, 0, 0, 1, 0, 9, 'x'},
		"key unknown":            {1, 3, 0, 1, 0, 0, 0, 1, 255, 255},
		"version unknown":        {0, 3, 0, 99, 0, 0, 0, 1, 255, 255},
		"no tags":                {0, 3, 0, 9, 0, 0, 0, 1, 255, 255},
		"no body":                {0, 3, 0, 9, 0, 0, 0, 1, 255, 255, 0},
		"body too large":         big,
	} {
		if _, _, _, err := ParseRequest(frame); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, r := range ranges {
		req := kmsg.RequestForKey(r.Key)
		req.SetVersion(r.Max)
		f.Add(AppendRequest(nil, 5, "fuzz", req))
	}
	f.Add(AppendRaft(nil, "broker-1", []byte{8, 1}))
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, req, raft, err := ParseRequest(frame)
		if err == nil && req == nil && raft == nil && h.Key != KeyRaft {
			t.Fatal("neither a request nor an error")
		}
	})
}

func FuzzParseResponse(f *testing.F) {
	for _, r := range ranges {
		resp := kmsg.ResponseForKey(r.Key)
		resp.SetVersion(r.Max)
		f.Add(r.Key, r.Max, AppendResponse(nil, 5, resp))
	}
	f.Fuzz(func(t *testing.T, key, version int16, frame []byte) {
		if r, ok := Served(key); !ok || version < r.Min || version > r.Max {
			return
		}
		if resp, err := ParseResponse(frame, key, version); err == nil && resp == nil {
			t.Fatal("neither a response nor an error")
		}
	})
}
