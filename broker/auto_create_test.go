package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/wire"
)

// TestAutoCreationIsBounded asks for three times as many topics as may be under way, each of them twice: that many are created at each
// request, once, and nothing is remembered of them afterwards.
func TestAutoCreationIsBounded(t *testing.T) {
	s := startedNode(t)
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.AllowAutoTopicCreation = 12, true
	for i := range 6 * creatingMax {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(fmt.Sprintf("topic-%d", i/2))
		req.Topics = append(req.Topics, topic)
	}
	frame := wire.AppendRequest(nil, 7, "a client", req)
	before := len(s.node.Image().Topics)
	for round := 1; round <= 4; round++ {
		s.exchange(frame, req.Key(), req.Version, config.Plaintext)
		if got, want := len(s.node.Image().Topics)-before, min(round, 3)*creatingMax; got != want {
			t.Errorf("%d topics after request %d, expected %d", got, round, want)
		}
		if len(s.node.creating) != 0 {
			t.Errorf("%d topics under way after they were created", len(s.node.creating))
		}
	}
}
