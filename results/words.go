package results

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/history/plain"
)

// seconds is a moment of the run as the page's script reads it: seconds with microseconds.
type seconds time.Duration

// MarshalJSON writes the seconds as a number.
func (s seconds) MarshalJSON() ([]byte, error) {
	return appendNumber(nil, time.Duration(s).Seconds(), 6), nil
}

// column is a column of numbers as the page's script reads it; NaN, a gap in a line, is null.
type column []float64

// MarshalJSON writes the numbers with at most three decimals.
func (c column) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 2+8*len(c)), '[')
	for i, x := range c {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendNumber(out, x, 3)
	}
	return append(out, ']'), nil
}

func appendNumber(out []byte, x float64, decimals int) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(out, "null"...)
	}
	scale := math.Pow10(decimals)
	return strconv.AppendFloat(out, math.Round(x*scale)/scale, 'f', -1, 64)
}

// clip shortens text to at most max runes, telling how many bytes it had, and makes it plain.
func clip(text string, max int) string {
	if len(text) <= max {
		return plain.Lines(text)
	}
	runes := 0
	for i := range text {
		if runes == max {
			return plain.Lines(text[:i]) + fmt.Sprintf("… (%d bytes)", len(text))
		}
		runes++
	}
	return plain.Lines(text)
}

func clipBytes(text string, max int) string {
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	return text[:max] + fmt.Sprintf("\n… (%d bytes in all)", len(text))
}

// at is a moment of the run as people read it, to the millisecond.
func at(t time.Duration) string { return strconv.FormatFloat(t.Seconds(), 'f', 3, 64) + " s" }

// inSeconds is a moment of the run as links to it have it.
func inSeconds(t time.Duration) string { return strconv.FormatFloat(t.Seconds(), 'f', 6, 64) }

// secondsWord is a length of time as people read it.
func secondsWord(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

func atNanos(nanos int64) string {
	if nanos < 0 {
		return "never"
	}
	return at(time.Duration(nanos))
}

// count groups digits by thousands.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func offsetWord(o history.Offset) string {
	if o < 0 {
		return "–"
	}
	return strconv.FormatInt(int64(o), 10)
}

// rangeWord names the offsets from first to last, both included.
func rangeWord(first, last history.Offset) string {
	if first == last {
		return "offset " + offsetWord(first)
	}
	return fmt.Sprintf("offsets %s to %s", offsetWord(first), offsetWord(last))
}

func epochWord(e history.Epoch) string {
	if e < 0 {
		return "–"
	}
	return strconv.Itoa(int(e))
}

func brokerWord(b history.BrokerID) string {
	if b < 0 {
		return "–"
	}
	return fmt.Sprintf("broker %d", b)
}

// brokersWord lists brokers as "1,2"; none is said to be none.
func brokersWord(bs []history.BrokerID) string {
	if len(bs) == 0 {
		return "none"
	}
	words := make([]string, len(bs))
	for i, b := range bs {
		words[i] = strconv.Itoa(int(b))
	}
	return strings.Join(words, ",")
}

func acksWord(acks int16) string {
	if acks == -1 {
		return "all"
	}
	return strconv.Itoa(int(acks))
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func kindWord(k history.OpKind) string {
	switch k {
	case history.Send:
		return "send"
	case history.Poll:
		return "poll"
	case history.Seek:
		return "seek"
	case history.ListOffsets:
		return "list offsets"
	case history.DeleteRecords:
		return "delete records"
	default:
		return fmt.Sprintf("kind %d", k)
	}
}

func outcomeWord(o history.Outcome) string {
	switch o {
	case history.Pending:
		return "pending"
	case history.OK:
		return "ok"
	case history.Fail:
		return "failed"
	case history.Info:
		return "unknown"
	default:
		return fmt.Sprintf("outcome %d", o)
	}
}

// stepWord tells a protocol step as a sentence without its time.
func stepWord(s history.Step) string {
	who := brokerWord(s.Broker)
	var text string
	switch s.Kind {
	case history.StepElection:
		text = fmt.Sprintf("%s became leader in epoch %s, its log ending at %s", who, epochWord(s.Epoch), offsetWord(s.To))
	case history.StepFollow:
		text = fmt.Sprintf("%s follows %s in epoch %s, its log ending at %s", who, brokerWord(s.Peer), epochWord(s.Epoch), offsetWord(s.To))
	case history.StepISR:
		text = fmt.Sprintf("the in-sync replicas became %s", brokersWord(s.ISR))
	case history.StepHW:
		text = fmt.Sprintf("%s moved its high watermark %s → %s", who, offsetWord(s.From), offsetWord(s.To))
	case history.StepAppend:
		text = fmt.Sprintf("%s appended %s in epoch %s", who, rangeWord(s.From, s.To-1), epochWord(s.Epoch))
	case checker.StepAck:
		text = fmt.Sprintf("%s acknowledged %s in epoch %s", who, rangeWord(s.From, s.From), epochWord(s.Epoch))
	case history.StepTruncate:
		text = fmt.Sprintf("%s truncated its log %s → %s", who, offsetWord(s.From), offsetWord(s.To))
	case history.StepTrim:
		text = fmt.Sprintf("%s moved its log start %s → %s", who, offsetWord(s.From), offsetWord(s.To))
	case history.StepStart:
		text = fmt.Sprintf("%s came up", who)
		if s.To >= 0 && s.Partition.Topic != "" {
			text += fmt.Sprintf(", its log ending at %s", offsetWord(s.To))
		}
	case history.StepDown:
		text = fmt.Sprintf("%s went down", who)
	case history.StepRecovery:
		text = fmt.Sprintf("%s lost its log's tail in recovery, %s → %s", who, offsetWord(s.From), offsetWord(s.To))
	case history.StepInvariant:
		return "an invariant is broken: " + clip(s.Detail, 300)
	default:
		text = fmt.Sprintf("%s: %s", who, clip(string(s.Kind), 60))
	}
	if s.Detail != "" {
		text += " (" + clip(s.Detail, 300) + ")"
	}
	return text
}

// boundWord is a bound that may be none.
func boundWord(d time.Duration) string {
	if d <= 0 {
		return "none"
	}
	return secondsWord(d)
}
