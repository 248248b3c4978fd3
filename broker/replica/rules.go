package replica

import (
	"slices"
	"time"

	"tidemark/broker/kafka"
)

// This file is the protocol's specification: each safety decision as one function over plain values. Nothing here looks at a
// partition, a log or a clock; what calls these gathers the values. The rules are those of Kafka 3.9 and 4.x.

// effectiveMinISR is min.insync.replicas, but never more than there are replicas (Kafka's Partition.effectiveMinIsr).
func effectiveMinISR(configured, replicas int) int { return min(configured, replicas) }

// admitAppend says whether a leader may append a producer's batches: acks must be 0, 1 or -1, and acks=all needs
// min.insync.replicas members in the committed ISR before anything is written (NOT_ENOUGH_REPLICAS is a definite failure).
func admitAppend(acks int16, leads bool, isrSize, minISR int) kafka.Code {
	switch {
	case !acksValid(acks):
		return kafka.InvalidRequiredAcks
	case !leads:
		return kafka.NotLeaderOrFollower
	case acks == acksAll && isrSize < minISR:
		return kafka.NotEnoughReplicas
	default:
		return kafka.None
	}
}

// acksAll is acks=all on the wire.
const acksAll int16 = -1

// acksValid reports whether acks is 0, 1 or all.
func acksValid(acks int16) bool { return acks >= -1 && acks <= 1 }

// admitEpoch compares the leader epoch that a request was made in with the replica's own (KIP-320). NoEpoch does not ask.
func admitEpoch(asked, own kafka.Epoch) kafka.Code {
	switch {
	case asked == kafka.NoEpoch || asked == own:
		return kafka.None
	case asked < own:
		return kafka.FencedLeaderEpoch
	default:
		return kafka.UnknownLeaderEpoch
	}
}

// admitConsumerFetch says whether a replica may serve a consumer: the leader, or, to a consumer that knows of it, any that has heard
// of its part in some epoch (KIP-392; Kafka's Partition.localLogWithEpochOrThrow). Its high watermark may lag, which makes reads stale, not wrong.
func admitConsumerFetch(leads, assigned, followersToo bool) kafka.Code {
	if leads || assigned && followersToo {
		return kafka.None
	}
	return kafka.NotLeaderOrFollower
}

// admitReplicaFetch says whether a leader may serve a follower's fetch, and so count what the follower says of itself. The epoch
// must be equal: a follower of an older epoch may still hold records that it is about to truncate (KAFKA-7395). The follower
// must be assigned (KAFKA-1097), and not be an incarnation older than the registered one, whose log may be gone (KIP-903).
func admitReplicaFetch(leads bool, asked, own kafka.Epoch, assigned bool, sent, registered kafka.BrokerEpoch) kafka.Code {
	switch {
	case asked < own:
		return kafka.FencedLeaderEpoch
	case asked > own:
		return kafka.UnknownLeaderEpoch
	case !leads || !assigned || sent < registered:
		return kafka.NotLeaderOrFollower
	default:
		return kafka.None
	}
}

// diverges reports whether a follower's log leaves the leader's: found and end answer the follower's last fetched epoch from the
// leader's epoch cache (the largest epoch up to the asked one, and where it ends). If so, nothing of the follower may be credited
// (KIP-595, KAFKA-13141).
func diverges(lastFetched kafka.Epoch, fetchOffset kafka.Offset, found kafka.Epoch, end kafka.Offset) bool {
	return found < lastFetched || end < fetchOffset
}

// caughtUp reports whether a follower keeps up with its leader (Kafka's Replica.isCaughtUp): it has everything, or was last
// known to have everything at most lagTimeMax ago. With lagMessagesMax it must also be at most so many records behind, as before
// Kafka 0.9; 0 is off.
func caughtUp(leo, leaderEnd kafka.Offset, sinceCaughtUp, lagTimeMax time.Duration, lagMessagesMax int64) bool {
	if leo == leaderEnd {
		return true
	}
	if lagMessagesMax > 0 && int64(leaderEnd-max(leo, 0)) > lagMessagesMax {
		return false
	}
	return sinceCaughtUp <= lagTimeMax
}

// eligible reports whether the controller would take a replica into the ISR: registered, not fenced, not in controlled
// shutdown, and the incarnation that fetched is the registered one (KIP-841, KIP-903).
func eligible(registered, fenced, stopping bool, sent, epoch kafka.BrokerEpoch) bool {
	return registered && !fenced && !stopping && sent == epoch
}

// mayJoin says whether a leader may ask for a follower to be added to the ISR. Reaching the high watermark is not enough: after an
// election it may lie behind what was acknowledged, which the start of the leader's epoch does not (KAFKA-7128). One change of
// the ISR at a time.
func mayJoin(leo, hw, epochStart kafka.Offset, eligible, inFlight bool) bool {
	return leo >= hw && leo >= epochStart && eligible && !inFlight
}

// maximalISR is everyone who may be in the ISR by what the controller was asked: the committed members, the pending ones, and those
// in doubt.
func maximalISR(isr, pending, doubtful []kafka.BrokerID) []kafka.BrokerID {
	all := isr
	for _, set := range [...][]kafka.BrokerID{pending, doubtful} {
		for _, b := range set {
			if !slices.Contains(all, b) {
				all = append(slices.Clip(all), b)
			}
		}
	}
	return all
}

