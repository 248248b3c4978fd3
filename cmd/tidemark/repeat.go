package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidemark/harness"
	"tidemark/nemesis"
)

// huntsAlone are the flags of a hunt that say nothing about one of its runs.
var huntsAlone = []string{"master", "first", "split", "max-seeds", "budget", "workers", "until-first", "until-class", "corpus", "shrink", "shrink-budget", "known",
	"json", "twice", "hashes", "allow-vacuous"}

// repeat is the line, with its end, that carries out run n of a hunt once more, alone, and keeps its directory.
func repeat(c *cobra.Command, h harness.Hunt, f harness.Failure) string {
	return fmt.Sprintf("  again: %s\n", h.Again(givenBut(c, huntsAlone...), f.Number, f.From))
}

// givenBut is the flags of a command line as they were given, but for some.
func givenBut(c *cobra.Command, but ...string) (options []string) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(but, f.Name) {
			options = append(options, asGiven(f)...)
		}
	})
	return options
}

// asGiven is a flag as a command line gives it.
func asGiven(f *pflag.Flag) (out []string) {
	switch f.Value.Type() {
	case "bool":
		return []string{"--" + f.Name + "=" + f.Value.String()}
	case "duration": // prints 20m0s
		if d, err := time.ParseDuration(f.Value.String()); err == nil {
			return []string{"--" + f.Name, nemesis.Lasting(d)}
		}
	case "stringSlice": // prints as [a,b]
		return []string{"--" + f.Name, strings.Trim(f.Value.String(), "[]")}
	case "stringToString": // prints as [k=v,k=v], each pair quoted as CSV is
		pairs, err := csv.NewReader(strings.NewReader(strings.Trim(f.Value.String(), "[]"))).Read()
		if err != nil {
			return nil // no pair
		}
		slices.Sort(pairs)
		for _, pair := range pairs {
			out = append(out, "--"+f.Name, pair)
		}
		return out
	}
	return []string{"--" + f.Name, f.Value.String()}
}
