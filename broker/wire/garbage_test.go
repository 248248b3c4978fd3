package wire

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/garbage"
)

// frameBound: kmsg makes room for as many elements as an array claims, if there are so many bytes left.
var frameBound = garbage.Bound{Bytes: 64 << 10, Times: 128, Says: []string{"expected", "not served", "enough data", "ends inside its header"}}

// filled gives every field of a message a value: one element in each list, a short text in each string.
func filled(message any) {
	fill(reflect.ValueOf(message).Elem())
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[kmsg.Tags]() {
			return
		}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).CanSet() && name != "Version" {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("orders")
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Array, reflect.Uint8:
	}
}

// TestGarbageRequests spoils a request of every key and version that is served.
func TestGarbageRequests(t *testing.T) {
	for _, r := range ranges {
		for v := r.Min; v <= r.Max; v++ {
			req := kmsg.RequestForKey(r.Key)
			filled(req)
			req.SetVersion(v)
			valid := AppendRequest(nil, 7, "client", req)
			accepted, refused := frameBound.Hold(t, garbage.Of(valid, uint64(v)), func(in garbage.Input) error {
				h, got, _, err := ParseRequest(in.Data)
				if err != nil {
					return err
				}
				if in.Kind == garbage.Cut {
					t.Errorf("%s version %d: %s are a request", kmsg.NameForKey(r.Key), v, in.Name)
				}
				if got == nil {
					return nil
				}
				once := AppendRequest(nil, h.CorrelationID, "", got)
				_, again, _, err := ParseRequest(once)
				if err != nil || !bytes.Equal(AppendRequest(nil, h.CorrelationID, "", again), once) {
					t.Errorf("%s version %d: %s: read as %+v, written and read as %+v, %v", kmsg.NameForKey(r.Key), v, in.Name, got, again, err)
				}
				return nil
			})
			if accepted == 0 || refused < 40 {
				t.Errorf("%s version %d: %d accepted, %d refused, expected some of both", kmsg.NameForKey(r.Key), v, accepted, refused)
			}
		}
	}
}

// TestGarbageResponses does the same to the answers.
func TestGarbageResponses(t *testing.T) {
	for _, r := range ranges {
		for v := r.Min; v <= r.Max; v++ {
			resp := kmsg.ResponseForKey(r.Key)
			filled(resp)
			resp.SetVersion(v)
			valid := AppendResponse(nil, 7, resp)
			accepted, refused := frameBound.Hold(t, garbage.Of(valid, uint64(v)), func(in garbage.Input) error {
				got, err := ParseResponse(in.Data, r.Key, v)
				if err != nil {
					return err
				}
				if in.Kind == garbage.Cut {
					t.Errorf("%s version %d: %s are a response", kmsg.NameForKey(r.Key), v, in.Name)
				}
				once := AppendResponse(nil, 7, got)
				again, err := ParseResponse(once, r.Key, v)
				if err != nil || !bytes.Equal(AppendResponse(nil, 7, again), once) {
					t.Errorf("%s version %d: %s: read as %+v, written and read as %+v, %v", kmsg.NameForKey(r.Key), v, in.Name, got, again, err)
				}
				return nil
			})
			if accepted == 0 || refused < 40 {
				t.Errorf("%s version %d: %d accepted, %d refused, expected some of both", kmsg.NameForKey(r.Key), v, accepted, refused)
			}
		}
	}
}

// TestArraysThatClaimTooMuch: a frame of a mebibyte that claims a million elements, at every place where it could, in every message.
func TestArraysThatClaimTooMuch(t *testing.T) {
	for _, r := range ranges {
		req, resp := kmsg.RequestForKey(r.Key), kmsg.ResponseForKey(r.Key)
		filled(req)
		filled(resp)
		req.SetVersion(r.Max)
		resp.SetVersion(r.Max)
		frameBound.Hold(t, garbage.Claims(AppendRequest(nil, 7, "client", req), bodyMax, 1), func(in garbage.Input) error {
			_, _, _, err := ParseRequest(in.Data)
			return err
		})
		frameBound.Hold(t, garbage.Claims(AppendResponse(nil, 7, resp), bodyMax, 1), func(in garbage.Input) error {
			_, err := ParseResponse(in.Data, r.Key, r.Max)
			return err
		})
	}
}

// TestOnlyRecordsMayBeMany: a Produce request and a Fetch response may hold more than a mebibyte of records, and no more of anything
// else; they are looked through before memory is spent on what they claim.
func TestOnlyRecordsMayBeMany(t *testing.T) {
	bound := garbage.Bound{Bytes: 64 << 10, Says: frameBound.Says}
	records := make([]byte, 3*bodyMax)
	for _, v := range []int16{3, 8, 9} {
		req := kmsg.NewPtrProduceRequest()
		filled(req)
		req.Version = v
		bound.Hold(t, garbage.Claims(AppendRequest(nil, 7, "client", req), 2*bodyMax, 0), func(in garbage.Input) error {
			_, got, _, err := ParseRequest(in.Data)
			if produce, ok := got.(*kmsg.ProduceRequest); ok && err == nil && len(produce.Topics) > 0 && len(produce.Topics[0].Partitions) > 1 {
				t.Errorf("version %d: %s: read as %d partitions", v, in.Name, len(produce.Topics[0].Partitions))
			}
			return err
		})
		req.Topics[0].Partitions[0].Records = records
		if _, _, _, err := ParseRequest(AppendRequest(nil, 7, "client", req)); err != nil {
			t.Errorf("version %d: records alone: %v", v, err)
		}
		for range 400_000 {
			req.Topics = append(req.Topics, kmsg.ProduceRequestTopic{})
		}
		if _, _, _, err := ParseRequest(AppendRequest(nil, 7, "client", req)); err == nil || !strings.Contains(err.Error(), "beside record batches") {
			t.Errorf("version %d: 400,000 topics: %v", v, err)
		}
	}
	for _, v := range []int16{4, 5, 7, 11, 12, 13, 17} { // where a field was added
		resp := kmsg.NewPtrFetchResponse()
		filled(resp)
		resp.Version = v
		bound.Hold(t, garbage.Claims(AppendResponse(nil, 7, resp), 2*bodyMax, 0), func(in garbage.Input) error {
			_, err := ParseResponse(in.Data, int16(kmsg.Fetch), v)
			return err
		})
		resp.Topics[0].Partitions[0].RecordBatches = records
		if _, err := ParseResponse(AppendResponse(nil, 7, resp), int16(kmsg.Fetch), v); err != nil {
			t.Errorf("version %d: records alone: %v", v, err)
		}
	}
}
