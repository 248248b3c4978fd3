package checker

// Class names an anomaly.
type Class string

// The classes of anomaly; Rules tells what each means and what it is under a contract.
const (
	LostWrite         Class = "lost acknowledged write"
	TwoValues         Class = "two values at one offset"
	Duplicate         Class = "duplicate"
	Phantom           Class = "phantom"         // a record that nobody sent
	Corrupted         Class = "corrupted value" // bytes that nobody sent where a record that was sent belongs
	AbortedRead       Class = "read of a failed write"
	RealtimeOrder     Class = "order against real time"
	NonmonotonicSend  Class = "producer goes back"
	UncommittedRead   Class = "read of uncommitted data" // read, and later not there
	NonmonotonicPoll  Class = "consumer goes back"
	PollSkip          Class = "consumer skips"
	SeenBySome        Class = "seen by some consumers only"
	StaleRead         Class = "stale read"
	HWBack            Class = "high watermark goes back"
	ListOffsetsBack   Class = "end offset goes back" // as ListOffsets tells it
	AckOffsetMismatch Class = "acknowledged at another offset"
	AckWithoutOffset  Class = "acknowledged without an offset"
	Trimmed           Class = "trimmed" // below the log start, as retention or DeleteRecords leave it
	Unseen            Class = "acknowledged and never seen"
	BrokerExited      Class = "broker exited by itself"
	BrokerNotBack     Class = "broker does not come back"
	NotSettled        Class = "not settled"
	ReplicasDiffer    Class = "replicas differ" // after settling, when every replica must hold the same
	InvariantBroken   Class = "invariant broken"
	Nonlinearizable   Class = "not linearizable" // porcupine alone objects
)

// Rule is what a class means, and when it is a violation.
type Rule struct {
	Class   Class
	Means   string  // its definition, one sentence
	Promise Promise // what the contract must promise for it to be a violation
	Unless  string  // what makes it one whatever the contract promises, "" for nothing
}

// Promise is a condition on a contract under which an anomaly is a violation.
type Promise struct {
	Words string // the condition, as the table of docs/anomalies.md names it
	Else  Severity
	holds func(Contract) bool
}

// Holds reports whether a contract makes the promise.
func (p Promise) Holds(c Contract) bool { return p.holds(c) }

// The promises that rules refer to.
var (
	always       = Promise{"always", Violation, func(Contract) bool { return true }}
	informing    = Promise{"never, it is information", Info, func(Contract) bool { return false }}
	durable      = Promise{"durable", Allowed, func(c Contract) bool { return c.Durable }}
	durableReads = Promise{"durable and committed reads stay", Allowed, func(c Contract) bool { return c.Durable && c.CommittedReads }}
	readsStay    = Promise{"committed reads stay", Allowed, func(c Contract) bool { return c.CommittedReads }}
	ordered      = Promise{"ordered", Allowed, func(c Contract) bool { return c.Ordered }}
	inBudget     = Promise{"faults within the budget", Allowed, func(c Contract) bool { return c.WithinBudget }}
	noRepeats    = Promise{"no producer retries, or exactly once", Allowed, func(c Contract) bool { return !c.repeats() }}
	oneCopyStays = Promise{"no producer retries, or exactly once, or durable", Allowed, func(c Contract) bool { return !c.repeats() || c.Durable }}
	canSettle    = Promise{"faults within the budget, min.insync.replicas ≤ replication factor", Allowed,
		func(c Contract) bool { return c.WithinBudget && c.MinISR <= c.Factor }}
	boundedReads = Promise{"a bound on stale reads is stated, and faults within the budget", Info, func(c Contract) bool { return c.ReadBound > 0 && c.WithinBudget }}
)

