package checker

import (
	"strconv"
	"strings"
	"time"
)

// clock writes nanoseconds since the run's start as seconds.
func clock(nanos int64) string {
	return strconv.FormatFloat(time.Duration(nanos).Seconds(), 'f', 3, 64) + "s"
}

// upper begins a text with a capital letter.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// sentence ends a text with a full stop.
func sentence(s string) string {
	s = upper(strings.TrimSpace(s))
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
