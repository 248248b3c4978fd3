package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/near"
	"tidemark/checker"
	"tidemark/history/keys"
)

// Known is a failure that is expected for the time being.
type Known struct {
	Signature string `json:"signature"` // see Signature; one that ends with ": *" stands for all that begin with what is before the *
	Reason    string `json:"reason"`    // why it may stay, in a sentence
	Expires   string `json:"expires"`   // the last day on which it is expected, as 2026-12-31
}

// ReadKnown reads a list of known failures: a JSON array of objects with signature, reason and expires. The error names the line, the
// entry, what is wrong with it and what was expected.
func ReadKnown(text []byte) ([]Known, error) {
	var list []Known
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(&list)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty, expected a JSON array of {signature, reason, expires}, which may be []")
	case errors.As(err, &kind):
		return nil, fmt.Errorf("byte %d: a JSON %s, expected an array of {signature, reason, expires}, all of them strings", kind.Offset, kind.Value)
	case err != nil:
		return nil, fmt.Errorf("expected a JSON array of {signature, reason, expires}: %.300s", err.Error())
	case list == nil:
		return nil, errors.New("null, expected a JSON array of {signature, reason, expires}, which may be []")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("expected the end of the file at byte %d, after the array", dec.InputOffset())
	}
	if err := keys.Once(text); err != nil {
		return nil, err
	}
	lines := entryLines(text)
	for i, k := range list {
		if err := k.check(); err != nil {
			return nil, fmt.Errorf("line %d, entry %d: %w", lines[i], i+1, err)
		}
	}
	seen := map[string]int{}
	for i, k := range list {
		if was, twice := seen[k.Signature]; twice {
			return nil, fmt.Errorf("line %d, entry %d: signature %.300q, which entry %d has already, in line %d", lines[i], i+1, k.Signature, was+1, lines[was])
		}
		seen[k.Signature] = i
	}
	return list, nil
}

// entryLines are the lines in which the elements of a JSON array begin.
func entryLines(text []byte) (lines []int) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	for dec.More() {
		var entry json.RawMessage
		if dec.Decode(&entry) != nil {
			break
		}
		lines = append(lines, keys.Line(text, int(dec.InputOffset())-len(entry)))
	}
	return lines
}

// check looks at one entry. The error says what is wrong with it and what was expected.
func (k Known) check() error {
	if _, err := time.Parse(time.DateOnly, k.Expires); err != nil {
		return fmt.Errorf("expires %.40q, expected a date as 2026-12-31", k.Expires)
	}
	if strings.TrimSpace(k.Signature) == "" || strings.TrimSpace(k.Reason) == "" {
		return fmt.Errorf("signature %.300q and reason %.300q, expected both", k.Signature, k.Reason)
	}
	if head, _, found := strings.Cut(k.Signature, "*"); found && (head+"*" != k.Signature || len(head) < 3 || !strings.HasSuffix(head, ": ")) {
		return fmt.Errorf("signature %.300q, expected a * at its end alone, behind a class and a colon, as in \"phantom: *\"", k.Signature)
	}
	return excusable(k.Signature)
}

// excusable says why no failure can have a signature: what begins none is misspelt, or of another version, and would excuse nothing.
func excusable(signature string) error {
	var heads []string
	for _, class := range checker.Classes {
		heads = append(heads, string(class))
	}
	for _, status := range []BugStatus{BugOtherClass, BugMissed, BugAnyway} {
		heads = append(heads, string(status))
	}
	head, rest, _ := strings.Cut(signature, ": ")
	if i := slices.Index(heads, head); i >= len(checker.Classes) && rest != "*" {
		if _, ok := bug.Find(bug.Name(rest)); !ok {
			_, err := bug.Parse(rest)
			return fmt.Errorf("signature %.300q: %w", signature, err)
		}
	}
	part := func(doubt string) bool { return strings.HasPrefix(signature, doubt+" in ") }
	if slices.Contains(heads, head) || part(doubtVacuous) || part(doubtNoRun) {
		return nil
	}
	return fmt.Errorf("signature %.300q begins with no class of anomaly: %.100q%s, expected one of %s; or \"%s in\" or \"%s in\" and a part",
		signature, head, near.Hint(head, heads), strings.Join(heads, ", "), doubtVacuous, doubtNoRun)
}

// OfBug is the known bug whose search the entry is about, and whether it is about one.
func (k Known) OfBug() (name string, is bool) {
	head, name, _ := strings.Cut(k.Signature, ": ")
	return name, name != "*" && slices.Contains([]BugStatus{BugOtherClass, BugMissed, BugAnyway}, BugStatus(head))
}

// Matches reports whether a failure of a signature is one that is expected.
func (k Known) Matches(signature string) bool {
	if head, all := strings.CutSuffix(k.Signature, "*"); all {
		return strings.HasPrefix(signature, head)
	}
	return k.Signature == signature
}

// knownOn is why a signature is expected on a day, and until which; expired tells of an entry that was, up to another day. All are "" for a
// failure that nobody knows.
func knownOn(list []Known, signature string, today time.Time) (reason, until, expired string) {
	day := today.UTC().Format(time.DateOnly)
	for _, k := range list {
		switch {
		case !k.Matches(signature):
		case day <= k.Expires:
			return k.Reason, k.Expires, ""
		default:
			expired = fmt.Sprintf("it was expected until %s, today is %s: %s", k.Expires, day, k.Reason)
		}
	}
	return "", "", expired
}
