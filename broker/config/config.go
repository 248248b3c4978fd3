// Package config is a broker's configuration under Kafka's own names. An unknown or ill-typed key is an error.
package config

import (
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
	"tidemark/broker/refused"
)

// Voter is one member of the controller quorum: controller.quorum.voters' id@host:port.
type Voter struct {
	ID   kafka.BrokerID
	Host string
	Port int32
}

// Selector is a replica selector (KIP-392) by the name of Kafka's class.
type Selector string

// The selectors. Without one consumers read from the leader.
const (
	NoSelector     Selector = ""
	LeaderSelector Selector = "org.apache.kafka.common.replica.LeaderSelector"
	RackAware      Selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector" // from a replica in the consumer's rack
)

// Config is a broker's configuration, parsed. Sizes are in bytes.
//
// A broker has one listener (OneListener) or several, each for whom it is: Listeners is where it binds them, AdvertisedListeners what
// others are told of them. A client is told of every broker's address at the listener on which it asked, so a second listener can carry
// the address that holds outside of the brokers' network. Followers fetch at InterBrokerListener; all that goes to the controller goes to
// the address that Voters names, so where ControllerListeners has a listener, Voters holds its port. A node that is no voter need not bind
// the controller's listener: the quorum then reaches it at InterBrokerListener. It may, unlike in Kafka, whose observers nobody dials: then
// it advertises that listener, which only the voters look up, and what goes between controller and broker is apart from replication in
// both directions. In Kafka's keys, a broker of three listeners, the last published elsewhere:
//
//	listeners=BROKER://:9092,CONTROLLER://:9093,EXTERNAL://:9094
//	advertised.listeners=BROKER://10.0.0.2:9092,EXTERNAL://127.0.0.1:32801
//	listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT
//	inter.broker.listener.name=BROKER
//	controller.listener.names=CONTROLLER
//	controller.quorum.voters=1@10.0.0.2:9093
type Config struct {
	NodeID                            kafka.BrokerID // node.id
	Broker                            bool           // process.roles contains broker
	Controller                        bool           // process.roles contains controller
	Voters                            []Voter        // controller.quorum.voters, ascending by id
	Listeners                         []Listener     // listeners
	AdvertisedListeners               []Listener     // advertised.listeners; none of a voter's for the controller
	InterBrokerListener               string         // inter.broker.listener.name
	ControllerListeners               []string       // controller.listener.names; none: the quorum is on the inter-broker listener
	PlaintextListeners                []string       // listener.security.protocol.map: the listeners that it maps, each to PLAINTEXT
	Rack                              string         // broker.rack; empty is none
	ReplicaSelector                   Selector       // replica.selector.class: from which replica consumers are told to read
	DefaultReplicationFactor          int            // default.replication.factor
	NumPartitions                     int            // num.partitions
	AutoCreateTopics                  bool           // auto.create.topics.enable
	DeleteTopics                      bool           // delete.topic.enable
	MinInsyncReplicas                 int            // min.insync.replicas
	UncleanLeaderElection             bool           // unclean.leader.election.enable
	EligibleLeaderReplicas            bool           // eligible.leader.replicas.enable; false is the classic mode
	ReplicaLagTimeMax                 time.Duration  // replica.lag.time.max.ms
	ReplicaLagMaxMessages             int64          // replica.lag.max.messages (before 0.9); 0 is off
	ReplicaFetchWaitMax               time.Duration  // replica.fetch.wait.max.ms
	ReplicaFetchMinBytes              int            // replica.fetch.min.bytes
	ReplicaFetchMaxBytes              int            // replica.fetch.max.bytes, of one partition
	ReplicaFetchResponseMaxBytes      int            // replica.fetch.response.max.bytes
	ReplicaFetchBackoff               time.Duration  // replica.fetch.backoff.ms
	ReplicaSocketTimeout              time.Duration  // replica.socket.timeout.ms
	HWCheckpointInterval              time.Duration  // replica.high.watermark.checkpoint.interval.ms
	RecoveryCheckpointInterval        time.Duration  // log.flush.offset.checkpoint.interval.ms
	BrokerSessionTimeout              time.Duration  // broker.session.timeout.ms
	BrokerHeartbeatInterval           time.Duration  // broker.heartbeat.interval.ms
	QuorumElectionTimeout             time.Duration  // controller.quorum.election.timeout.ms
	QuorumFetchTimeout                time.Duration  // controller.quorum.fetch.timeout.ms: a leader without a majority for so long resigns
	QuorumAutoJoin                    bool           // controller.quorum.auto.join.enable: a voter whose disk was replaced is replaced by the broker on its new one
	MetadataSnapshotBytes             int64          // metadata.log.max.record.bytes.between.snapshots
	ControllerSocketTimeout           time.Duration  // controller.socket.timeout.ms: of requests to the controller
	ControlledShutdown                bool           // controlled.shutdown.enable
	AutoLeaderRebalance               bool           // auto.leader.rebalance.enable
	LeaderImbalanceCheckInterval      time.Duration  // leader.imbalance.check.interval.seconds
	LogSegmentBytes                   int            // log.segment.bytes
	ProducerIDExpiration              time.Duration  // producer.id.expiration.ms
	ProducerIDExpirationCheckInterval time.Duration  // producer.id.expiration.check.interval.ms
	ProducerIDBlockSize               int64          // tidemark.producer.id.block.size; Kafka's is 1000 always
	LogIndexIntervalBytes             int            // log.index.interval.bytes
	LogRetention                      time.Duration  // log.retention.ms: how long a segment is kept after the last write to it; negative is for ever
	LogRetentionBytes                 int64          // log.retention.bytes, of one partition; negative is any size
	LogRetentionCheckInterval         time.Duration  // log.retention.check.interval.ms
	MessageMaxBytes                   int            // message.max.bytes, of one batch
	FetchMaxBytes                     int            // fetch.max.bytes
	FetchSessionCacheSlots            int            // max.incremental.fetch.session.cache.slots: how many fetch sessions are kept
	SocketRequestMaxBytes             int            // socket.request.max.bytes
	Bug                               *bug.Switch    // tidemark.bug: the known bug that is switched on; nil is none
	Refused                           *refused.Log   // where a simulated run takes down what its brokers refuse; nil is nowhere
	Shell                             Shell          // what the state machine knows nothing of
}

