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
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look whether runs in containers are possible here, and what is missing",
		Long: "Looks at the container engine, this program, the kernel's firewall in a container, what earlier runs left and what targets need; says of what is\n" +
			"missing what it rules out and how to get it.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			missing := 0
			for _, f := range append(docker.Examine(c.Context(), ""), docker.ExamineTargets(c.Context())...) {
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
}
