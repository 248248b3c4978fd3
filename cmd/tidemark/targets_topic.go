package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// targetsTopic is the help on brokers that are not this program's own.
func targetsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "targets",
		Short: "Which brokers runs in containers can have, and how to describe others",
		Long:  strings.TrimSpace(targetsText),
	}
}

const targetsText = `
run --target NAME does to other brokers what runs do to this program's own, in containers. A target implies --world docker.

    apache-kafka:4.1.0            Apache Kafka of any release from 0.10.2 on. The first three brokers are the controller quorum, too; before
                                  3.3 a ZooKeeper stands beside the brokers
    apache-kafka-zookeeper:3.9.1  the same with a ZooKeeper, of a release that has both
    apache-kafka-isolated:4.1.0   the same with three controllers beside the brokers, where 101 to 103 are nodes of their own, from 3.3 on: what
                                  plans call the controller is one of them then
    apache/kafka:4.1.0            the project's own image, from the registry that the engine knows
    FILE.yaml                     any image that speaks Kafka's protocol, as the file describes it

The image of a release is made here, without a registry: jars from Maven Central, Java from this machine's JDK. It takes mvn, jlink, ldd
and a static busybox, and stays for later runs; target build makes it beforehand, target list shows what there is, doctor what lacks.

A topic's replicas go where this program's own brokers would put them, so that a plan which names brokers by number, found in the simulator,
means the same here: replay DIR --target NAME carries a stored run's plan over. Beside a ZooKeeper the last broker is the first to register
and so the first controller; before 2.4 leaders are elected and partitions moved by ZooKeeper's nodes.

What a run observes of such brokers is what they tell by Kafka's protocol (and ZooKeeper), and what lies in their segments at the end.
Their configuration has shorter times than Kafka's, as that of this program's own: run.json holds it, --config sets keys over it. Faults
are those that the target admits; clients speak no newer versions than the brokers.

A file has an image and a command, and what else the broker needs. Texts of command, environment and files are templates:

    image: example.org/fork:1.2
    command: [/bin/sh, -c, 'exec /opt/fork/start /etc/fork.properties']
    environment: {HEAP: 384m}
    files:
      /etc/fork.properties: |
        node.id={{.ID}}
        process.roles={{if .Voter}}broker,controller{{else}}broker{{end}}
        controller.quorum.voters={{.Voters}}
        listeners=BROKER://:9092,EXTERNAL://:9094{{if .Voter}},CONTROLLER://:9093{{end}}
        advertised.listeners=BROKER://{{.Address}}:9092,EXTERNAL://{{.Published}}
        log.dirs={{.Data}}
        {{.Properties}}
    faults: [partition, kill, pause, stop, elect, reassign, freeze, loss, lag]
    settings: {replica.lag.time.max.ms: 2000}
    eligible-leader-replicas: true
    startup: 7s

Templates are told {{.ID}}, {{.Address}} on the cluster's network, {{.Published}} for clients on this machine, {{.Voter}}, {{.Voters}},
{{.Rack}}, {{.Cluster}} (an id of 22 characters), {{.Nodes}} (all of these of every broker), {{.Properties}} (what the run configures, a line
a key), {{.Data}} and {{.Metadata}} (directories of two volumes that outlive the process). A broker listens at 9092 for brokers, at 9094 for
clients on this machine, and at 9093 for the controller quorum, where it has one. startup is about how long it takes until it takes part again:
drawn plans leave it the time. It runs as root, and its command is the process that
faults strike: a shell must end in exec. faults are some of those above, or all of them where it names none; faults on single messages are not
among them. Where the kernel has no netem, a lag concerns what brokers send each other at 9092 and 9093, and nothing at other ports.
`
