package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tidemark/checker"
	"tidemark/harness"
)

// planTopic is the help on the language of plans.
func planTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "plan",
		Short: "How to write a plan of faults, and what the fault budget is",
		Long:  strings.TrimSpace(planText),
	}
}

const planText = `
A plan is a text file with one fault a line: when it strikes, what it does to whom, and for how long. # starts a comment, columns are
free. A plan has a fault at least: --faults none is a baseline, without any. run --plan FILE and hunt --plan FILE read one; without it the seed draws one, which plan.txt
in the run's directory holds and the next run can take over.

    at 2s                     partition leader(orders/0) | rest   for 5s
    after 300 acks            kill controller                     for 3s
    after 2 elections         pause follower(orders/0)            for 4s
    when isr(orders/0) = 1    stop leader(orders/0)               for 2s
    at 20s                    powerfail broker 2, broker 3        for 1s
    at 25s                    elect broker 1 on orders/0
    at 30s                    partition leader(orders/0) | rest on port controller    for 5s
    at 40s                    loss controller | rest at 0.3       for 6s
    at 50s                    wipe follower(orders/0)             for 1s
    at 51s                    hold fetch responses leader(orders/0) -> follower(orders/0)       for 4s
    after 1 catches           elect follower(orders/0) on orders/0
    at 52s                    late alter-partition requests rest -> controller once by 5s       for 20s

When
    at T                      so long after the start of the load. Trace, report, --from and --until count from the start of the run,
                              earlier by some two seconds in the simulated world, by four to eight in containers: the end of a run
                              says when the load began
    after N acks [on P]       so many writes were acknowledged, in all or on partition P (topic/index)
    after N elections [on P]  leaders changed so many times
    after N shrinks [on P]    so many times a member left an ISR, in all or that of P; after N expands: joined one
    after N catches           so many of the plan's faults on messages (hold, drop, late, delay, throttle) have met one
    after N releases          so many of them (all but drop) have let go of what they had caught
    ... of API requests       behind either: only faults on such messages count (or responses), as in after 1 catches of fetch responses
    when isr(P) = N           the ISR of P has N members
    when leader(P) = N        broker N leads P; none stands for no leader
    ... since T               behind one of the events: it is counted, or looked for, from then on
    ... plus T                behind that: so long after it
A line strikes once. The plan ends a second before the load does, so that a fault has time to show; what has not struck by then is
refused, what is in force is undone.

Whom, as things stand when the line strikes
    broker 2                  by number
    leader(P), follower(P)    who leads P; one of the others, drawn
    isr(P), osr(P)            every replica in the ISR of P, or outside of it
    controller, random        the active controller; any broker that no fault holds down, drawn
    zookeeper                 the server beside the brokers of a target that has one (help targets)
Several stand with commas between them.

What
    kill X                    the process ends at once (SIGKILL). What it wrote to its files stays, synced or not
    wipe X                    a kill, and everything that the broker keeps for partitions is removed: it starts again on none. The
                              controller's log is spared
    powerfail X               the machine loses power: what was not synced is lost, in whole or in part, and the last write may be torn
    stop X                    an orderly shutdown (SIGTERM): leadership is handed over first. A broker that does not end in 10s is killed
    pause X                   the process stands still (SIGSTOP) with its connections open, and knows nothing of it when it goes on
    freeze X                  the same by the freezer of its control group (docker pause)
    clock X at 1.05           the clock runs fast or slow: 0.1 to 10 times, not 1
    elect X on P              a clean election makes X, a member of the ISR, the leader of P; it has no length
    reassign P to X, Y, Z     P moves to other replicas, as many as before, the preferred leader first; those of before leave when the new ones
                              are in the ISR. It has no length
    recreate TOPIC            the topic of --recreated-topic is deleted and created again under its name; it has no length (--world sim)
    partition X | Y           nothing passes between two sides; in a partition broker numbers stand alone: partition 1, 2 | 3
    partition X -> Y          nothing passes from X to Y, the other way is open; rest stands for all others on either side
    partition ring            every broker hears from a majority, no two from the same one
    partition bridge X        two halves that only X can talk to both of
    ... on port controller    behind X | Y or X -> Y: only what is for controllers is cut (the quorum, heartbeats, ISR changes, forwarded
                              requests, with their answers). on port broker: only replication
    loss X | Y at 0.3         of the packets between two sides that share is lost, drawn for each: 0.01 to 0.99. TCP sends again, later and
                              later. loss X -> Y at 0.3: only of those from X to Y. A link loses packets for one fault at a time
    lag X | Y by 100ms        of the packets between two sides each arrives so much later: 10ms to 10s. lag X -> Y by 100ms: only those from X
                              to Y. Behind that jitter 50ms: by so much more or less at most, drawn for each; and reorder 0.1: that share,
                              0.01 to 0.5, is not late and overtakes. A connection keeps its order, so that what overtook waits there. A
                              link has one lag at a time. It is seen by how long messages take; what is late by more than the fault lasts
                              arrives behind its end. A plan that is drawn has none unless --faults names lag. Containers take the
                              kernel's netem for it; where that is missing proxies delay the bytes of connections between brokers, and a
                              plan with reorder is refused (doctor tells which)
    hold API requests X -> Y  such messages from X to Y stay under way, and with each what stands behind it on its connection, until the
                              fault ends. The API has Kafka's name: fetch, produce, alter-partition, broker-heartbeat, list-offsets,
                              init-producer-id and so on; raft is what controllers send each other, any is all of them. An answer is
                              a response and goes the other way: hold fetch responses leader(P) -> follower(P). X and Y are sides as
                              in a partition; clients are the workloads' own
    drop API requests X -> Y  the connection breaks at such a message, which never arrives; both ends see a reset
    late API requests X -> Y by 5s
                              the sender sees its connection break, and sends again over another one if it wants; the message itself
                              arrives 5s later
    delay API requests X -> Y by 200ms
                              each such message stays under way so long, and what stands behind it on its connection waits its turn
    throttle API requests X -> Y at 20kB/s
                              each stays under way for as long as its bytes take at that rate: B/s, kB/s (1000 bytes) or MB/s. All
                              of these have responses, too
    ... on P                  behind Y, of fetch and produce: those that concern the partition. on P raising hw, of fetch responses: those
                              that tell a higher high watermark of it than the one before, since the fault began, on the same link
    ... once                  behind that: the next such message alone, whenever it comes; nth N: the Nth. hold ... once for 6s holds it 6s
                              long from then on; the others wait for it as long as for says
    poweroff X                a stop, and behind it a power failure: what ended cleanly must be on the disk
    ioerror X                 the next write to the log of any partition on X fails (EIO); leader(P) says which broker, not which log. A broker stops then, as Kafka does whose only log directory
                              fails, and is started again when the fault ends. ioerror X on read: the next read. So does
    shortwrite X              the next write writes only a part, and says so
    failsync X                the next fsync of a partition's log fails, and what it covered is lost once the broker has stopped
    bitflip X                 a kill, and one bit of a partition's log above its recovery point is not what was written; of a batch's leader
                              epoch, which no CRC covers, none
    newdisk X                 a kill, and the broker starts again on an empty disk that has an id of its own: no partition's data, no controller
                              log. A voter among controllers is then another one, which takes the place of the old (KIP-853). One at a time
    voters remove X           X votes no more in the controller quorum, and does again at the end; several by requests that arrive together
    slowdisk X at 50          what is flushed takes so many times longer: 2 to 1000
Containers cannot do powerfail, poweroff, clock, recreate, voters and newdisk, nor what concerns a disk: they share the machine's page cache,
disk and clock. A plan with these is refused there, a tour leaves the power failure out.

For how long
    for 5s                    then it is undone: the broker starts or goes on, the clock is right, links pass all. Without it the fault stays
                              until the plan's end
Every fault is probed: it counts as having taken effect only if a probe found it in force.

The fault budget
A replica is unclean from the moment when it is killed, wiped or loses power until it is back in the ISR; one that lost data must also reach
the high watermark again. A kill, wipe or power failure is refused if afterwards, of some partition, min.insync.replicas or more replicas
would be unclean and one of them may have lost data. Inside this budget what was acknowledged under acks=all is on a replica that kept it,
so a loss is a violation. In classic mode (--classic) a power failure or a wipe also runs alone: every other fault is over and every ISR full.
--beyond-budget refuses nothing of this; losses are then reported as allowed.
`

