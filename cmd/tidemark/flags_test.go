package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyFlag calls f with each flag of each command, and the words that lead to the command.
func everyFlag(f func(words []string, flag *pflag.Flag)) {
	var walk func(c *cobra.Command, words []string)
	walk = func(c *cobra.Command, words []string) {
		if c.Name() == "help" || c.Name() == "completion" { // cobra's own
			return
		}
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name != "help" {
				f(words, flag)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub, append(append([]string{}, words...), sub.Name()))
		}
	}
	walk(rootCommand(), nil)
}

// TestEveryFlagNamesWhatWasTyped of a value that it cannot read, as it was typed, and what was expected, in no words of a library's.
func TestEveryFlagNamesWhatWasTyped(t *testing.T) {
	bad := map[string][]string{
		"int":   {"1e+06", "1e6", "", "NaN", "3.5", "99999999999999999999", "three", "0x10", "0b11", "0o17", "1_000", "-0x1", "- 3"},
		"int32": {"1e6", "", "99999999999", "0x1", "1_0"}, "float64": {"", "1e400", "much", "0x1p4", "0x_1p4"},
		"duration": {"5", "", "1e6", "soon", "9999999h"}, "bool": {"maybe", ""}, "stringToString": {"key", ""},
	}
	types := map[string]int{}
	everyFlag(func(words []string, flag *pflag.Flag) {
		kind := flag.Value.Type()
		types[kind]++
		for _, value := range bad[kind] {
			told, code := said(t, append(words, "--"+flag.Name+"="+value)...)
			want := fmt.Sprintf("tidemark: --%s %q, expected ", flag.Name, value)
			if code != exitUsage || !strings.HasPrefix(told, want) || strings.Contains(told, "strconv") || strings.Contains(told, "invalid") {
				t.Errorf("%v --%s=%s: exit code %d, %s, expected %s", words, flag.Name, value, code, told, want)
			}
		}
	})
	for kind := range bad {
		if types[kind] == 0 {
			t.Errorf("no flag is a %s", kind)
		}
	}
}

// TestNumbersAreDecimal: digits mean what everybody reads, whatever stands before them, of every flag that is a number.
func TestNumbersAreDecimal(t *testing.T) {
	numbers := 0
	everyFlag(func(words []string, flag *pflag.Flag) {
		kind := flag.Value.Type()
		if kind != "int" && kind != "int32" && kind != "int64" && kind != "uint64" && kind != "float64" {
			return
		}
		numbers++
		for typed, want := range map[string]string{"010": "10", "0010": "10", "-010": "-10", "+08": "8", "0": "0", "00": "0", "-0": "0", "7": "7"} {
			c, _, err := rootCommand().Find(words)
			if err == nil {
				err = c.ParseFlags([]string{"--" + flag.Name + "=" + typed})
			}
			if err != nil {
				t.Errorf("%v --%s=%s: %v, expected %s", words, flag.Name, typed, err, want)
				continue
			}
			if got := c.Flags().Lookup(flag.Name).Value.String(); strings.TrimPrefix(got, "-") != strings.TrimPrefix(want, "-") || want != "0" && got != want {
				t.Errorf("%v --%s=%s: %s, expected %s", words, flag.Name, typed, got, want)
			}
		}
	})
	if numbers < 20 {
		t.Errorf("%d flags are numbers, expected more", numbers)
	}
}

// TestNoFlagTakesNothing: an empty text is refused by name, with what was expected in words of the flag's own, but where it has a meaning.
func TestNoFlagTakesNothing(t *testing.T) {
	everyFlag(func(words []string, flag *pflag.Flag) {
		switch kind := flag.Value.Type(); {
		case kind != "string" && kind != "stringSlice" && kind != "stringArray":
			return
		case emptyHasMeaning[flag.Name]:
			return
		case insteadOfNothing[flag.Name] == "":
			t.Errorf("%v --%s: nobody says what it expects", words, flag.Name)
		}
		c, _, err := rootCommand().Find(words)
		if err == nil {
			err = c.ParseFlags([]string{"--" + flag.Name + "="})
		}
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("--%s \"\", expected ", flag.Name)
		if err := checkGiven(c, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v --%s=: %v, expected %s", words, flag.Name, err, want)
		}
	})
	for _, words := range [][]string{{"check", ""}, {"replay", ""}, {"prune", ""}, {"bugs", ""}} {
		if told, code := said(t, words...); code != exitUsage || !strings.Contains(told, `argument 1 is "", expected a name`) {
			t.Errorf("%v: exit code %d, %s", words, code, told)
		}
	}
}

// TestNumbersAreToldInDigits: of several flags the one that is wrong is named alone, with its value and the bounds in digits.
func TestNumbersAreToldInDigits(t *testing.T) {
	for line, want := range map[string]string{
		"run --brokers 1000000":            "brokers: 1000000, expected 1 to 31",
		"run --brokers 032":                "brokers: 32, expected 1 to 31",
		"run --brokers 0x3":                `--brokers "0x3", expected a whole number such as 3, in digits alone; see tidemark run --help`,
		"run --rate 2e6":                   "rate: 2000000, expected 0.1 to 1000000",
		"run --rate nan":                   "rate: NaN, expected 0.1 to 1000000",
		"run --rate=-5":                    "rate: -5, expected 0.1 to 1000000",
		"hunt --allow-vacuous 1e9":         "--allow-vacuous 1000000000, expected 0 to 100 per cent",
		"bugs --max-seeds 1000000000000":   "--max-seeds 1000000000000, expected 1 to 1000000000",
		"bugs --workers=-1":                "--workers -1, expected 1 to 1024",
		"bugs --budget 0s":                 "--budget 0s, expected a positive duration",
		"history --controls=-1":            "--controls -1, expected 0 to 1000",
		"prune --keep-count=-1":            "--keep-count -1, expected a positive number, or 0 for no bound",
		"run --trace --until=-1s":          "--until -1s, expected 0s or more",
		"run --world docker --cpus 1e12":   "cpus: 1000000000000, expected above 0 to 1024, or 0 for no limit",
		"run --seed 1e6":                   `--seed "1e6", expected a whole number from 0 to 2^64-1`,
		"prune --keep-bytes 1e6":           `--keep-bytes "1e6", expected a number of bytes such as 512m, 1g or 268435456`,
		"nightly --without corpus,, --x=y": "unknown flag: --x; see tidemark nightly --help",
	} {
		if told, code := said(t, strings.Fields(line)...); code != exitUsage || told != "tidemark: "+want+"\n" {
			t.Errorf("%s: exit code %d, %s, expected %s", line, code, told, want)
		}
	}
}
