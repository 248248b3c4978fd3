//go:build !simonly

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tidemark/docker"
	"tidemark/docker/targets"
)

func targetCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "target",
		Short: "Make and list images of brokers that are not this program's own",
		Long:  "Makes and lists the images that run --target takes; tidemark help targets tells of these.",
	}
	c.AddCommand(targetBuildCommand(), targetListCommand())
	return c
}

func targetBuildCommand() *cobra.Command {
	var from string
	var asJSON bool
	c := &cobra.Command{
		Use:   "build apache-kafka RELEASE...",
		Short: "Make the image of a release of Apache Kafka, unless it is there",
		Long: "Makes an image of Apache Kafka of each release named, such as 4.1.0 or 0.10.2.2: the jars come from Maven Central, Java is this\n" +
			"machine's, cut to what brokers need. It takes mvn, jlink, ldd and a static busybox. What was made of the same before is found again.",
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] != "apache-kafka" {
				return usage(fmt.Errorf("target %q, expected apache-kafka; of any other an image's name is enough", args[0]))
			}
			var releases []targets.Release
			for _, text := range args[1:] {
				r, err := targets.ParseRelease(text)
				if err != nil {
					return usage(err)
				}
				releases = append(releases, r)
			}
			if from != "" && len(releases) != 1 {
				return usage(fmt.Errorf("--from %s with %d releases, expected the one whose jars these are", from, len(releases)))
			}
			engine, err := docker.Connect(c.Context())
			if err != nil {
				return trouble(err)
			}
			defer engine.Close() //nolint:errcheck // nothing is under way
			var names []string
			for _, r := range releases {
				name, err := engine.BuildTarget(c.Context(), r, from, func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) })
				if err != nil {
					return trouble(err)
				}
				names = append(names, name)
				if !asJSON {
					fmt.Fprintln(c.OutOrStdout(), name)
				}
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), map[string]any{"images": names}, exitValid)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the images' names as JSON")
	c.Flags().StringVar(&from, "from", "", "a directory of the release's jars, such as libs/ of an unpacked one (default: Maven Central)")
	return c
}

func targetListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List how targets are named, and the images that were made",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !asJSON {
				fmt.Fprintf(c.OutOrStdout(), "run --target takes %s\n", strings.Join(targets.Makes(), ", "))
			}
			engine, err := docker.Connect(c.Context())
			if err != nil {
				return trouble(err)
			}
			defer engine.Close() //nolint:errcheck // only asked
			made, err := engine.Built(c.Context())
			if err != nil {
				return trouble(err)
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), map[string]any{"takes": targets.Makes(), "made": listedImages(made)}, exitValid)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, m := range made {
				fmt.Fprintf(w, "%s\t%s\t%d MB\tmade %s\n", m.Release, m.Name, m.Bytes/1e6, m.Made.UTC().Format("2006-01-02 15:04"))
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return c
}

// listedImage is an image that was made, as JSON tells of it.
type listedImage struct {
	Release string    `json:"release"`
	Name    string    `json:"name"`
	Bytes   int64     `json:"bytes"`
	Made    time.Time `json:"made"`
}

func listedImages(made []docker.Built) []listedImage {
	out := make([]listedImage, len(made))
	for i, m := range made {
		out[i] = listedImage{m.Release, m.Name, m.Bytes, m.Made.UTC()}
	}
	return out
}
