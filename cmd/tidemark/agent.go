//go:build !simonly

package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"tidemark/docker/agent"
	"tidemark/history"
)

func agentCommand() *cobra.Command {
	var broker int32
	var opt agent.Options
	c := &cobra.Command{
		Use:   "agent",
		Short: "Serve one broker's network namespace (containers run this)",
		Long: "Owns the network namespace that a broker's container joins: cuts and lossens its links by nftables, delays them by\n" +
			"netem, sends and awaits probes, passes connections on where faults concern them, and reads what the broker's files hold. The harness starts it; it needs CAP_NET_ADMIN.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if broker < 0 && history.BrokerID(broker) != history.ZooKeeper {
				return usage(fmt.Errorf("--broker %d, expected 0 to %d", broker, math.MaxInt32))
			}
			opt.Broker = history.BrokerID(broker)
			if err := agent.Run(c.Context(), opt); err != nil {
				return trouble(err)
			}
			return nil
		},
	}
	c.Flags().Int32Var(&broker, "broker", -1, "node.id of the broker")
	c.Flags().StringVar(&opt.Data, "data", "", "directory of the broker's partitions, to be read for dumps")
	return c
}
