package log

import (
	"reflect"
	"strings"
	"testing"

	"tidemark/broker/kafka"
)

func TestOffsetCheckpoint(t *testing.T) {
	offsets := map[kafka.TopicPartition]kafka.Offset{{Topic: "orders", Index: 10}: 5, {Topic: "orders", Index: 2}: 1 << 40, {Topic: "a.b-c_d", Index: 0}: 0}
	const text = "0\n3\na.b-c_d 0 0\norders 2 1099511627776\norders 10 5\n"
	if got := string(FormatOffsets(offsets)); got != text {
		t.Errorf("rendered %q, expected %q", got, text)
	}
	for _, s := range []string{text, strings.TrimSuffix(text, "\n")} {
		if got, err := ParseOffsets([]byte(s)); err != nil || !reflect.DeepEqual(got, offsets) {
			t.Errorf("%q parsed as %v, %v", s, got, err)
		}
	}
}

// TestBadCheckpoints: each error names its line and what was expected there.
func TestBadCheckpoints(t *testing.T) {
	offsets := func(b []byte) error { _, err := ParseOffsets(b); return err }
	epochs := func(b []byte) error { _, err := ParseEpochs(b); return err }
	for _, c := range []struct {
		parse      func([]byte) error
		text, want string
	}{
		{offsets, "", `line 1: "", expected version`},
		{offsets, "\x00\x00\x00\x00", `line 1`},
		{offsets, "1\n0\n", `line 1: "1", expected version 0`},
		{offsets, "0\n", `line 2: "", expected the number of entries`},
		{offsets, "0\nx\n", `line 2: "x", expected number of entries`},
		{offsets, "0\n2\na 0 1\n", `line 2: 2 entries announced, expected 1`},
		{offsets, "0\n1\na 0 1\nb 0 1\n", `line 2: 1 entries announced, expected 2`},
		{offsets, "0\n0\n\n", `line 2: 0 entries announced, expected 1`},
		{offsets, "0\n1\na 0\n", `line 3: "a 0", expected "<topic> <partition> <offset>"`},
		{offsets, "0\n1\n 0 1\n", `line 3: " 0 1", expected "<topic>`},
		{offsets, "0\n1\na -1 1\n", `line 3: "-1", expected partition`},
		{offsets, "0\n1\na 0 01\n", `line 3: "01", expected offset`},
		{offsets, "0\n1\na 0 9223372036854775808\n", `line 3: "9223372036854775808", expected offset`},
		{offsets, "0\n2\na 0 1\na 0 1\n", `line 4: "a 0 1", expected a partition that no line before names`},
		{epochs, "0\n1\n0\n", `line 3: "0", expected "<epoch> <start offset>"`},
		{epochs, "0\n1\n0 0 0\n", `line 3: "0 0", expected start offset`},
		{epochs, "0\n2\n3 5\n3 6\n", `line 4: "3 6", expected epoch and offset above 3 and 5`},
		{epochs, "0\n2\n3 5\n4 5\n", `line 4: "4 5", expected epoch and offset above 3 and 5`},
	} {
		if err := c.parse([]byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, expected %s…", c.text, err, c.want)
		}
	}
}

func TestCleanShutdownMarker(t *testing.T) {
	const text = `{"version":0,"brokerEpoch":42}`
	if got := string(FormatCleanShutdown(42)); got != text {
		t.Errorf("rendered %s, expected %s", got, text)
	}
	if e, err := ParseCleanShutdown([]byte(text + "\n")); err != nil || e != 42 {
		t.Errorf("parsed as %d, %v", e, err)
	}
	for _, s := range []string{"", "{}", `{"version":0}`, `{"brokerEpoch":1}`, `{"version":1,"brokerEpoch":1}`, `{"version":0,"brokerEpoch":-2}`,
		text + text, `{"version":0,"brokerEpoch":"x"}`, "\x00\x00"} {
		if e, err := ParseCleanShutdown([]byte(s)); err == nil {
			t.Errorf("%q parsed as %d", s, e)
		}
	}
}
