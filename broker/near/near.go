// Package near finds the name that a misspelt one was meant to be, for errors.
package near

import "fmt"

// distanceMax is how many characters a name may be off to be what was meant: enough for a key to lack its unit, as in replica.lag.time.max.
const distanceMax = 3

// Hint is " (did you mean X?)" with the name that the misspelt one is a slip of the pen away from, the first of several; "" if there is none.
func Hint(misspelt string, names []string) string {
	best, least := "", distanceMax+1
	for _, name := range names {
		if d := len(name) - len(misspelt); d > distanceMax || -d > distanceMax {
			continue
		}
		if d := distance(misspelt, name); d < least {
			best, least = name, d
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
