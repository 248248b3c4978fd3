package config

import (
	"strings"
	"testing"

	"tidemark/internal/garbage"
)

// TestGarbageConfigurations spoils a configuration that sets every key there is, and gives each key a value that is much too long.
func TestGarbageConfigurations(t *testing.T) {
	c := Default()
	for _, p := range several {
		if err := c.Set(p.Key, p.Value); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	for _, p := range c.Pairs() {
		text.WriteString(p.Key + "=" + p.Value + "\n")
	}
	inputs := garbage.Of([]byte(text.String()), 1)
	long := strings.Repeat("9", garbage.Large/2)
	for _, k := range keys {
		for _, value := range []string{"", "x", "-1", "2147483648", "9223372036854775808", "1@" + long + ":1", "PLAINTEXT://" + long, long, strings.Repeat("1@a:1,", 50_000),
			strings.Repeat("A://a:1,", 50_000), strings.Repeat("A:PLAINTEXT,", 50_000), strings.Repeat("A,", 50_000)} {
			inputs = append(inputs, garbage.Input{Name: k.name + "=" + value[:min(len(value), 20)], Kind: garbage.Noise, Data: []byte(k.name + "=" + value)})
		}
	}
	for _, line := range []string{long, long + "=1", long + "\n" + long, "node.id=1\nadvertised.listeners=PLAINTEXT://" + long + ":9\ncontroller.quorum.voters=2@" + long[:500_000] + ":1",
		"#" + strings.Repeat("x", sizeMax)} {
		inputs = append(inputs, garbage.Input{Name: line[:20] + " and more", Kind: garbage.Noise, Data: []byte(line)})
	}
	bound := garbage.Bound{Bytes: 256 << 10, Times: 64, Says: []string{"expected", "unknown configuration key", "stands on line", "twice", "more than"}}
	accepted, refused := bound.Hold(t, inputs, func(in garbage.Input) error {
		c, err := Parse(string(in.Data))
		if err != nil {
			return err
		}
		for _, p := range c.Pairs() {
			again := c
			if err := again.Set(p.Key, p.Value); err != nil {
				t.Errorf("%s: %s became %q, which is refused: %v", in.Name, p.Key, p.Value, err)
			}
		}
		return nil
	})
	if accepted == 0 || refused < 100 {
		t.Errorf("%d accepted, %d refused, expected some and at least 100", accepted, refused)
	}
}
