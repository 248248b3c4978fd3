package index

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"time"

	"tidemark/history/plain"
)

// counted is a number of things in words.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return grouped(n) + " " + what + "s"
}

// grouped is a number with its digits in groups of three.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// lasted is a length of time as people read it.
func lasted(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// size is a number of bytes as people read it.
func size(bytes int64) string {
	switch {
	case bytes < 1e3:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1e6:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	case bytes < 1e9:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	default:
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	}
}

// markdown is a text that GitHub's Markdown shows as it is: every character that could begin a mark stands as a reference, which is never one.
func markdown(text string) string {
	var out strings.Builder
	for _, r := range plain.Line(text) {
		if strings.ContainsRune("\\`*_{}[]()<>#+-!|~$&:@\"'=^/", r) {
			fmt.Fprintf(&out, "&#%d;", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// code is a text in a code element of GitHub's Markdown, in which addresses and names of users mean nothing either.
func code(text string) string { return "<code>" + markdown(text) + "</code>" }

// block is a text of several lines in a block that is shown as it is.
func block(text string) string {
	return "<pre>" + html.EscapeString(plain.Lines(strings.TrimRight(text, "\n"))) + "</pre>"
}
