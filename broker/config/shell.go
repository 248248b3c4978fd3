package config

import (
	"fmt"
	"strings"
	"time"
)

// Shell is the part of a configuration that only a broker's process needs: directories, and the limits on what
// clients may cost it. Sizes are in bytes. Where Kafka has no limit by default, there is one here.
type Shell struct {
	LogDir                 string        // log.dirs: the directory of the partitions; one
	MetadataLogDir         string        // metadata.log.dir: the directory of the controller's log; empty is LogDir
	MaxConnections         int           // max.connections; beyond it the one that was idle longest is closed
	ConnectionsMaxIdle     time.Duration // connections.max.idle.ms
	ConnectionSetupTimeout time.Duration // socket.connection.setup.timeout.ms: of a connection to another broker
	QueuedMaxRequests      int           // queued.max.requests: read, but not yet looked at
	QueuedMaxRequestBytes  int64         // queued.max.request.bytes: of requests that are being read or are queued
	QueuedMaxResponseBytes int64         // tidemark.queued.max.response.bytes: of answers that clients have not taken yet
	FrameTimeout           time.Duration // tidemark.frame.timeout.ms: a frame, once begun, is read or written within it
	DebugListener          string        // tidemark.debug.listener: the address of the debug endpoint, host:port; empty is none
	DebugStepsMax          int           // tidemark.debug.steps.max: how many protocol steps the debug endpoint remembers
}

func defaultShell() Shell {
	return Shell{
		MaxConnections: 10_000, ConnectionsMaxIdle: 10 * time.Minute, ConnectionSetupTimeout: 10 * time.Second,
		QueuedMaxRequests: 500, QueuedMaxRequestBytes: 256 << 20, QueuedMaxResponseBytes: 256 << 20,
		FrameTimeout: 30 * time.Second, DebugStepsMax: 1 << 16,
	}
}

// shellKeys lists the keys of the shell.
func shellKeys() []key {
	return []key{
		path("log.dirs", func(c *Config) *string { return &c.Shell.LogDir }),
		path("metadata.log.dir", func(c *Config) *string { return &c.Shell.MetadataLogDir }),
		number("max.connections", 1, 1_000_000, func(c *Config) *int { return &c.Shell.MaxConnections }),
		span("connections.max.idle.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.Shell.ConnectionsMaxIdle }),
		span("socket.connection.setup.timeout.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.Shell.ConnectionSetupTimeout }),
		number("queued.max.requests", 1, 1_000_000, func(c *Config) *int { return &c.Shell.QueuedMaxRequests }),
		number("queued.max.request.bytes", 1, 1<<40, func(c *Config) *int64 { return &c.Shell.QueuedMaxRequestBytes }),
		number("tidemark.queued.max.response.bytes", 1, 1<<40, func(c *Config) *int64 { return &c.Shell.QueuedMaxResponseBytes }),
		span("tidemark.frame.timeout.ms", time.Millisecond, 1, func(c *Config) *time.Duration { return &c.Shell.FrameTimeout }),
		{name: "tidemark.debug.listener", get: func(c *Config) string { return c.Shell.DebugListener }, set: setDebugListener},
		number("tidemark.debug.steps.max", 1, 1<<24, func(c *Config) *int { return &c.Shell.DebugStepsMax }),
	}
}

const pathMax = 4096

// path is a key whose value names one directory.
func path(name string, field func(*Config) *string) key {
	return key{
		name: name,
		get:  func(c *Config) string { return *field(c) },
		set: func(c *Config, s string) error {
			if len(s) > pathMax || strings.ContainsAny(s, "\x00,") {
				return fmt.Errorf("%q, expected the path of one directory", short(s))
			}
			*field(c) = s
			return nil
		},
	}
}

func setDebugListener(c *Config, s string) error {
	if s != "" {
		if _, _, err := parseBind(s); err != nil {
			return err
		}
	}
	c.Shell.DebugListener = s
	return nil
}

// parseBind reads an address to bind: like one to connect to, but the host may be missing, for every interface.
func parseBind(address string) (host string, port int32, err error) {
	everywhere := strings.HasPrefix(address, ":")
	if everywhere {
		address = "*" + address
	}
	if host, port, err = parseAddress(address); everywhere {
		host = ""
	}
	return host, port, err
}
