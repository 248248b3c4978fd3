package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// typedMax bounds what an error repeats of what was typed, in characters.
const typedMax = "%.80q"

// unread says of a flag whose value could not be read what was typed, and what was expected.
func unread(c *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return usage(fmt.Errorf("%w; see %s --help", err, c.CommandPath()))
	}
	f := bad.GetFlag()
	return usage(fmt.Errorf("--%s "+typedMax+", expected %s; see %s --help", f.Name, bad.GetValue(), expectedOf(f, errors.Is(err, strconv.ErrRange)), c.CommandPath()))
}

// expectedOf is what a flag takes, by its type; large says that what was typed is a number that no machine word holds.
func expectedOf(f *pflag.Flag, large bool) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "duration":
		return "a length of time with its unit, such as 500ms, 30s or 1h30m, of 290 years at most"
	case "float64":
		if large {
			return "a number of less than 300 digits"
		}
		return "a number such as 0.5 or 200"
	case "int", "int32", "int64", "uint64":
		if large {
			return "a whole number of less than 19 digits"
		}
		return "a whole number such as 3, in digits alone"
	case "stringToString":
		return "KEY=VALUE"
	}
	return "some of what its help names"
}

// decimalOnly makes every flag that is a number, of a command and those below it, read digits as everybody does: 010 is ten, not eight, and neither 0x10 nor
// 1_000 is a number.
func decimalOnly(c *cobra.Command) {
	wrap := func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "int", "int32", "int64", "uint64", "float64":
			if _, done := f.Value.(decimal); !done {
				f.Value = decimal{f.Value}
			}
		}
	}
	c.Flags().VisitAll(wrap)
	c.PersistentFlags().VisitAll(wrap)
	for _, sub := range c.Commands() {
		decimalOnly(sub)
	}
}

// decimal is a number's value that reads decimal digits alone.
type decimal struct{ pflag.Value }

// Set reads a number as it is typed. The package pflag takes a leading 0 for octal, and other prefixes for other bases.
func (d decimal) Set(text string) error {
	if strings.ContainsAny(text, "xXoO_") || d.Type() != "float64" && strings.ContainsAny(text, "bB") {
		return strconv.ErrSyntax
	}
	sign, digits := "", text
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		sign, digits = text[:1], text[1:]
	}
	if short := strings.TrimLeft(digits, "0"); short != digits {
		if short == "" || short[0] < '0' || short[0] > '9' {
			short = "0" + short
		}
		digits = short
	}
	return d.Value.Set(sign + digits)
}

// emptyHasMeaning are the flags that take an empty text: --bug with none is the broker without any bug.
var emptyHasMeaning = map[string]bool{"bug": true}

// insteadOfNothing is what flags expect that an empty text was given for, by their names.
var insteadOfNothing = map[string]string{
	"as": "acks=all, acks=1 or acks=0", "acks": "0, 1 or all", "world": "the name of a world: sim or docker", "client": "raw, franz or both", "configs": "random or default",
	"faults": "kinds of faults such as kill,partition,hold, or none", "until-class": "a class of anomaly", "format": "jepsen or zip", "day": "a date as 2026-11-30",
	"plan": "a file", "scenario": "a file", "known": "a file", "config": "a file", "as-scenario": "a file", "markdown": "a file", "table": "a file", "output": "a file",
	"corpus": "a directory", "out": "a directory", "scenarios": "a directory", "renew": "a directory", "from": "a directory", "data": "a directory",
	"master": "a whole number from 0 to 2^64-1", "seed": "a whole number from 0 to 2^64-1", "memory": "a number of bytes such as 512m or 1g",
	"keep-age": "a length of time such as 30d or 12h, or 0", "keep-bytes": "a number of bytes such as 2g, or 0",
	"target": "brokers such as apache-kafka:4.1.0", "like": "brokers such as apache-kafka:0.10.2.2", "kafka": "a release such as apache-kafka:4.1.0",
	"topic": "a topic's name", "recreated-topic": "a topic's name", "split": "splits, as the line that repeats a run has them", "without": "names with commas between them",
}

// checkGiven refuses flags and arguments that are there and empty, as of a script whose variable is not set: to take them for left out would do something
// else than was asked for.
func checkGiven(c *cobra.Command, args []string) error {
	if c.DisableFlagParsing { // the shell's completion: of the word at hand there may be nothing yet
		return nil
	}
	var wrong error
	c.Flags().Visit(func(f *pflag.Flag) {
		text := ""
		switch f.Value.Type() {
		case "string":
			text = f.Value.String()
		case "stringSlice", "stringArray":
			if list, ok := f.Value.(pflag.SliceValue); ok {
				text = strings.Join(list.GetSlice(), "")
			}
		default:
			return // an empty text is none that they read
		}
		if text == "" && !emptyHasMeaning[f.Name] && wrong == nil {
			wrong = fmt.Errorf("--%s \"\", expected %s, or no --%s at all", f.Name, insteadOfNothing[f.Name], f.Name)
		}
	})
	for i, arg := range args {
		if arg == "" && wrong == nil {
			wrong = fmt.Errorf("argument %d is \"\", expected a name\n  usage: %s", i+1, c.UseLine())
		}
	}
	if wrong != nil {
		return usage(wrong)
	}
	return nil
}

// wholeWithin looks whether the whole number of a flag is within bounds.
func wholeWithin(flag string, value, least, top int) error {
	if value < least || value > top {
		return fmt.Errorf("--%s %d, expected %d to %d", flag, value, least, top)
	}
	return nil
}

// lastsAtAll looks whether the length of time of a flag is above 0.
func lastsAtAll(flag string, value time.Duration) error {
	if value <= 0 {
		return fmt.Errorf("--%s %v, expected a positive duration", flag, value)
	}
	return nil
}

// The bounds on flags that several commands have.
const (
	seedsMax   = 1_000_000_000
	workersMax = 1024
)
