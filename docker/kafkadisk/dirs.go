package kafkadisk

import (
	"regexp"
	"strconv"
	"strings"

	"tidemark/history"
)

// beingRemoved matches a directory that is no replica of its broker's: one that is being deleted (-delete), that is filled to replace another
// (-future, moves between log directories), or that the broker found to be nobody's (-stray). As LocalLog.java and UnifiedLog.java name
// them: the partition's own name, a dot, an id, the suffix.
var beingRemoved = regexp.MustCompile(`^(\S+)-(\S+)\.(\S+)-(delete|future|stray)$`)

// partitionOf reads the name of a replica's directory, topic-index; false if it names none, or none that the broker serves.
func partitionOf(dir string) (history.Partition, bool) {
	i := strings.LastIndexByte(dir, '-')
	if i <= 0 || beingRemoved.MatchString(dir) {
		return history.Partition{}, false
	}
	digits := dir[i+1:]
	index, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || index < 0 || strconv.FormatInt(index, 10) != digits {
		return history.Partition{}, false
	}
	return history.Partition{Topic: dir[:i], Index: int32(index)}, true
}

// internal reports whether a topic is the brokers' own (Topic.java, and the controller quorum's log): its records are nobody's data.
func internal(topic string) bool { return strings.HasPrefix(topic, "__") }
