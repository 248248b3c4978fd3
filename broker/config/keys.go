package config

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
)

// key is one configuration key: how its text is read and written. perTopic keys may also be set on a topic.
type key struct {
	name     string
	perTopic bool
	get      func(*Config) string
	set      func(*Config, string) error
}

// keys lists every key there is, by name. Bounds are Kafka's where Kafka has some.
var keys = slices.SortedFunc(slices.Values(slices.Concat(shellKeys(), listenerKeys(), []key{
	{name: "node.id", get: func(c *Config) string { return strconv.Itoa(int(c.NodeID)) }, set: setNodeID},
	{name: "process.roles", get: getRoles, set: setRoles},
	{name: "controller.quorum.voters", get: getVoters, set: setVoters},
	{name: "tidemark.bug", get: func(c *Config) string { return string(c.Bug.Name()) }, set: setBug},
	{name: "broker.rack", get: func(c *Config) string { return c.Rack }, set: setRack},
	{name: "replica.selector.class", get: func(c *Config) string { return string(c.ReplicaSelector) }, set: setSelector},
	truth("delete.topic.enable", func(c *Config) *bool { return &c.DeleteTopics }),
	number("default.replication.factor", 1, math.MaxInt16, func(c *Config) *int { return &c.DefaultReplicationFactor }),
	number("num.partitions", 1, 10_000, func(c *Config) *int { return &c.NumPartitions }),
	truth("auto.create.topics.enable", func(c *Config) *bool { return &c.AutoCreateTopics }),
	topic(number("min.insync.replicas", 1, math.MaxInt16, func(c *Config) *int { return &c.MinInsyncReplicas })),
	topic(truth("unclean.leader.election.enable", func(c *Config) *bool { return &c.UncleanLeaderElection })),
	truth("eligible.leader.replicas.enable", func(c *Config) *bool { return &c.EligibleLeaderReplicas }),
	span("replica.lag.time.max.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.ReplicaLagTimeMax }),
	number("replica.lag.max.messages", 0, math.MaxInt64, func(c *Config) *int64 { return &c.ReplicaLagMaxMessages }),
	span("replica.fetch.wait.max.ms", time.Millisecond, 0, func(c *Config) *time.Duration { return &c.ReplicaFetchWaitMax }),
	number("replica.fetch.min.bytes", 0, math.MaxInt32, func(c *Config) *int { return &c.ReplicaFetchMinBytes }),
	number("replica.fetch.max.bytes", 0, math.MaxInt32, func(c *Config) *int { return &c.ReplicaFetchMaxBytes }),
	number("replica.fetch.response.max.bytes", 0, math.MaxInt32, func(c *Config) *int { return &c.ReplicaFetchResponseMaxBytes }),
	span("replica.fetch.backoff.ms", time.Millisecond, 0, func(c *Config) *time.Duration { return &c.ReplicaFetchBackoff }),
	span("replica.socket.timeout.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.ReplicaSocketTimeout }),
	span("replica.high.watermark.checkpoint.interval.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.HWCheckpointInterval }),
	span("log.flush.offset.checkpoint.interval.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.RecoveryCheckpointInterval }),
	span("broker.session.timeout.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.BrokerSessionTimeout }),
	span("broker.heartbeat.interval.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.BrokerHeartbeatInterval }),
	span("controller.quorum.election.timeout.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.QuorumElectionTimeout }),
	span("controller.quorum.fetch.timeout.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.QuorumFetchTimeout }),
	truth("controller.quorum.auto.join.enable", func(c *Config) *bool { return &c.QuorumAutoJoin }),
	number("metadata.log.max.record.bytes.between.snapshots", 1, math.MaxInt64, func(c *Config) *int64 { return &c.MetadataSnapshotBytes }),
	span("controller.socket.timeout.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.ControllerSocketTimeout }),
	truth("controlled.shutdown.enable", func(c *Config) *bool { return &c.ControlledShutdown }),
	truth("auto.leader.rebalance.enable", func(c *Config) *bool { return &c.AutoLeaderRebalance }),
	span("leader.imbalance.check.interval.seconds", time.Second, 1, func(c *Config) *time.Duration { return &c.LeaderImbalanceCheckInterval }),
	span("producer.id.expiration.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.ProducerIDExpiration }),
	span("producer.id.expiration.check.interval.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.ProducerIDExpirationCheckInterval }),
	number("tidemark.producer.id.block.size", 1, 1000, func(c *Config) *int64 { return &c.ProducerIDBlockSize }),
	number("log.segment.bytes", 14, math.MaxInt32, func(c *Config) *int { return &c.LogSegmentBytes }),
	number("log.index.interval.bytes", 0, math.MaxInt32, func(c *Config) *int { return &c.LogIndexIntervalBytes }),
	spanOrNone("log.retention.ms", func(c *Config) *time.Duration { return &c.LogRetention }),
	number("log.retention.bytes", -1, math.MaxInt64, func(c *Config) *int64 { return &c.LogRetentionBytes }),
	span("log.retention.check.interval.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.LogRetentionCheckInterval }),
	number("message.max.bytes", 0, math.MaxInt32, func(c *Config) *int { return &c.MessageMaxBytes }),
	number("fetch.max.bytes", 1024, math.MaxInt32, func(c *Config) *int { return &c.FetchMaxBytes }),
	number("max.incremental.fetch.session.cache.slots", 0, math.MaxInt32, func(c *Config) *int { return &c.FetchSessionCacheSlots }),
	number("socket.request.max.bytes", 1, math.MaxInt32, func(c *Config) *int { return &c.SocketRequestMaxBytes }),
})), func(a, b key) int { return strings.Compare(a.name, b.name) })

func topic(k key) key { k.perTopic = true; return k }

// number is a whole-number key within [min, max].
func number[T int | int64](name string, minimum, maximum int64, field func(*Config) *T) key {
	return key{
		name: name,
		get:  func(c *Config) string { return strconv.FormatInt(int64(*field(c)), 10) },
		set: func(c *Config, s string) error {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil || n < minimum || n > maximum {
				return fmt.Errorf("%q, expected a whole number from %d to %d", short(s), minimum, maximum)
			}
			*field(c) = T(n)
			return nil
		},
	}
}

// span is a duration key counted in unit, at least minimum of them and at most a year.
func span(name string, unit time.Duration, minimum int64, field func(*Config) *time.Duration) key {
	most := int64(366 * 24 * time.Hour / unit)
	return key{
		name: name,
		get:  func(c *Config) string { return strconv.FormatInt(int64(*field(c)/unit), 10) },
		set: func(c *Config, s string) error {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil || n < minimum || n > most {
				return fmt.Errorf("%q, expected a whole number from %d to %d", short(s), minimum, most)
			}
			*field(c) = time.Duration(n) * unit
			return nil
		},
	}
}

// spanOrNone is a duration key counted in milliseconds, of which -1 is for ever.
func spanOrNone(name string, field func(*Config) *time.Duration) key {
	k := span(name, time.Millisecond, -1, field)
	some := k.get
	k.get = func(c *Config) string {
		if *field(c) < 0 {
			return "-1"
		}
		return some(c)
	}
	return k
}

func truth(name string, field func(*Config) *bool) key {
	return key{
		name: name,
		get:  func(c *Config) string { return strconv.FormatBool(*field(c)) },
		set: func(c *Config, s string) error {
			switch strings.ToLower(s) {
			case "true":
				*field(c) = true
			case "false":
				*field(c) = false
			default:
				return fmt.Errorf("%q, expected true or false", short(s))
			}
			return nil
		},
	}
}

func parseID(s string) (kafka.BrokerID, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return kafka.NoBroker, fmt.Errorf("%q, expected a node id from 0 to %d", short(s), math.MaxInt32)
	}
	return kafka.BrokerID(n), nil
}

func setNodeID(c *Config, s string) (err error) {
	c.NodeID, err = parseID(s)
	return err
}

func getRoles(c *Config) string {
	var roles []string
	if c.Broker {
		roles = append(roles, "broker")
	}
	if c.Controller {
		roles = append(roles, "controller")
	}
	return strings.Join(roles, ",")
}

func setRoles(c *Config, s string) error {
	c.Broker, c.Controller = false, false
	for role := range strings.SplitSeq(s, ",") {
		switch strings.TrimSpace(role) {
		case "broker":
			c.Broker = true
		case "controller":
			c.Controller = true
		default:
			return fmt.Errorf("role %q in %q, expected broker, controller or both with a comma", short(role), short(s))
		}
	}
	return nil
}

// hostMax bounds a host's name, as DNS does.
const hostMax = 255

// parseAddress reads host:port. As in Kafka an IPv6 address stands in brackets, which are not part of the host.
func parseAddress(s string) (string, int32, error) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return "", 0, fmt.Errorf("%q, expected host:port", short(s))
	}
	port, err := strconv.ParseUint(s[i+1:], 10, 16)
	if err != nil || port == 0 {
		return "", 0, fmt.Errorf("port %q in %q, expected 1 to 65535", short(s[i+1:]), short(s))
	}
	host := s[:i]
	if len(host) > hostMax {
		return "", 0, fmt.Errorf("host %q of %d bytes, expected at most %d", short(host), i, hostMax)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(host, ":") {
			return "", 0, fmt.Errorf("host %q, expected an IPv6 address between brackets", short(s[:i]))
		}
	}
	if strings.ContainsAny(host, "[]") {
		return "", 0, fmt.Errorf("host %q, expected a name or an address", short(s[:i]))
	}
	return host, int32(port), nil
}

// joinAddress is host:port, as parseAddress, net.Dial and net.Listen read it.
func joinAddress(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

func getVoters(c *Config) string {
	var out []string
	for _, v := range c.Voters {
		out = append(out, fmt.Sprintf("%d@%s", v.ID, joinAddress(v.Host, v.Port)))
	}
	return strings.Join(out, ",")
}

// votersMax bounds the quorum; Kafka advises three or five.
const votersMax = 31

func setVoters(c *Config, s string) error {
	c.Voters = nil
	for part := range strings.SplitSeq(s, ",") {
		id, address, ok := strings.Cut(strings.TrimSpace(part), "@")
		if !ok {
			return fmt.Errorf("voter %q, expected id@host:port", short(part))
		}
		n, err := parseID(id)
		if err != nil {
			return err
		}
		host, port, err := parseAddress(address)
		if err != nil {
			return err
		}
		c.Voters = append(c.Voters, Voter{ID: n, Host: host, Port: port})
		if len(c.Voters) > votersMax {
			return fmt.Errorf("more than %d voters", votersMax)
		}
	}
	slices.SortFunc(c.Voters, func(a, b Voter) int { return int(a.ID) - int(b.ID) })
	for i := 1; i < len(c.Voters); i++ {
		if c.Voters[i].ID == c.Voters[i-1].ID {
			return fmt.Errorf("voter %d twice", c.Voters[i].ID)
		}
	}
	return nil
}

// rackMax bounds a rack's name, in bytes.
const rackMax = 255

func setRack(c *Config, s string) error {
	if len(s) > rackMax {
		return fmt.Errorf("%q of %d bytes, expected at most %d", short(s), len(s), rackMax)
	}
	c.Rack = s
	return nil
}

func setSelector(c *Config, s string) error {
	switch sel := Selector(s); sel {
	case NoSelector, LeaderSelector, RackAware:
		c.ReplicaSelector = sel
		return nil
	default:
		return fmt.Errorf("%q, expected %s, %s or nothing", short(s), LeaderSelector, RackAware)
	}
}

func setBug(c *Config, s string) error {
	name, err := bug.Parse(s)
	if err == nil {
		c.Bug = bug.On(name)
	}
	return err
}
