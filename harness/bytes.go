package harness

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are the suffixes of a number of bytes, as containers' limits are written.
var units = []struct {
	suffix string
	bytes  int64
}{{"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}, {"", 1}}

// Bytes is a number of bytes as ParseBytes reads it, in the largest unit that divides it.
func Bytes(n int64) string {
	for _, u := range units {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

// ParseBytes reads a number of bytes: a whole number, with k, m or g behind it in units of 1024, 1024² or 1024³.
func ParseBytes(text string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(strings.ToLower(text), u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("%q, expected a number of bytes such as 512m, 1g or 268435456", text)
}
