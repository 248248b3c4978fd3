package config

import (
	"errors"
	"fmt"
	"strings"
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

// distanceMax is how many characters a key may be off to be what was meant: enough to lack its unit, as in replica.lag.time.max.
const distanceMax = 3

// nearest names the key that an unknown one is a slip of the pen away from, for the error; nothing if there is none.
func nearest(name string) string {
	best, least := "", distanceMax+1
	for _, k := range keys {
		if d := len(k.name) - len(name); d > distanceMax || -d > distanceMax {
			continue
		}
		if d := distance(name, k.name); d < least {
			best, least = k.name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance counts the characters to insert, remove or replace that make a b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0] // of the row before, one to the left
		row[0] = i + 1
		for j := range len(b) {
			replaced := above
			if a[i] != b[j] {
				replaced++
			}
			above = row[j+1]
			row[j+1] = min(replaced, above+1, row[j]+1)
		}
	}
	return row[len(b)]
}
