//go:build !simonly

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemark/docker"
)

func cleanupCommand() *cobra.Command {
	var images, asJSON bool
	c := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove the containers, networks and volumes that runs left",
		Long: "Removes what runs left whose harness is gone and says what it removed, a line a run. Clusters that were kept on purpose (run --keep)\n" +
			"go too: there is no other end to them. What belongs to a harness that still runs is left alone.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			engine, err := docker.Connect(c.Context())
			if err != nil {
				return trouble(err)
			}
			defer engine.Close() //nolint:errcheck // nothing is under way
			removed, err := engine.Cleanup(c.Context(), true)
			if err == nil && images {
				var more []string
				more, err = engine.CleanupImages(c.Context())
				removed = append(removed, more...)
			}
			if asJSON {
				if err := printJSON(c.OutOrStdout(), map[string]any{"removed": append([]string{}, removed...)}, exitValid); err != nil {
					return err
				}
			}
			for _, what := range removed {
				if asJSON {
					break
				}
				fmt.Fprintln(c.OutOrStdout(), "removed", what)
			}
			if err != nil {
				return trouble(err)
			}
			if len(removed) == 0 && !asJSON {
				fmt.Fprintln(c.OutOrStdout(), "nothing is left of any run")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print what was removed as JSON")
	c.Flags().BoolVar(&images, "images", false, "remove the images that were built, too")
	return c
}
