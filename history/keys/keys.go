// Package keys looks at the keys of JSON. Go's decoder takes the last of two values under one key, and other programs the first, so a file that has a key twice
// says two things.
package keys

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Once looks whether every object of a JSON text has each key once, whatever the case of its letters, as Go's decoder looks at keys. The text must be
// JSON. The error names the line and the key.
func Once(text []byte) error {
	var objects []map[string]bool // the keys of those that are open, the innermost last; nil of an array
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			objects = append(objects, map[string]bool{})
		case '[':
			objects = append(objects, nil)
		case '}', ']':
			objects = objects[:max(0, len(objects)-1)]
		case '"':
			end := stringEnd(text, i)
			if n := len(objects); n > 0 && objects[n-1] != nil && isKey(text[end:]) {
				key := strings.ToLower(unquoted(text[i:end]))
				if objects[n-1][key] {
					return fmt.Errorf("line %d: the key %.80q a second time in one object, expected it once", Line(text, i), key)
				}
				objects[n-1][key] = true
			}
			i = end - 1
		}
	}
	return nil
}

// Told says why a JSON text could not be read, for whoever wrote it. Go's decoder tells of a number of 64 bits, which stands as text because JavaScript's
// numbers cannot hold it, by what the program's source says of it; fields names those.
func Told(err error, fields string) string {
	if strings.Contains(err.Error(), ",string struct tag") {
		return fields + ` is not a text of digits, expected one from "0" to "18446744073709551615", in quotes, as "42"`
	}
	return err.Error()
}

// Line is the number of the line, from 1, in which a byte of a text is.
func Line(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }

// stringEnd is the place behind the string that begins with a quotation mark at a place.
func stringEnd(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func isKey(behind []byte) bool {
	behind = bytes.TrimLeft(behind[:min(len(behind), 1<<10)], " \t\r\n")
	return len(behind) > 0 && behind[0] == ':'
}

func unquoted(quoted []byte) string {
	if key, err := strconv.Unquote(strings.ReplaceAll(string(quoted), `\/`, `/`)); err == nil {
		return key
	}
	return string(quoted)
}
