package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidemark/broker/bug"
	"tidemark/checker"
	"tidemark/harness"
	"tidemark/history"
)

// words are what a shell offers for flags that take one of a few words, with what each means behind a tab.
func words() map[string][]string {
	return map[string][]string{
		"world":       {harness.Simulated + "\tsimulated, replays exactly", harness.Contained + "\tcontainers", worldAuto + "\tcontainers where an engine answers"},
		"acks":        {"0", "1", "all"},
		"as":          {"acks=0", "acks=1", "acks=all"},
		"client":      {history.ClientRaw, "franz", "both"},
		"configs":     {"random", "default"},
		"format":      {"jepsen", "zip"},
		"without":     harness.NightParts,
		"bug":         bugWords(),
		"until-class": classWords(),
	}
}

func bugWords() (out []string) {
	for _, e := range bug.Registry {
		out = append(out, string(e.Name)+"\t"+e.Mutation)
	}
	return out
}

func classWords() (out []string) {
	for _, r := range checker.Rules {
		out = append(out, string(r.Class)+"\t"+r.Means)
	}
	return out
}

// complete tells the shell what may stand behind each flag and command.
func complete(root *cobra.Command) {
	offered := words()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			list, ok := offered[f.Name]
			if f.Name == "without" && c.Name() == "bugs" {
				list = bugWords()
			}
			if ok {
				_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)) // it is there, and once
			}
		})
		switch c.Name() {
		case "replay", "check", "shrink", "export":
			c.ValidArgsFunction = completeRuns
		case "serve", "index", "prune":
			c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
		case "bugs":
			c.ValidArgsFunction = cobra.FixedCompletions(bugWords(), cobra.ShellCompDirectiveNoFileComp)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// completedMax bounds the runs that a shell is offered.
const completedMax = 50

// completeRuns offers the newest runs of this directory; of another one, its directories.
func completeRuns(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	entries, err := os.ReadDir("runs")
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	var out []string
	for i := len(entries) - 1; i >= 0 && len(out) < completedMax; i-- {
		if path := filepath.Join("runs", entries[i].Name()); entries[i].IsDir() && strings.HasPrefix(path, typed) {
			out = append(out, path)
		}
	}
	if len(out) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
