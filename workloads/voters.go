package workloads

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world"
)

// ChangeVoter adds broker b, on the disk of that id, to the voters of the controller quorum, or removes it (KIP-853). It is asked again until
// the change is made, or refused for good, or timeout has passed.
func ChangeVoter(env world.Env, c world.Cluster, client string, b history.BrokerID, directory [16]byte, add bool, timeout time.Duration) error {
	v := &voting{client: newClient(env, c, client, timeout), broker: b, directory: directory}
	defer v.client.close()
	what, ask := "removing", v.remove
	if add {
		what, ask = "adding", v.add
	}
	if err := v.client.insist("voters "+client, timeout, kerr.InvalidRequest, ask); err != nil {
		return fmt.Errorf("%s voter %d: %w", what, b, err)
	}
	return nil
}

// voting is one change of the voters under way.
type voting struct {
	client    *client
	broker    history.BrokerID
	directory [16]byte
}

func (v *voting) add(via history.BrokerID) error {
	req := kmsg.NewPtrAddRaftVoterRequest()
	req.TimeoutMillis = millis(v.client.timeout)
	req.VoterID, req.VoterDirectoryID = int32(v.broker), v.directory
	resp := kmsg.NewPtrAddRaftVoterResponse()
	if err := v.client.call(via, req, resp); err != nil {
		return fmt.Errorf("AddRaftVoter at broker %d: %w", via, err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil && !errors.Is(err, kerr.DuplicateVoter) {
		return fmt.Errorf("AddRaftVoter at broker %d: %w", via, err)
	}
	return nil
}

func (v *voting) remove(via history.BrokerID) error {
	req := kmsg.NewPtrRemoveRaftVoterRequest()
	req.VoterID, req.VoterDirectoryID = int32(v.broker), v.directory
	resp := kmsg.NewPtrRemoveRaftVoterResponse()
	if err := v.client.call(via, req, resp); err != nil {
		return fmt.Errorf("RemoveRaftVoter at broker %d: %w", via, err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil && !errors.Is(err, kerr.VoterNotFound) {
		return fmt.Errorf("RemoveRaftVoter at broker %d: %w", via, err)
	}
	return nil
}
