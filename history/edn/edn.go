// Package edn reads and writes histories in the format of Jepsen's Kafka workload, so that either checker can judge what the other
// recorded. The format is what jepsen/src/jepsen/tests/kafka.clj of jepsen-io/jepsen documents of its operations and expects of them, the
// clients of jepsen-io/redpanda (src/jepsen/redpanda/workload/queue.clj) record, and src/jepsen/history.clj of jepsen-io/history makes of
// them: EDN, one map an operation's invocation or completion, one behind the other or in one vector, with or without the tag
// #jepsen.history.Op.
//
// # What is read
//
//	:type       invoke, ok, fail (definitely without effect), info (unknown)
//	:f          send, poll, txn, assign, subscribe; crash and debug-topic-partitions, which only occupy their process
//	:process    a number, or :nemesis; :tidemark in files that tidemark wrote
//	:value      of send, poll and txn: micro-operations [:send k v] → [:send k [offset v]], [:poll] → [:poll {k [[offset v] ...]}]
//	:time       nanoseconds; where it is missing or falls, that of the entry before holds
//	:index      rises
//	:error      as text
//	:seek-to-beginning?, :rebalance-log    where a consumer reads from
//
// Other fields are left out. A key is a partition: a number k of topic "key", or of the run's topic where tidemark wrote the file, unless
// that tells it to be another's; any other key is partition 0 of a topic that is named as the key is written. A message's value is the text that it is written with, so 5
// and "5" are different.
//
// # What is mapped, and with which loss
//
// Each micro-operation becomes an operation of its own, and so does each key of a poll's answer; those of one entry stand side by side
// under its process. That a transaction takes effect as a whole, or shows nothing of itself to itself, is not judged. A poll that returned
// records returned them, whatever its operation's :type; an offset is believed of a send that is ok, and left out of others.
//
// The format does not tell where a poll began. A consumer goes on where its last answer ended, as KafkaConsumer.assign keeps the positions
// of partitions that stay assigned, or from offset 0 after :seek-to-beginning?. After a subscribe, a rebalance, an operation that is not ok,
// or an assignment of a key that it did not have, it begins at the first record that it returned.
//
// The nemesis' operations become faults; that one took effect is its own word, as there is no probe. A completion that is missing leaves
// its operation pending.
//
// # The end of the log
//
// Jepsen's histories have no final reads that are marked as such. As there, the log at the end is what all answers together showed, the last
// answer at each offset: it is added as final reads of no process (-1), behind all else, over just those stretches of offsets that answers
// went through. What lies between two answers of a subscribed consumer its group went through, unless a poll of a subscribed consumer failed.
// So an acknowledged message that answers passed over and none returned is lost; of one beyond the last answer nothing is known.
package edn

import (
	"fmt"
	"io"

	"tidemark/history"
)

// Limits on what is read. The forms of one entry take some forty bytes of memory for each of its own.
const (
	inputBytesMax = 4 << 30
	entryBytesMax = 16 << 20
	tokenBytesMax = 1 << 20
	depthMax      = 64
)

// Topic is the topic that keys which are numbers are partitions of, where the file does not name one.
const Topic = "key"

// Assumed says under which promises a history is judged that does not tell them.
const Assumed = "The history does not tell how the log was set up; as in Jepsen's own checker, what was acknowledged is to stay, as under acks=all with clean elections."

// Origins is, of each operation of a history that was read, by its ID, the :index of the entry that invoked it (its place from 0 where the
// file has none), or -1 of a final read that was added.
type Origins []int64

// Added counts the final reads that stand in no file.
func (o Origins) Added() (n int) {
	for _, index := range o {
		if index < 0 {
			n++
		}
	}
	return n
}

// Read reads a history. The run holds what the file tells of it: all, if tidemark wrote it; otherwise keys and processes, with acks=all
// assumed and no world. An error names the line, the column (in characters) and what was expected there.
func Read(r io.Reader) (history.Run, *history.History, error) {
	run, h, _, err := read(r)
	return run, h, err
}

func read(r io.Reader) (history.Run, *history.History, Origins, error) {
	p := &parser{input: newInput(r)}
	p.passMark()
	b := newBuilder(p)
	for {
		ok, err := b.p.next()
		if err == nil && ok {
			err = b.entry()
		}
		if err != nil {
			return history.Run{}, nil, nil, fmt.Errorf("reading EDN: %w", err)
		}
		if !ok {
			run, h, origins := b.finish()
			return run, h, origins, nil
		}
	}
}

// ReadFile opens path and reads it.
func ReadFile(path string) (history.Run, *history.History, Origins, error) {
	f, err := history.OpenFile(path)
	if err != nil {
		return history.Run{}, nil, nil, fmt.Errorf("reading EDN: %w", err)
	}
	defer f.Close()
	run, h, origins, err := read(f)
	if err != nil {
		return history.Run{}, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return run, h, origins, nil
}
