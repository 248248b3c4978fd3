package history

import "testing"

// TestIncarnation: a topic's incarnations have names of their own, which tell the topic.
func TestIncarnation(t *testing.T) {
	one, other := Incarnation("again", [16]byte{0x1f, 0x3a, 9, 0xc2, 1}), Incarnation("again", [16]byte{0x1f, 0x3a, 9, 0xc3})
	if one != "again@1f3a09c2" || one == other {
		t.Errorf("incarnations %s and %s, expected again@1f3a09c2 and another", one, other)
	}
	if topic, ok := Incarnated(one); !ok || topic != "again" {
		t.Errorf("%s is of topic %q (%v), expected again", one, topic, ok)
	}
	if topic, ok := Incarnated("orders"); ok {
		t.Errorf("orders is an incarnation of %q, expected none", topic)
	}
}
