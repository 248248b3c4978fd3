package log

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
)

// This file is what a log knows of idempotent producers (KIP-98, Kafka's ProducerStateManager): for each the epoch and its last batches, by
// which a batch that is sent again is recognized. It is a function of the log: leader and followers change it with every batch that they
// append, and after a restart or a truncation it is read back from the log (snapshots.go).

// windowBatches is how many of a producer's last batches are known: as many as it may have under way on a connection
// (ProducerStateEntry.NUM_BATCHES_TO_RETAIN).
const windowBatches = 5

// producersMax bounds the producers that a log knows. Past it the tenth of them that wrote longest ago is forgotten, as if they had expired.
const producersMax = 100_000

// sequence is what a batch says of its idempotent producer.
type sequence struct {
	producer int64
	epoch    int16
	sequencedBatch
}

// sequencedBatch is a batch of an idempotent producer: the sequence numbers and the offsets of its first and last record.
type sequencedBatch struct {
	first, last int32
	base, end   kafka.Offset // end is behind the last
	at          int64        // its largest timestamp, milliseconds since 1970
}

// sequenceOf reads the header of a batch that starts, or is to start, at base. False if its producer is not idempotent.
func sequenceOf(h []byte, base kafka.Offset) (sequence, bool) {
	id := int64(binary.BigEndian.Uint64(h[atProducerID:]))
	if id == noProducer {
		return sequence{}, false
	}
	first, records := int32(binary.BigEndian.Uint32(h[atSequence:])), int32(binary.BigEndian.Uint32(h[atRecords:]))
	return sequence{
		producer: id, epoch: int16(binary.BigEndian.Uint16(h[atProducerEpoch:])),
		sequencedBatch: sequencedBatch{
			first: first, last: addSequence(first, records-1), base: base, end: base + kafka.Offset(records),
			at: int64(binary.BigEndian.Uint64(h[atMaxTime:])),
		},
	}, true
}

// noProducer is the producer id in the batches of a producer that is not idempotent.
const noProducer = -1

// addSequence is the sequence number n records behind s: 0 follows 2^31-1 (DefaultRecordBatch.incrementSequence).
func addSequence(s, n int32) int32 { return int32((int64(s) + int64(n)) & math.MaxInt32) }

// inSequence reports whether a batch that begins with next comes right behind one that ended with last.
func inSequence(last, next int32) bool { return next == addSequence(last, 1) }

// producer is what is known of one producer.
type producer struct {
	epoch   int16
	batches []sequencedBatch // of this epoch, oldest first, from one to windowBatches
	fresh   bool             // wrote since the last look at who is silent
	seen    time.Duration    // when that was
}

func (p *producer) newest() sequencedBatch { return p.batches[len(p.batches)-1] }

// producers are those of one log.
type producers struct {
	byID map[int64]*producer // nil until there is one; where its order matters it is sorted
	bug  *bug.Switch
}

// admit decides about a batch that a producer sent (ProducerAppendInfo.maybeValidateDataBatch): it is new and may be appended, or it is a
// copy of original, which was appended before, or it is refused: of an epoch that has passed, or not the next in sequence, as one before
// it is missing. A producer that the log does not know may begin with any sequence number, for what it wrote before may have been
// deleted; one with a new epoch begins with 0.
func (p *producers) admit(s sequence) (original sequencedBatch, copied bool, err error) {
	known := p.byID[s.producer]
	switch {
	case known == nil:
		return sequencedBatch{}, false, nil
	case s.epoch < known.epoch:
		return sequencedBatch{}, false, reject(kafka.InvalidProducerEpoch, "producer %d sends in epoch %d, expected at least %d", s.producer, s.epoch, known.epoch)
	case s.epoch > known.epoch && s.first != 0:
		return sequencedBatch{}, false, reject(kafka.OutOfOrderSequenceNumber, "producer %d begins epoch %d with sequence number %d, expected 0",
			s.producer, s.epoch, s.first)
	case s.epoch > known.epoch:
		return sequencedBatch{}, false, nil
	}
	if original, copied = p.find(known, s); copied {
		return original, true, nil
	}
	last := known.newest()
	if p.bug.Bites(bug.SequenceOverflow, s.last < last.last && inSequence(last.last, s.first)) {
		return last, true, nil
	}
	if !inSequence(last.last, s.first) {
		return sequencedBatch{}, false, reject(kafka.OutOfOrderSequenceNumber, "producer %d sends sequence number %d, expected %d",
			s.producer, s.first, addSequence(last.last, 1))
	}
	return sequencedBatch{}, false, nil
}

// find looks for a batch among the last ones of its producer: the same sequence numbers, from the first to the last.
func (p *producers) find(known *producer, s sequence) (sequencedBatch, bool) {
	for i, b := range known.batches {
		if b.first != s.first || b.last != s.last {
			continue
		}
		if p.bug.Bites(bug.WindowOfOne, i < len(known.batches)-1) {
			continue
		}
		return b, true
	}
	return sequencedBatch{}, false
}

// note takes down a batch that was appended.
func (p *producers) note(s sequence) {
	known := p.byID[s.producer]
	if known == nil {
		if p.byID == nil {
			p.byID = map[int64]*producer{}
		}
		if len(p.byID) >= producersMax {
			p.forgetOldest(producersMax / 10)
		}
		known = &producer{epoch: s.epoch}
		p.byID[s.producer] = known
	}
	if known.epoch != s.epoch {
		known.epoch, known.batches = s.epoch, known.batches[:0]
	}
	if len(known.batches) == windowBatches {
		known.batches = append(known.batches[:0], known.batches[1:]...)
	}
	known.batches = append(known.batches, s.sequencedBatch)
	known.fresh = true
}

// forgetOldest drops the n producers that wrote longest ago.
func (p *producers) forgetOldest(n int) {
	ids := slices.SortedFunc(maps.Keys(p.byID), func(a, b int64) int {
		return cmp.Compare(p.byID[a].newest().base, p.byID[b].newest().base) // no two begin at one offset
	})
	for _, id := range ids[:n] {
		delete(p.byID, id)
	}
}

// expire forgets who has been silent for longer than after. A producer counts as heard of at the first look after it wrote.
func (p *producers) expire(now, after time.Duration) {
	maps.DeleteFunc(p.byID, func(_ int64, known *producer) bool {
		if known.fresh {
			known.fresh, known.seen = false, now
		}
		return now-known.seen >= after
	})
}

// ExpireProducers forgets the idempotent producers that have not written for so long (producer.id.expiration.ms). It is to be called from
// time to time, with the broker's own clock: unlike Kafka, the timestamps that clients write into batches decide nothing.
func (l *Log) ExpireProducers(now, after time.Duration) { l.producers.expire(now, after) }

// Producers counts the idempotent producers that the log knows.
func (l *Log) Producers() int { return len(l.producers.byID) }

// Anticipate takes down batches that were not appended as if they had been, at the end of the log: a mistake that only a known bug makes
// (bug.StateBeforeAppend). It reports whether there was anything to take down that Append would take as new; without commit it only looks.
func (l *Log) Anticipate(batches []byte, commit bool) bool {
	b, err := parseWhole(batches)
	if err != nil || b.Size != len(batches) {
		return false
	}
	s, ok := sequenceOf(batches, l.end)
	if !ok {
		return false
	}
	if _, copied, err := l.producers.admit(s); err != nil || copied {
		return false
	}
	if commit {
		l.producers.note(s)
	}
	return true
}
