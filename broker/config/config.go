// Package config is a broker's configuration under Kafka's own names. An unknown or ill-typed key is an error.
package config

import (
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
)

// Voter is one member of the controller quorum: controller.quorum.voters' id@host:port.
type Voter struct {
	ID   kafka.BrokerID
	Host string
	Port int32
}

// Config is a broker's configuration, parsed. Sizes are in bytes.
type Config struct {
	NodeID                       kafka.BrokerID // node.id
	Broker                       bool           // process.roles contains broker
	Controller                   bool           // process.roles contains controller
	Voters                       []Voter        // controller.quorum.voters, ascending by id
	Host                         string         // advertised.listeners
	Port                         int32
	DefaultReplicationFactor     int           // default.replication.factor
	NumPartitions                int           // num.partitions
	MinInsyncReplicas            int           // min.insync.replicas
	UncleanLeaderElection        bool          // unclean.leader.election.enable
	EligibleLeaderReplicas       bool          // eligible.leader.replicas.enable; false is the classic mode
	ReplicaLagTimeMax            time.Duration // replica.lag.time.max.ms
	ReplicaLagMaxMessages        int64         // replica.lag.max.messages (before 0.9); 0 is off
	ReplicaFetchWaitMax          time.Duration // replica.fetch.wait.max.ms
	ReplicaFetchMinBytes         int           // replica.fetch.min.bytes
	ReplicaFetchMaxBytes         int           // replica.fetch.max.bytes, of one partition
	ReplicaFetchResponseMaxBytes int           // replica.fetch.response.max.bytes
	ReplicaFetchBackoff          time.Duration // replica.fetch.backoff.ms
	ReplicaSocketTimeout         time.Duration // replica.socket.timeout.ms
	HWCheckpointInterval         time.Duration // replica.high.watermark.checkpoint.interval.ms
	RecoveryCheckpointInterval   time.Duration // log.flush.offset.checkpoint.interval.ms
	BrokerSessionTimeout         time.Duration // broker.session.timeout.ms
	BrokerHeartbeatInterval      time.Duration // broker.heartbeat.interval.ms
	QuorumElectionTimeout        time.Duration // controller.quorum.election.timeout.ms
	QuorumFetchTimeout           time.Duration // controller.quorum.fetch.timeout.ms: a leader without a majority for so long resigns
	ControllerSocketTimeout      time.Duration // controller.socket.timeout.ms: of requests to the controller
	ControlledShutdown           bool          // controlled.shutdown.enable
	AutoLeaderRebalance          bool          // auto.leader.rebalance.enable
	LeaderImbalanceCheckInterval time.Duration // leader.imbalance.check.interval.seconds
	LogSegmentBytes              int           // log.segment.bytes
	LogIndexIntervalBytes        int           // log.index.interval.bytes
	MessageMaxBytes              int           // message.max.bytes, of one batch
	FetchMaxBytes                int           // fetch.max.bytes
	SocketRequestMaxBytes        int           // socket.request.max.bytes
	Bug                          bug.Name      // tidemark.bug: the known bug that is switched on
	Shell                        Shell         // what the state machine knows nothing of
}

// Default returns Kafka's defaults, but for a single partition's worth of everything that a Node needs to be told: NodeID,
// Voters, Host and Port are for the caller.
func Default() Config {
	return Config{
		NodeID: kafka.NoBroker, Broker: true, Controller: true,
		DefaultReplicationFactor: 1, NumPartitions: 1, MinInsyncReplicas: 1, EligibleLeaderReplicas: true,
		ReplicaLagTimeMax: 30 * time.Second, ReplicaFetchWaitMax: 500 * time.Millisecond, ReplicaFetchMinBytes: 1,
		ReplicaFetchMaxBytes: 1 << 20, ReplicaFetchResponseMaxBytes: 10 << 20, ReplicaFetchBackoff: time.Second,
		ReplicaSocketTimeout: 30 * time.Second, HWCheckpointInterval: 5 * time.Second,
		RecoveryCheckpointInterval: 60 * time.Second, BrokerSessionTimeout: 9 * time.Second,
		BrokerHeartbeatInterval: 2 * time.Second, QuorumElectionTimeout: time.Second, QuorumFetchTimeout: 2 * time.Second,
		ControllerSocketTimeout: 30 * time.Second, ControlledShutdown: true, AutoLeaderRebalance: true,
		LeaderImbalanceCheckInterval: 300 * time.Second, LogSegmentBytes: 1 << 30, LogIndexIntervalBytes: 4096,
		MessageMaxBytes: 1048588, FetchMaxBytes: 55 << 20, SocketRequestMaxBytes: 100 << 20,
		Shell: defaultShell(),
	}
}