// optionsTopic is the help on what a run sets by itself.
func optionsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "What configuration a run's brokers have, and what the contract makes of it",
		Long: strings.TrimSpace(optionsText) + "\n\nWhat a run sets where --config does not\n    " +
			strings.Join(harness.Quick(), "\n    "),
	}
}

const optionsText = `
Brokers have Kafka's defaults, but for times and segments that are shorter, so that a minute holds many failures; they are listed below.
run.json in a run's directory holds all that was set. --config KEY=VALUE, given once for each key, goes over it:

    tidemark run --config log.segment.bytes=65536 --config replica.lag.time.max.ms=10000

Keys with a flag of their own are refused there, and so are keys that each broker is given its own value of.

The contract follows from the options. What was acknowledged is never lost if --acks is all, elections are clean (no --unclean) and faults
stay inside the budget (tidemark help plan). What a consumer read stays under the same conditions whatever --acks is. A phantom, a
duplicate of a value that was sent once and a consumer that skips are violations under every contract.
Without --idempotence producers are not idempotent. A raw one (--client raw) sends a value once and never again: a send whose answer is lost has an unknown
outcome, and its value may be in the log once or not at all; twice is a violation, as nobody sent it twice. franz-go's (--client franz, in
containers) retry as their users' do, which promises a value at least once: a second copy is told and allowed, and hides nothing else.
Their times are shortened as the brokers' are: 2 s for a connection or an answer, half a second between two metadata requests, and a
record is given up after 30 s.
A controller whose partition has neither ISR nor eligible replicas left elects the last known leader when that is back, also without --unclean
(KIP-966); the summary then tells of an unclean election. Inside the fault budget it never comes to that.
With --idempotence every producer has a producer id and sequence numbers (KIP-98). The raw one then has up to five records of a partition under
way and sends again what was not acknowledged, in order, until it is or 10 s have passed; what it gives up has an unknown outcome, and it goes on
in a new epoch or with a new producer id (KIP-360). A value that stands twice is a violation wherever what was acknowledged is never lost.
`

