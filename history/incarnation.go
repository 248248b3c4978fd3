package history

import (
	"encoding/hex"
	"strings"
)

// Incarnation is the name in the history of one incarnation of a topic that a run deletes and creates again: the topic's name, and the
// beginning of the id that the broker gave it (KIP-516). Each incarnation is a topic of its own to whoever judges the run.
func Incarnation(topic string, id [16]byte) string {
	return topic + "@" + hex.EncodeToString(id[:4])
}

// Incarnated is the name of the topic that an incarnation is of; false if it is none.
func Incarnated(name string) (topic string, ok bool) {
	topic, _, ok = strings.Cut(name, "@")
	return topic, ok
}
