package checker

import (
	"fmt"
	"slices"
	"strings"
)

// Sight says how far the second judge sees the anomalies of a class.
type Sight string

// The degrees of sight.
const (
	Sees   Sight = "yes"
	InPart Sight = "in part"
	Blind  Sight = "no"
)

// Reach says what the second judge makes of a class where it is asked: where what consumers read stays. Durable is for a contract that is also
// durable, ReadsStay for one under which acknowledged writes may go.
type Reach struct {
	Class     Class
	Durable   Sight
	ReadsStay Sight
	How       string
}

// Reaches holds every class. To what the second judge sees it must object, and to nothing else.
var Reaches = []Reach{
	{Corrupted, InPart, InPart, "An answer shows a value that no append put there. What replicas hold it does not see."},
	{Phantom, Sees, Sees, "An answer shows a value that no append put there, or not yet."},
	{AbortedRead, Sees, Sees, "A failed write is no append, so no log has what the answer shows."},
	{Duplicate, Sees, Sees, "A value that was sent once is appended once. The copies of a retry are appends of their own, so where those are allowed they are no objection."},
	{TwoValues, InPart, InPart, "Two appends, or an append and an answer, are at one offset. What replicas hold it does not see."},
	{AckOffsetMismatch, Sees, Sees, "The append is at the offset of its acknowledgement, and an answer shows the value elsewhere."},
	{LostWrite, InPart, Blind, "A final read went past its offset, or ended below it. What only replicas tell it does not see, nor the loss of a write whose offset nobody told."},
	{UncommittedRead, InPart, InPart, "What an answer showed was appended, and a final read leaves it out. What only replicas tell it does not see."},
	{RealtimeOrder, Sees, Sees, "Appends are made in order of offset, each between its call and its return."},
	{NonmonotonicSend, Sees, Sees, "The same, by one producer."},
	{NonmonotonicPoll, InPart, InPart, "Inside one answer. What a consumer did before it does not see."},
	{PollSkip, InPart, InPart, "Inside one answer, where brokers remove nothing. What a consumer did before it does not see."},
	{SeenBySome, Blind, Blind, "Each answer alone is right."},
	{ListOffsetsBack, Blind, Blind, "It is not asked about ends that were told apart from answers."},
	{HWBack, Blind, Blind, "It sees no brokers."},
	{StaleRead, Blind, Blind, "An older state of the log may be read, however old."},
	{AckWithoutOffset, Blind, Blind, "It is legal."},
	{Trimmed, Blind, Blind, "Where brokers remove old records an answer says nothing of what it leaves out."},
	{Unseen, Blind, Blind, "It is legal."},
	{BrokerExited, Blind, Blind, "It sees no brokers."},
	{BrokerNotBack, Blind, Blind, "It sees no brokers."},
	{NotSettled, Blind, Blind, "It sees no brokers."},
	{ReplicasDiffer, Blind, Blind, "It sees no brokers."},
	{InvariantBroken, Blind, Blind, "It sees no brokers."},
	{Nonlinearizable, Sees, Sees, "It alone objects."},
}

// Sees is how far the second judge sees a class under the contract; Blind where it is not asked.
func (c Contract) Sees(class Class) Sight {
	i := slices.IndexFunc(Reaches, func(r Reach) bool { return r.Class == class })
	switch {
	case i < 0 || !c.CommittedReads:
		return Blind
	case c.Durable:
		return Reaches[i].Durable
	}
	return Reaches[i].ReadsStay
}

// ReachTable is docs/second-judge.md: what the second judge is, what it takes over, and which classes it sees.
func ReachTable() string {
	var out strings.Builder
	out.WriteString(reachIntroduction)
	for _, r := range Reaches {
		fmt.Fprintf(&out, "| **%s** | %s | %s | %s |\n", r.Class, r.Durable, r.ReadsStay, r.How)
	}
	out.WriteString("\nWhere the contract lets go even what was read (unclean elections, faults beyond the budget) it is not asked.\n")
	return out.String()
}

const reachIntroduction = `# The second judge

The log checker decides by offsets, from the log as it stands at the end. A second judge looks at the same history the other way round: it asks
[porcupine](https://github.com/anishathalye/porcupine), a general checker of linearizability, for an order of the operations in which a log that
every client sees at once would have answered as the brokers did. It lives in checker/linear and shares no code with the log checker, only the
history; nothing that the log checker found is told to it. Where both judge a class, they must agree, on random histories in every test run:

    go test ./checker -run '^TestJudgesAgree$' -v -args -judged 10000

**The specification.** A log has an end, and a record at some of the offsets below. An append puts a record at the end or beyond it (offsets may
be left out). A read returns what stands at the offsets that it went through, of the log as it is or was; a final read of a log at rest that came
to the high watermark also says that nothing is behind it.

**What it takes over from evidence**, all of it from what clients saw. An unknown write that somebody saw is an append at the offset of its first
sighting, and has taken effect by then; nothing else ends it. One that nobody saw is left out, which changes no outcome, since offsets may be left
out. Where acknowledged writes may be lost, one counts if it was seen at its offset. Replica dumps, protocol steps and what an observer saw are not
looked at.

**Windows.** A partition is cut at moments at which nothing is under way, or where there are none, anywhere; an append whose time reaches over a
cut belongs to the first window in which all below it have been called. That loses nothing: checker/linear/windows.go has the reason, and a test
compares windows of one operation with whole histories.

**Budget.** Steps of the search are counted, and each window is bounded in time. Windows without an answer are counted in the verdict and never a
pass: if nothing else is wrong the verdict is *unknown*.

**Picture.** If it objects, the run directory gets porcupine.html beside the report: porcupine's own picture of the first such window alone, with
the faults and the changes of leader in it. A window of more than 400 operations is not drawn.

## What it sees

| class | under acks=all | where acknowledged writes may go | how |
|---|---|---|---|
`
