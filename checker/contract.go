package checker

import (
	"fmt"

	"tidemark/history"
)

// ContractOf derives the contract from a run's configuration.
//
// Durable needs four things. Acks=all: the leader answered for every in-sync replica, not for itself. Clean elections: nobody outside ISR
// and ELR leads. Faults inside the budget. And min.insync.replicas that the topic can reach. Its size needs no condition of its own, as
// the budget is stated in it: with min.insync.replicas 1 (or replication factor 1) no fault inside the budget takes unsynced data, so the
// one replica that acknowledged still has the record when it is back, and clean elections wait for it.
//
// What consumers read below the high watermark stays under the same conditions without acks: the high watermark waits for the whole
// maximal ISR whatever the producer asked for. In classic mode it also moves while the ISR is below min.insync.replicas; every member
// then still has the record, leaders come from the ISR alone, and the budget keeps one clean member in it.
//
// Ordered: records that stay in the log stand in the order of real time. Truncation by epoch gives this even where records may be lost;
// only faults outside the budget (a controller that forgot its epochs) can take it.
//
// ExactlyOnce is about retries. A message that was sent once stands once at most, under every contract: nobody but the log itself can have
// repeated it, so a duplicate of it is a violation always. What is not promised without an idempotent producer (KIP-98) is that a retry
// does not repeat a message whose first sending took effect after all. The raw client of the workloads sends each value once and never
// again, so it tests the former; franz-go's sends it again until it is acknowledged or too old, so a duplicate of its values is allowed.
// An idempotent producer does so too, the raw one and franz-go's, and a duplicate of its values is a violation. That takes what Durable takes:
// brokers recognize a record by what they know of those before it, and where these may be lost so may that. The same goes for those that are
// removed: a replica that is behind the leader's log start begins anew there, and knows no producer (ProducerStateManager.truncateFullyAndStartAt).
//
// Ordered needs nothing of retries. It is about a message sent after another was acknowledged, and a retry ends with the acknowledgement;
// what the network still holds of an earlier try can only make one copy more. Kafka's own rule, that max.in.flight.requests.per.connection
// above 1 with retries may reorder, is about messages of one producer that are under way together, which nobody judges (and kgo without
// idempotence has one request under way to each broker, so even those keep their order).
func ContractOf(run history.Run) Contract {
	c := Contract{
		Acks: run.Acks, MinISR: run.MinISR, Factor: run.Factor, Unclean: run.Unclean, ELR: run.ELR,
		Idempotent:   run.Idempotent,
		Removes:      run.Removes(),
		WithinBudget: !run.Beyond,
	}
	retrying, _ := run.Franz()
	c.Retries = retrying > 0 || run.Idempotent
	c.Ordered = c.WithinBudget
	c.CommittedReads = c.WithinBudget && !c.Unclean
	c.Durable = c.CommittedReads && c.Acks == -1 && c.MinISR <= c.Factor
	c.ExactlyOnce = c.Durable && c.Idempotent && !c.Removes
	c.ReadBound = run.ReadBound
	c.Because = c.because()
	return c
}

func (c Contract) because() string {
	switch {
	case !c.WithinBudget:
		return "The faults go beyond the budget, so acknowledged writes may be lost and reads may be taken back."
	case c.Unclean:
		return "Unclean leader election lets a replica outside the ISR lead, so acknowledged writes may be lost and reads may be taken back."
	case c.Acks == 0:
		return "With acks=0 nobody acknowledges anything, so writes may be lost; what a consumer read stays."
	case c.Acks == 1:
		return "With acks=1 the leader answers before anyone else has the record, so acknowledged writes may be lost with the leader; what a consumer read stays."
	case c.MinISR > c.Factor:
		return fmt.Sprintf("min.insync.replicas %d is more than the %d replicas, so no write under acks=all can be acknowledged.", c.MinISR, c.Factor)
	case c.MinISR <= 1:
		return "With acks=all, clean elections and min.insync.replicas 1 the only in-sync replica has every acknowledged write, and no fault inside the budget takes unsynced data from it."
	default:
		return fmt.Sprintf("With acks=all, clean elections and min.insync.replicas %d every acknowledged write is on at least %d replicas, and inside the budget fewer than %d lose data at once.", c.MinISR, c.MinISR, c.MinISR)
	}
}

// repeats reports whether a value may stand twice because its producer sent it twice.
func (c Contract) repeats() bool { return c.Retries && !c.ExactlyOnce }

// whyAllowed is the sentence of the contract that allows an anomaly of a class.
func (c Contract) whyAllowed(class Class) string {
	if class == Duplicate && c.Durable && c.Idempotent {
		return "Old records are removed, and a replica that begins anew at the log start knows nothing of their producers, so a retry may repeat a message."
	}
	if class == Duplicate {
		return "A producer that sends a value again without idempotence has it written at least once, so the value may stand twice."
	}
	return c.Because
}

// terms tells a contract in full, for who compares it with another.
func (c Contract) terms() string {
	text := fmt.Sprintf("acks %d, min.insync.replicas %d of %d", c.Acks, c.MinISR, c.Factor)
	for _, t := range []struct {
		holds bool
		words string
	}{
		{c.ELR, "eligible leader replicas"}, {c.Unclean, "unclean elections"}, {c.Idempotent, "idempotence"}, {c.Retries, "retries"},
		{c.Removes, "old records removed"}, {!c.WithinBudget, "beyond the fault budget"}, {c.Durable, "durable"}, {c.Ordered, "ordered"},
		{c.ExactlyOnce, "exactly once"}, {c.CommittedReads, "committed reads stay"},
	} {
		if t.holds {
			text += ", " + t.words
		}
	}
	if c.ReadBound > 0 {
		text += fmt.Sprintf(", reads within %v", c.ReadBound)
	}
	return text
}