// Rules holds every class, from cause to consequence: of anomalies that concern one record or one offset the first is the finding, and the
// others stand under it as implied.
//
// What the log itself got wrong about a record comes first (bytes that nobody sent, a failed write, a second copy), as whatever stood there
// is gone by it; then replicas that hold different values; then the acknowledgement that names a wrong place, and the acknowledged write that
// is missing; then the read that was taken back because of it; then what follows for order, and for consumers. What is about no single record
// comes last. Two classes have a second place: two values that only clients were told of rank behind the loss that makes room for the
// second, and a copy that a producer's retry made explains nothing, so it ranks behind all that concerns a record.
var Rules = []Rule{
	{Corrupted, "Bytes that nobody sent stand, or were read, at an offset where a record that was sent belongs.", always, ""},
	{Phantom, "A record that nobody sent, or that was read before it was sent, stands in the log or was read, and nothing tells which record belongs there.", always, ""},
	{AbortedRead, "A write that was reported as definitely failed stands in the log or was read.", always, ""},
	{Duplicate, "A value stands at two offsets.", noRepeats, "the value was sent once"},
	{TwoValues, "One offset has two values: on two replicas, or as clients were told.", durableReads, "replicas are apart at the end"},
	{AckOffsetMismatch, "The log holds a value elsewhere than at the offset that its acknowledgement named.", oneCopyStays, ""},
	{LostWrite, "A write that was acknowledged is not in the log, at an offset that the log's end or a final read tells about, or that is below a log start that nobody asked for.", durable, ""},
	{UncommittedRead, "A consumer read a record that is not in the log at the end.", readsStay, ""},
	{RealtimeOrder, "A record stands before one that was in the log before it was sent.", ordered, ""},
	{NonmonotonicSend, "A producer's send stands before one of its own that was acknowledged earlier, or that one operation of Jepsen's names before it.", ordered, ""},
	{NonmonotonicPoll, "A consumer's answer holds an offset below the one it must go on with: below the one asked for, below the record before, or below where its last answer ended or it moved itself since.", always, ""},
	{PollSkip, "A consumer's answer leaves out a record of the log between those that it returned, or between where its last answer ended, or it moved itself since, and where this one was asked from.", always, ""},
	{SeenBySome, "A consumer was moved, or moved itself, past a record that other consumers read, and never got it.", readsStay, ""},
	{ListOffsetsBack, "ListOffsets told an end of the log below a high watermark that was told before, by itself or in an answer, in the same leader epoch or an earlier one (KIP-207).", readsStay, ""},
	{HWBack, "A leader's high watermark was seen to go back within its epoch, or a replica started with a lower one than when it started before.", inBudget, ""},
	{StaleRead, "A consumer was told that it is at the end of the log, though a write beyond had been acknowledged longer ago than the bound on stale reads.", boundedReads, ""},
	{AckWithoutOffset, "A write was acknowledged without an offset. It is in the log, or its loss is told; where it must stand, nobody said.", informing, ""},
	{Trimmed, "An acknowledged write is below the log start, where retention may have removed it, or a DeleteRecords that asked for it.", informing, ""},
	{Unseen, "An acknowledged write was in no answer, and no final read and no full set of replica dumps tells whether it is in the log.", informing, ""},
	{BrokerExited, "A broker went down that nobody had killed, stopped or taken the power from.", always, ""},
	{BrokerNotBack, "A broker in a container was started again and exits, or answers nobody within the bound, with every fault undone.", always, ""},
	{NotSettled, "The cluster did not come to rest within the bound after every fault was undone, or a fault could not be undone.", canSettle, ""},
	{ReplicasDiffer, "After settling the replicas' logs are not of the same length and of the same leader epochs.", always, ""},
	{InvariantBroken, "An invariant of the replication protocol was broken in a state that the simulator saw.", always, ""},
	{Nonlinearizable, "The second judge finds no order of the operations that a log could have, where nothing else was found.", always, ""},
}

// Classes lists every class, from cause to consequence.
var Classes = classes()

func classes() []Class {
	out := make([]Class, len(Rules))
	for i := range Rules {
		out[i] = Rules[i].Class
	}
	return out
}

// rules finds a class's place in Rules.
var rules = ruleIndex()

func ruleIndex() map[Class]int {
	out := map[Class]int{}
	for i := range Rules {
		out[Rules[i].Class] = i
	}
	return out
}

// Place is where a class stands among Rules, -1 if there is none of that name.
func (c Class) Place() int {
	if i, known := rules[c]; known {
		return i
	}
	return -1
}

// Severity says what an anomaly of a class means under the contract, but for what Rule.Unless names.
func (c Contract) Severity(class Class) Severity {
	i, known := rules[class]
	if !known || Rules[i].Promise.holds(c) {
		return Violation
	}
	return Rules[i].Promise.Else
}