// Default returns Kafka's defaults, but for a single partition's worth of everything that a Node needs to be told: NodeID,
// Voters and the listeners (OneListener) are for the caller.
func Default() Config {
	return Config{
		NodeID: kafka.NoBroker, Broker: true, Controller: true,
		InterBrokerListener: Plaintext, PlaintextListeners: []string{Plaintext},
		DefaultReplicationFactor: 1, NumPartitions: 1, AutoCreateTopics: true, DeleteTopics: true, MinInsyncReplicas: 1, EligibleLeaderReplicas: true,
		ReplicaLagTimeMax: 30 * time.Second, ReplicaFetchWaitMax: 500 * time.Millisecond, ReplicaFetchMinBytes: 1,
		ReplicaFetchMaxBytes: 1 << 20, ReplicaFetchResponseMaxBytes: 10 << 20, ReplicaFetchBackoff: time.Second,
		ReplicaSocketTimeout: 30 * time.Second, HWCheckpointInterval: 5 * time.Second,
		RecoveryCheckpointInterval: 60 * time.Second, BrokerSessionTimeout: 9 * time.Second,
		BrokerHeartbeatInterval: 2 * time.Second, QuorumElectionTimeout: time.Second, QuorumFetchTimeout: 2 * time.Second, MetadataSnapshotBytes: 20 << 20,
		ControllerSocketTimeout: 30 * time.Second, ControlledShutdown: true, AutoLeaderRebalance: true,
		LeaderImbalanceCheckInterval: 300 * time.Second, LogSegmentBytes: 1 << 30, LogIndexIntervalBytes: 4096,
		LogRetention: 7 * 24 * time.Hour, LogRetentionBytes: -1, LogRetentionCheckInterval: 5 * time.Minute,
		ProducerIDExpiration: 24 * time.Hour, ProducerIDExpirationCheckInterval: 10 * time.Minute, ProducerIDBlockSize: 1000,
		MessageMaxBytes: 1048588, FetchMaxBytes: 55 << 20, FetchSessionCacheSlots: 1000, SocketRequestMaxBytes: 100 << 20,
		Shell: defaultShell(),
	}
}
