package config

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// Shell is the part of a configuration that only a broker's process needs: addresses, directories, and the limits on what
// clients may cost it. Sizes are in bytes. Where Kafka has no limit by default, there is one here.
type Shell struct {
	Listen                 string        // listeners: the address to bind, host:port; empty is the advertised one
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
		{name: "listeners", get: func(c *Config) string { return withProtocol(c.Shell.Listen) }, set: setListen},
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

const (
	protocol = "PLAINTEXT://"
	pathMax  = 4096
)

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

func withProtocol(address string) string {
	if address == "" {
		return ""
	}
	return protocol + address
}

func setListen(c *Config, s string) error {
	address, ok := strings.CutPrefix(s, protocol)
	if s != "" && !ok {
		return fmt.Errorf("%q, expected %shost:port, or %s:port for every interface", short(s), protocol, protocol)
	}
	if err := checkBind(address); err != nil {
		return err
	}
	c.Shell.Listen = address
	return nil
}

func setDebugListener(c *Config, s string) error {
	if err := checkBind(s); err != nil {
		return err
	}
	c.Shell.DebugListener = s
	return nil
}

// checkBind reports whether an address can be bound to: like one to connect to, but the host may be missing.
func checkBind(address string) error {
	if address == "" {
		return nil
	}
	if len(address) > pathMax {
		return fmt.Errorf("%q, expected host:port", short(address))
	}
	whole := address
	if address[0] == ':' {
		whole = "*" + address
	}
	_, _, err := parseAddress(whole)
	return err
}

// advertise makes the bound address the advertised one where none is given, as Kafka does, if others can connect to it.
func (c *Config) advertise() {
	if c.Host != "" || c.Shell.Listen == "" {
		return
	}
	host, port, err := parseAddress(c.Shell.Listen)
	if ip := net.ParseIP(strings.Trim(host, "[]")); err != nil || ip != nil && ip.IsUnspecified() {
		return
	}
	c.Host, c.Port = host, port
}
