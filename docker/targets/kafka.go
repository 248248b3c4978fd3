package targets

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/world"
)

// apacheKafka is Apache Kafka of a release.
func apacheKafka(r Release, keeper bool) Target {
	t := Target{
		Release: r, Keeper: keeper, KeeperAdmin: r.before(alterByRequest), ELR: !r.before(eligible) && !keeper,
		Idempotent: !r.before(idempotent), FollowerFetch: !r.before(alterByRequest),
		Abilities: []world.Ability{world.CanPartition, world.CanKill, world.CanPause, world.CanStop},
		Quick:     maps.Clone(quick), Startup: javaStartup,
	}
	t.Abilities = append(t.Abilities, world.CanElect, world.CanReassign, world.CanFreeze, world.CanLoss, world.CanLag, world.CanHold, world.CanDrop, world.CanLate, world.CanDelay, world.CanThrottle)
	kafka := kafka{release: r, keeper: keeper}
	if keeper {
		t.Abilities = append(t.Abilities, world.CanZooKeeper)
		maps.Copy(t.Quick, quickKeeper)
	} else {
		maps.Copy(t.Quick, quickKRaft)
	}
	if !r.before(withoutKeeper) {
		t.Quick["log.segment.bytes"] = "1048576" // KIP-1030: no less is taken
	}
	t.configure = kafka.process
	return t
}

// javaStartup is about how long a broker on Java takes to start, where three of them share two processors with clients.
const javaStartup = 7 * time.Second

// quick is Kafka's configuration with shorter times.
var quick = map[string]string{
	"replica.lag.time.max.ms":                       "2000",
	"replica.fetch.backoff.ms":                      "200",
	"replica.socket.timeout.ms":                     "2000",
	"replica.high.watermark.checkpoint.interval.ms": "1000",
	"log.flush.offset.checkpoint.interval.ms":       "5000",
	"controller.socket.timeout.ms":                  "2000",
	"controlled.shutdown.max.retries":               "1",
	"log.segment.bytes":                             "65536",
	"log.cleaner.enable":                            "false", // it takes 128 MiB for topics that a run does not have
	"auto.leader.rebalance.enable":                  "false",
	"auto.create.topics.enable":                     "false", // a run creates its own
	"num.network.threads":                           "2",
	"num.io.threads":                                "4",
}

// quickKeeper is what goes with ZooKeeper, quickKRaft with a quorum of controllers.
var (
	quickKeeper = map[string]string{
		"zookeeper.session.timeout.ms":    "6000",  // as Kafka's own default was
		"zookeeper.connection.timeout.ms": "60000", // it starts at the same time
	}
	quickKRaft = map[string]string{
		"broker.session.timeout.ms":    "3000",
		"broker.heartbeat.interval.ms": "500",
		// One that finds no controller by then exits: it may be by a fault that there is none.
		"initial.broker.registration.timeout.ms": "120000",
	}
)

// kafka is Apache Kafka of a release, with ZooKeeper or without.
type kafka struct {
	release Release
	keeper  bool
}

// Names of the files that a broker is given, and of its listeners.
const (
	propertiesFile = ConfigPath + "/broker.properties"
	loggingFile    = ConfigPath + "/logging.properties"

	brokerListener     = "BROKER"     // for brokers, and for clients on their network
	externalListener   = "EXTERNAL"   // published for clients on the engine's machine
	controllerListener = "CONTROLLER" // for the quorum, and for what brokers ask the controller
)

func (k kafka) process(s Site, n Node) (Process, error) {
	return Process{
		Command: []string{"/bin/sh", "-c", k.script(s)},
		Files:   map[string]string{propertiesFile: k.properties(s, n), loggingFile: k.logging()},
	}, nil
}

// Where things lie, in the images made here as in the project's own.
const (
	javaPath      = "/opt/java/openjdk/bin/java"
	libsPath      = "/opt/kafka/libs"
	formattedPath = "/opt/kafka/formatted.tar" // a controller log's directory, formatted, with eligible leader replicas where there are any
	archivePath   = "/opt/kafka/kafka.jsa"     // classes as Java keeps them in memory: starting takes a third less of the processor
)

// classpath lets a shell name every jar, in order: an archive of classes is good for one order alone.
const classpath = "set -e\nset -- " + libsPath + "/*.jar\nIFS=:\njars=\"$*\"\nunset IFS\n"

// script starts a broker, on volumes that it formats first if nobody has.
func (k kafka) script(s Site) string {
	java := javaPath + " -XX:SharedArchiveFile=" + archivePath + " " + strings.Join(k.javaOptions(), " ") + ` -cp "$jars" `
	out := classpath
	if !k.keeper {
		format := java + k.format(s) + "\n"
		if s.ELR || k.release.before(eligible) {
			format = unpack(s) + "else\n" + format + "fi\n"
		}
		out += "if [ ! -f " + DataPath + "/meta.properties ]; then\n" + format + "fi\n"
	}
	return out + "exec " + java + "kafka.Kafka " + propertiesFile + "\n"
}

