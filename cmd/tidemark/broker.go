package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tidemark/broker/config"
	"tidemark/broker/server"
)

// brokersMax bounds the brokers of one process.
const brokersMax = 31

func brokerCommand() *cobra.Command {
	var files []string
	var show bool
	c := &cobra.Command{
		Use:   "broker --config FILE [--config FILE ...]",
		Short: "Serve Kafka's protocol as one broker, or several in one process",
		Long: "Runs the broker that each file configures, in Kafka's properties format, until SIGTERM or SIGINT: then the brokers shut\n" +
			"down in good order. A second signal ends the process at once. A disk error ends it with exit code 4.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if show && len(files) == 0 {
				return printConfigs(c.OutOrStdout(), []config.Config{config.Default()})
			}
			configs, err := readConfigs(files)
			if err != nil {
				return usage(err)
			}
			if show {
				return printConfigs(c.OutOrStdout(), configs)
			}
			debug.SetGCPercent(100) // main's is for short runs; a broker lives long in bounded memory
			log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			server.FitMemory(configs, log)
			return serveBrokers(c.Context(), configs, log)
		},
	}
	c.Flags().StringArrayVar(&files, "config", nil, "properties file of a broker; may be given more than once")
	c.Flags().BoolVar(&show, "print", false, "print the configuration that holds, defaults included, and exit; without --config that is every key there is")
	return c
}

// readConfigs reads every file; the errors name theirs.
func readConfigs(files []string) ([]config.Config, error) {
	if len(files) == 0 || len(files) > brokersMax {
		return nil, fmt.Errorf("--config was given %d times, expected 1 to %d", len(files), brokersMax)
	}
	var configs []config.Config
	for _, file := range files {
		text, err := readBounded(file)
		if err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
		cfg, err := config.Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, other := range configs {
			if other.NodeID == cfg.NodeID {
				return nil, fmt.Errorf("%s: node.id=%d is another file's too", file, cfg.NodeID)
			}
		}
		configs = append(configs, cfg)
	}
	return configs, nil
}

func printConfigs(w io.Writer, configs []config.Config) error {
	var out strings.Builder
	for i := range configs {
		if i > 0 {
			out.WriteByte('\n')
		}
		for _, p := range configs[i].Pairs() {
			fmt.Fprintf(&out, "%s=%s\n", p.Key, p.Value)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// serveBrokers runs brokers until they are asked to stop, or one fails.
func serveBrokers(ctx context.Context, configs []config.Config, log *slog.Logger) error {
	signals := make(chan os.Signal, 2) // ctx ends with the first; the second is to be noticed too
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	var servers []*server.Server
	defer func() {
		for _, s := range servers {
			s.Close()
		}
	}()
	ended := make(chan error, len(configs))
	for _, cfg := range configs {
		s, err := server.Start(cfg, log)
		if err != nil {
			return trouble(fmt.Errorf("broker %d: %w", cfg.NodeID, err))
		}
		servers = append(servers, s)
		go func() {
			<-s.Done()
			ended <- s.Err()
		}()
	}
	stop := ctx.Done()
	left, received := len(servers), 0
	for left > 0 {
		select {
		case err := <-ended:
			if left--; err != nil {
				return trouble(err)
			}
		case <-signals:
			if received++; received > 1 {
				return &outcome{exitInterrupted, errors.New("stopped at once by a second signal")}
			}
		case <-stop:
			stop = nil
			shutDown(servers)
		}
	}
	return nil
}

// shutDown asks every broker to stop in good order. Each bounds itself how long it waits for the controller's word.
func shutDown(servers []*server.Server) {
	for _, s := range servers {
		go func() { _ = s.Shutdown(context.Background()) }()
	}
}
