package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tidemark/history/edn"
	"tidemark/history/plain"
	"tidemark/results/index"
)

func exportCommand() *cobra.Command {
	var format, output string
	c := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a stored run's history in another format, or the whole run as one file",
		Long: "Writes the history of a run directory as EDN in the format of Jepsen's Kafka workload, which Jepsen's checker reads, and check too.\n" +
			"Partition i of the topic is key i, each incarnation of a topic that was recreated has a further key; values become numbers, in the order\n" +
			"in which the history first names them; a consumer that does not read on where it stopped assigns itself its partition anew; faults are\n" +
			":info operations of the nemesis. What the format has no place for, such as observed states, protocol steps, the phases of faults and what\n" +
			"replicas hold at the end, stands in fields and operations that begin with :tidemark/, which Jepsen's checker passes over and check reads.\n" +
			"With --format zip the whole directory is written as one file, which unpacks to what replay and check read.",
		Args: exactly("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			if format != "jepsen" && format != "zip" {
				return usage(fmt.Errorf("--format %q, expected jepsen or zip", format))
			}
			d, run, err := openRun(args[0])
			if err != nil {
				return usage(err)
			}
			write := func(w io.Writer) error { return index.Archive(w, d.Path) }
			if format == "zip" {
				return export(c, output, write)
			}
			h, truncated, err := d.History()
			if err != nil {
				return usage(err)
			}
			if truncated != "" {
				fmt.Fprintln(c.ErrOrStderr(), "tidemark: the history is cut:", truncated)
			}
			return export(c, output, func(w io.Writer) error { return edn.Write(w, run, h) })
		},
	}
	c.Flags().StringVar(&format, "format", "jepsen", "the format: jepsen, or zip for the whole directory as one file")
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write, instead of standard output")
	return c
}

// export writes to a file, or to standard output if it has no name.
func export(c *cobra.Command, output string, write func(io.Writer) error) error {
	if output == "" {
		if err := write(plain.Raw(c.OutOrStdout())); err != nil {
			return trouble(err)
		}
		return nil
	}
	if err := putFile(output, write); err != nil {
		return trouble(err)
	}
	fmt.Fprintf(c.ErrOrStderr(), "wrote %s\n", output)
	return nil
}