// inDoubt says, when a proposal was refused (INELIGIBLE_REPLICA), who must stay in the maximal ISR all the same. The refusal answers
// one copy of the request. An earlier copy whose outcome is unknown may still be on its way, and is accepted as long as the
// partition epoch that it names stands, for instance because a broker that was fenced is back. While anyone is in doubt, the leader
// makes the partition epoch move: it proposes the committed ISR, for which the controller advances it too.
func inDoubt(isr, pending, doubtful []kafka.BrokerID, outcomeUnknown bool) []kafka.BrokerID {
	if !outcomeUnknown {
		return doubtful
	}
	return maximalISR(isr, pending, doubtful)[len(isr):]
}

// provesRefused says whether a partition epoch that the controller told rules out that a copy of a request which named an earlier one
// is ever accepted (compare and set).
func provesRefused(told, named int32) bool { return told > named }

// countsForHW says whether the high watermark waits for a replica: every member of the maximal ISR (committed, pending and in
// doubt, as the controller may have accepted what is pending, or may yet), and every eligible replica that keeps up and is about to join.
func countsForHW(inMaximalISR, caughtUp, eligible bool) bool {
	return inMaximalISR || caughtUp && eligible
}

// hwMayAdvance says whether a leader may move its high watermark: only while the committed ISR has min.insync.replicas members
// (KIP-966, KAFKA-15583). In classic mode, as before Kafka 4.0, any ISR will do.
func hwMayAdvance(isrSize, minISR int, classic bool) bool { return classic || isrSize >= minISR }

// leaderHW is the high watermark after a look at the smallest LEO of all that count (the leader's own included): it never
// goes back within an epoch.
func leaderHW(old, smallestLEO kafka.Offset) kafka.Offset { return max(old, smallestLEO) }

// followerHW is what a follower makes of the high watermark in a fetch response, after it truncated or appended: never
// beyond its own log, and never back, as what was committed stays committed.
func followerHW(old, leaders, leo kafka.Offset) kafka.Offset { return min(max(old, leaders), leo) }

// ack says whether an acks=all append is to be answered, and how. The high watermark counts only for the leader in whose
// epoch the batch was appended: in a later epoch another record may stand at its offset (KAFKA-2960). Then min.insync.replicas
// is asked again: a write that fewer replicas hold is no success (NOT_ENOUGH_REPLICAS_AFTER_APPEND, an indefinite failure).
func ack(sameEpoch bool, hw, required kafka.Offset, isrSize, minISR int) (done bool, code kafka.Code) {
	switch {
	case !sameEpoch:
		return true, kafka.NotLeaderOrFollower
	case hw < required:
		return false, kafka.None
	case isrSize < minISR:
		return true, kafka.NotEnoughReplicasAfterAppend
	default:
		return true, kafka.None
	}
}

// answersRequest reports whether a fetch response still fits the follower: since it asked, neither its epoch nor its log end
// has changed. Otherwise the response speaks of another log (KAFKA-18723).
func answersRequest(askedEpoch, epoch kafka.Epoch, askedOffset, leo kafka.Offset) bool {
	return askedEpoch == epoch && askedOffset == leo
}

// mayAppendFetched reports whether a fetched batch may be appended by a follower that asked in an epoch: no record is
// younger than the leader that sent it (KAFKA-18723).
func mayAppendFetched(batch, asked kafka.Epoch) bool { return batch >= 0 && batch <= asked }

// truncationTarget is where a follower cuts its log after a diverging-epoch answer: the end that the leader gave, or where the
// follower's own log leaves that epoch (or ends), whichever is smaller (KIP-279). ownFound says whether the follower knows any epoch up to the given one.
func truncationTarget(given, ownEpochEnd kafka.Offset, ownFound bool, leo kafka.Offset) kafka.Offset {
	if !ownFound {
		return min(given, leo)
	}
	return min(given, ownEpochEnd, leo)
}

// recoveredHW is the high watermark of a replica that was opened: the checkpointed one, inside the log.
func recoveredHW(checkpoint, start, end kafka.Offset) kafka.Offset {
	return min(max(checkpoint, start), end)
}

// deletionPoint is where a log is to begin after a DeleteRecords: at the offset that was asked for, or for -1 at the high watermark, never
// beyond that (Partition.deleteRecordsOnLeader, KIP-107).
func deletionPoint(asked, hw kafka.Offset) (to kafka.Offset, ok bool) {
	if asked == -1 {
		return hw, true
	}
	return asked, asked >= 0 && asked <= hw
}

// hwReadable reports whether a leader can serve fetches: each looks up where in the log the high watermark stands, which cannot be found
// below the log start (UnifiedLog.fetchHighWatermarkMetadata). It always can, unless something is wrong (KAFKA-9491, KAFKA-5634).
func hwReadable(hw, start kafka.Offset) bool { return hw >= start }

// consumerBound is the offset below which a fetch may read: a consumer sees only what is committed, a follower everything.
func consumerBound(follower bool, hw, leo kafka.Offset) kafka.Offset {
	if follower {
		return leo
	}
	return hw
}

// latestKnown reports whether a leader can tell clients what its latest committed offset is: after an election its high
// watermark may lag behind one that a consumer has seen, until it reaches the start of the epoch (KIP-207).
func latestKnown(hw, epochStart kafka.Offset) bool { return hw >= epochStart }

// mayServe reports whether an incarnation may act on the metadata it has: not before it contains its own registration. Older
// metadata may name it leader or sole in-sync replica in an epoch that is over.
func mayServe(own, registered kafka.BrokerEpoch) bool {
	return own != kafka.NoBrokerEpoch && own == registered
}