// unpack begins a choice: it leaves what format would, without starting Java for it, where the image has kept what that left elsewhere; else comes
// what is told behind it. Directories have no ids: brokers give them some.
func unpack(s Site) string {
	return "if [ -f " + formattedPath + " ]; then\ntar -xf " + formattedPath + " -C " + MetadataPath + "\n" +
		"id=$(sed -n 's/^node.id=//p' " + propertiesFile + ")\nfor d in " + MetadataPath + " " + DataPath + "; do\n" +
		"printf 'version=1\\ncluster.id=%s\\nnode.id=%s\\n' " + s.Cluster + " \"$id\" > $d/meta.properties\ndone\n"
}

// format is what formats a broker's volumes, with the features that the site has.
func (k kafka) format(s Site) string {
	out := "kafka.tools.StorageTool format --ignore-formatted -t " + s.Cluster + " -c " + propertiesFile
	if !k.release.before(eligible) {
		version := 0
		if s.ELR {
			version = 1
		}
		out += fmt.Sprintf(" --feature eligible.leader.replicas.version=%d", version)
	}
	return out
}

// javaOptions are for a broker that lives for a minute: a small heap, the quick compiler, one thread that collects; and what older releases
// need of Java 17.
func (k kafka) javaOptions() []string {
	options := []string{"-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.awt.headless=true"}
	if k.release.before(withoutKeeper) {
		options = append(options, "-Dlog4j.configuration=file:"+loggingFile)
	} else {
		options = append(options, "-Dlog4j2.configurationFile="+loggingFile)
	}
	if k.release.before(scala213) {
		for _, p := range []string{"sun.nio.ch", "java.nio", "java.lang", "java.util"} {
			options = append(options, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
		}
	}
	return options
}

// properties is a broker's configuration: what the run sets, and over it what follows from where the broker lives.
func (k kafka) properties(s Site, n Node) string {
	all := maps.Clone(s.Settings)
	if all == nil {
		all = map[string]string{}
	}
	listen := func(name, host string, port int) string {
		return name + "://" + net.JoinHostPort(host, strconv.Itoa(port))
	}
	var listeners []string
	security := []string{brokerListener + ":PLAINTEXT", externalListener + ":PLAINTEXT"}
	set := map[string]string{
		"log.dirs":                         DataPath,
		"offsets.topic.replication.factor": strconv.Itoa(min(len(s.Nodes), 3)),
	}
	if !n.Apart {
		listeners = append(listeners, listen(brokerListener, "", BrokerPort), listen(externalListener, "", ExternalPort))
		set["advertised.listeners"] = listen(brokerListener, n.Address, BrokerPort) + "," + externalListener + "://" + n.Published
		set["inter.broker.listener.name"] = brokerListener
	}
	if k.keeper {
		set["broker.id"] = strconv.Itoa(int(n.ID))
		set["zookeeper.connect"] = net.JoinHostPort(s.Keeper, strconv.Itoa(KeeperPort))
	} else {
		set["node.id"] = strconv.Itoa(int(n.ID))
		set["process.roles"] = strings.Join(n.roles(), ",")
		if n.Voter {
			listeners = append(listeners, listen(controllerListener, "", ControllerPort))
		}
		security = append(security, controllerListener+":PLAINTEXT")
		set["controller.quorum.voters"] = voters(s)
		set["controller.listener.names"] = controllerListener
		set["metadata.log.dir"] = MetadataPath
	}
	if n.Rack != "" {
		set["broker.rack"] = n.Rack
	}
	set["listeners"], set["listener.security.protocol.map"] = strings.Join(listeners, ","), strings.Join(security, ",")
	maps.Copy(all, set)
	return lines(all)
}

// roles is what a node is in a cluster without ZooKeeper.
func (n Node) roles() (roles []string) {
	if !n.Apart {
		roles = append(roles, "broker")
	}
	if n.Voter {
		roles = append(roles, "controller")
	}
	return roles
}

// voters is the controller quorum of a site, as controller.quorum.voters has it.
func voters(s Site) string {
	var out []string
	for _, v := range slices.Concat(s.Nodes, s.Quorum) {
		if v.Voter {
			out = append(out, fmt.Sprintf("%d@%s", v.ID, net.JoinHostPort(v.Address, strconv.Itoa(ControllerPort))))
		}
	}
	return strings.Join(out, ",")
}

// lines is a configuration as a file of properties, sorted by key.
func lines(all map[string]string) string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "%s=%s\n", key, all[key])
	}
	return out.String()
}

// logging lets a broker write to its container's log.
func (k kafka) logging() string {
	if k.release.before(withoutKeeper) {
		return `log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
`
	}
	return `rootLogger.level=INFO
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
`
}
