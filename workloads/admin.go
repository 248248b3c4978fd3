package workloads

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world"
)

// Elect makes replica b the leader of p cleanly, as Kafka's own tools do: the same replicas reassigned with b in front, then an
// election of the preferred replica. It returns when a broker's metadata shows b as the leader, or after timeout with the last
// thing that went wrong. client names the client in the network.
func Elect(env world.Env, c world.Cluster, client string, p history.Partition, b history.BrokerID, timeout time.Duration) error {
	e := &electing{client: newClient(env, c, client, timeout), partition: p, to: b}
	defer e.client.close()
	if err := e.client.insist("elect "+client, timeout, errNoReplica, e.step); err != nil {
		return fmt.Errorf("electing broker %d leader of %s: %w", b, p, err)
	}
	return nil
}

// Reassign moves a partition to other replicas by one request to the controller that some broker names, sent again until one is answered: a
// reassignment to the same replicas changes nothing. It returns what went wrong last after timeout.
func Reassign(env world.Env, c world.Cluster, client string, p history.Partition, to []history.BrokerID, timeout time.Duration) error {
	e := &electing{client: newClient(env, c, client, timeout), partition: p}
	defer e.client.close()
	replicas := make([]int32, len(to))
	for i, b := range to {
		replicas[i] = int32(b)
	}
	err := e.client.insist("reassign "+client, timeout, nil, func(via history.BrokerID) error {
		md, err := askMetadata(e.client, via, p.Topic)
		if err != nil {
			return err
		}
		return e.reassign(history.BrokerID(md.ControllerID), replicas)
	})
	if err != nil {
		return fmt.Errorf("reassigning %s to %v: %w", p, to, err)
	}
	return nil
}

// errUnderWay says that an election must wait.
var errUnderWay = errors.New("a reassignment is under way")

// resting is the partition's replicas as the controller has them while no reassignment is under way: those of one would take what it adds or
// removes for replicas that are to stay.
func (e *electing) resting(controller history.BrokerID) ([]int32, error) {
	if err := e.still(controller); err != nil {
		return nil, err
	}
	md, err := askMetadata(e.client, controller, e.partition.Topic)
	if err != nil {
		return nil, err
	}
	for _, p := range md.Topics[0].Partitions {
		if p.Partition == e.partition.Index && slices.Contains(p.Replicas, int32(e.to)) {
			return p.Replicas, e.still(controller)
		}
	}
	return nil, fmt.Errorf("%w at broker %d", errNoReplica, controller)
}

// still reports whether a reassignment of the partition is under way at the controller.
func (e *electing) still(controller history.BrokerID) error {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.TimeoutMillis = millis(e.client.timeout)
	topic := kmsg.NewListPartitionReassignmentsRequestTopic()
	topic.Topic, topic.Partitions = e.partition.Topic, []int32{e.partition.Index}
	req.Topics = append(req.Topics, topic)
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	if err := e.client.call(controller, req, resp); err != nil {
		return fmt.Errorf("ListPartitionReassignments at broker %d: %w", controller, err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return fmt.Errorf("ListPartitionReassignments at broker %d: %w", controller, err)
	}
	if len(resp.Topics) > 0 {
		return fmt.Errorf("%w: broker %d", errUnderWay, controller)
	}
	return nil
}

// errNoController says that a broker knows none.
var errNoController = errors.New("no controller is known")

// errNoReplica ends an election that cannot succeed.
var errNoReplica = errors.New("not a replica")

// electing is one election under way.
type electing struct {
	client    *client
	partition history.Partition
	to        history.BrokerID
}

// step asks a broker how things stand and brings them one step nearer, through the controller that it names.
func (e *electing) step(via history.BrokerID) error {
	md, err := askMetadata(e.client, via, e.partition.Topic)
	if err != nil {
		return err
	}
	parts := md.Topics[0].Partitions
	i := slices.IndexFunc(parts, func(p kmsg.MetadataResponseTopicPartition) bool { return p.Partition == e.partition.Index })
	if i < 0 {
		return fmt.Errorf("broker %d does not know the partition", via)
	}
	if history.BrokerID(parts[i].Leader) == e.to {
		return nil
	}
	if !slices.Contains(parts[i].Replicas, int32(e.to)) {
		return fmt.Errorf("%w: the replicas are %v", errNoReplica, parts[i].Replicas)
	}
	controller := history.BrokerID(md.ControllerID)
	if controller < 0 {
		return fmt.Errorf("%w: broker %d", errNoController, via)
	}
	if parts[i].Replicas[0] != int32(e.to) {
		now, err := e.resting(controller)
		if err != nil {
			return err
		}
		replicas := []int32{int32(e.to)}
		for _, r := range now {
			if r != int32(e.to) {
				replicas = append(replicas, r)
			}
		}
		if err := e.reassign(controller, replicas); err != nil {
			return err
		}
	}
	if err := e.elect(controller); err != nil {
		return err
	}
	return fmt.Errorf("elected, but broker %d still tells leader %d", via, parts[i].Leader)
}

// reassign sends one AlterPartitionReassignments request (KIP-455).
func (e *electing) reassign(to history.BrokerID, replicas []int32) error {
	if to == history.NoBroker {
		return errNoController
	}
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version = reassignVersion
	req.TimeoutMillis = millis(e.client.timeout)
	part := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	part.Partition, part.Replicas = e.partition.Index, replicas
	topic := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	topic.Topic, topic.Partitions = e.partition.Topic, append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	if err := e.client.call(to, req, resp); err != nil {
		return fmt.Errorf("AlterPartitionReassignments at broker %d: %w", to, err)
	}
	code := resp.ErrorCode
	if code == 0 {
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return fmt.Errorf("AlterPartitionReassignments at broker %d: %w: other partitions", to, errMalformed)
		}
		code = resp.Topics[0].Partitions[0].ErrorCode
	}
	if err := kerr.ErrorForCode(code); err != nil {
		return fmt.Errorf("AlterPartitionReassignments to %v at broker %d: %w", replicas, to, err)
	}
	return nil
}

// elect sends one ElectLeaders request for the preferred replica (KIP-460).
func (e *electing) elect(to history.BrokerID) error {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version = electVersion
	req.ElectionType = 0 // preferred
	req.TimeoutMillis = millis(e.client.timeout)
	topic := kmsg.NewElectLeadersRequestTopic()
	topic.Topic, topic.Partitions = e.partition.Topic, []int32{e.partition.Index}
	req.Topics = append(req.Topics, topic)
	resp := kmsg.NewPtrElectLeadersResponse()
	if err := e.client.call(to, req, resp); err != nil {
		return fmt.Errorf("ElectLeaders at broker %d: %w", to, err)
	}
	code := resp.ErrorCode
	if code == 0 {
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			return fmt.Errorf("ElectLeaders at broker %d: %w: other partitions", to, errMalformed)
		}
		code = resp.Topics[0].Partitions[0].ErrorCode
	}
	if err := kerr.ErrorForCode(code); err != nil && !errors.Is(err, kerr.ElectionNotNeeded) {
		return fmt.Errorf("ElectLeaders at broker %d: %w", to, err)
	}
	return nil
}
