package config

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Pair is a configuration key with its value as text.
type Pair struct{ Key, Value string }

// sizeMax bounds a properties text.
const sizeMax = 1 << 20

// Set changes one key of c. The error names key, value and what was expected.
func (c *Config) Set(name, value string) error {
	k, ok := find(name)
	if !ok {
		return fmt.Errorf("unknown configuration key %q%s; tidemark broker --print lists the keys that are known", short(name), nearest(name))
	}
	if err := k.set(c, strings.TrimSpace(value)); err != nil {
		return fmt.Errorf("configuration key %s: %w", name, err)
	}
	return nil
}

// With returns c with every pair of overrides set, in order of key.
func (c Config) With(overrides map[string]string) (Config, error) {
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if err := c.Set(name, overrides[name]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Pairs lists every key with its value, by name (DescribeConfigs).
func (c *Config) Pairs() []Pair {
	out := make([]Pair, len(keys))
	for i, k := range keys {
		out[i] = Pair{k.name, k.get(c)}
	}
	return out
}

// CheckTopic reports whether a key may be set on a topic and the value fits it; the error names what was expected.
func CheckTopic(name, value string) error {
	k, ok := find(name)
	if !ok || !k.perTopic {
		return fmt.Errorf("unknown topic configuration key %q, expected one of %v", short(name), topicKeys())
	}
	var scratch Config
	if err := k.set(&scratch, value); err != nil {
		return fmt.Errorf("topic configuration key %s: %w", name, err)
	}
	return nil
}

// ForTopic returns the configuration that holds for a topic: c, with the topic's own keys over it. Keys that CheckTopic
// refuses are passed over, as the controller never commits one.
func (c Config) ForTopic(configs map[string]string) Config {
	for _, k := range keys {
		if v, ok := configs[k.name]; ok && k.perTopic {
			_ = k.set(&c, v)
		}
	}
	return c
}

// Parse reads a properties text (key=value lines, # comments) over Kafka's defaults and checks the whole.
func Parse(text string) (Config, error) {
	c := Default()
	if len(text) > sizeMax {
		return c, fmt.Errorf("configuration of %d bytes, expected at most %d", len(text), sizeMax)
	}
	seen := map[string]int{}
	var strange unknownKeys
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, sizeMax+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "!") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok {
			return c, fmt.Errorf("line %d: %q, expected key=value", n, short(line))
		}
		if before := seen[name]; before != 0 {
			return c, fmt.Errorf("line %d: key %s stands on line %d already", n, short(name), before)
		}
		seen[name] = n
		if _, ok := find(name); !ok {
			strange.add(n, name)
			continue
		}
		if err := c.Set(name, value); err != nil {
			return c, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := strange.err(); err != nil {
		return c, err
	}
	c.completeListeners()
	return c, c.Check()
}

// Check reports what makes the whole unusable, although each key is well typed.
func (c *Config) Check() error {
	switch {
	case c.NodeID < 0:
		return errors.New("node.id is missing, expected a number from 0 up")
	case !c.Broker && !c.Controller:
		return errors.New("process.roles is empty, expected broker, controller or both")
	case len(c.Voters) == 0:
		return errors.New("controller.quorum.voters is missing, expected id@host:port,…")
	case c.Controller != c.isVoter():
		return fmt.Errorf("node %d: process.roles=%s, but controller.quorum.voters=%s", c.NodeID, getRoles(c), short(getVoters(c)))
	case c.BrokerHeartbeatInterval >= c.BrokerSessionTimeout:
		return fmt.Errorf("broker.heartbeat.interval.ms=%d, expected less than broker.session.timeout.ms=%d",
			c.BrokerHeartbeatInterval.Milliseconds(), c.BrokerSessionTimeout.Milliseconds())
	}
	return c.checkListeners()
}

func (c *Config) isVoter() bool {
	return slices.ContainsFunc(c.Voters, func(v Voter) bool { return v.ID == c.NodeID })
}

func find(name string) (key, bool) {
	i, ok := slices.BinarySearchFunc(keys, name, func(k key, s string) int { return strings.Compare(k.name, s) })
	if !ok {
		return key{}, false
	}
	return keys[i], true
}

func topicKeys() (out []string) {
	for _, k := range keys {
		if k.perTopic {
			out = append(out, k.name)
		}
	}
	return out
}

// short keeps an error readable whatever it quotes.
func short(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// PerTopic reports whether a key may be set on a topic.
func PerTopic(name string) bool {
	k, ok := find(name)
	return ok && k.perTopic
}
