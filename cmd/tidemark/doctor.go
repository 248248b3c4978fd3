//go:build !simonly

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/docker"
)

func doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether runs in containers are possible here, and what is missing",
		Long: "Looks at the container engine, this program, the kernel's firewall in a container, what earlier runs left and what targets need; says of what is\n" +
			"missing what it rules out and how to get it.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			missing := 0
			found := append(docker.Examine(c.Context(), ""), docker.ExamineTargets(c.Context())...)
			if asJSON {
				return doctorJSON(c, found)
			}
			for _, f := range found {
				switch {
				case f.Note:
					fmt.Fprintln(c.OutOrStdout(), "note    ", f.What)
					continue
				case f.OK:
					fmt.Fprintln(c.OutOrStdout(), "ok      ", f.What)
					continue
				}
				missing++
				fmt.Fprintf(c.OutOrStdout(), "missing  %s\n         rules out: %s\n         how to get it: %s\n", f.What, f.RulesOut, strings.ReplaceAll(f.How, "\n", "\n        "))
			}
			if missing > 0 {
				return trouble(errors.New("something is missing"))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	return c
}

// doctorJSON prints what was found, and ends as the text does.
func doctorJSON(c *cobra.Command, found []docker.Finding) error {
	type finding struct {
		What     string `json:"what"`
		OK       bool   `json:"ok"`
		Note     bool   `json:"note,omitempty"`
		RulesOut string `json:"rulesOut,omitempty"`
		How      string `json:"howToGetIt,omitempty"`
	}
	code, out := exitValid, []finding{}
	for _, f := range found {
		out = append(out, finding{f.What, f.OK, f.Note, f.RulesOut, f.How})
		if !f.OK && !f.Note {
			code = exitHarness
		}
	}
	return printJSON(c.OutOrStdout(), out, code)
}
