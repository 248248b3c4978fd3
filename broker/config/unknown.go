package config

import (
	"errors"
	"fmt"
	"strings"

	"tidemark/broker/near"
)

// unknownKeys gathers the keys of a text that are not known, so that someone who brings a file of Kafka's is told of all at once.
type unknownKeys struct {
	found []unknownKey
	more  int
}

type unknownKey struct {
	line int
	name string
}

// What bounds the list of an error: so many keys, and bytes.
const (
	unknownMax = 30
	listMax    = 1000
)

func (u *unknownKeys) add(line int, name string) {
	if len(u.found) == unknownMax {
		u.more++
		return
	}
	u.found = append(u.found, unknownKey{line, name})
}

// err is nil where every key is known.
func (u *unknownKeys) err() error {
	switch n := len(u.found); n {
	case 0:
		return nil
	case 1:
		k := u.found[0]
		return fmt.Errorf("line %d: unknown configuration key %q%s; remove it; --print lists the keys that are known", k.line, short(k.name), nearest(k.name))
	default:
		var text strings.Builder
		fmt.Fprintf(&text, "%d unknown configuration keys; remove them; --print lists the keys that are known:", n+u.more)
		more := u.more
		for i, k := range u.found {
			line := fmt.Sprintf("\n  line %d: %q%s", k.line, short(k.name), nearest(k.name))
			if text.Len()+len(line) > listMax {
				more += n - i
				break
			}
			text.WriteString(line)
		}
		if more > 0 {
			fmt.Fprintf(&text, "\n  and %d more", more)
		}
		return errors.New(text.String())
	}
}

// nearest names the key that an unknown one is a slip of the pen away from, for the error; nothing if there is none.
func nearest(name string) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return near.Hint(name, names)
}