// anomaliesTopic is the help on what the checker looks for.
func anomaliesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "anomalies",
		Short: "What the checker looks for, from cause to consequence, and when it is an error",
		Long:  anomaliesText(),
	}
}

func anomaliesText() string {
	var out strings.Builder
	out.WriteString("From cause to consequence: of anomalies that concern one record or one offset the first is told, the others under it as implied.\n" +
		"What is not an error is allowed, which a run's verdict says with its reason, or information. docs/anomalies.md has the whole table.\n" +
		"Value p3-70 is number 70 of producer 3; m-0-1 is a marker, which the harness writes to partition 0 once every fault is over.\n\n" +
		"What a contract promises\n")
	for line := range strings.Lines(checker.Terms) {
		out.WriteString(folded("    " + strings.TrimSpace(line)))
	}
	for _, r := range checker.Rules {
		out.WriteString("\n" + string(r.Class) + "\n" + folded("    "+r.Means) + folded("    an error: "+r.When()))
	}
	return strings.TrimSpace(out.String())
}

// foldedWidth is how many characters a line of help has.
const foldedWidth = 130

// folded breaks a text into lines that begin as it does.
func folded(text string) string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	line, out := indent, ""
	for _, word := range strings.Fields(text) {
		if line != indent && len([]rune(line))+1+len([]rune(word)) > foldedWidth {
			out, line = out+line+"\n", indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return out + line + "\n"
}
