package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Listener is one of a broker's listeners, as listeners and advertised.listeners write it: NAME://host:port. To bind, an empty Host is
// every interface.
type Listener struct {
	Name string // in capitals
	Host string
	Port int32
}

// otherProtocols are Kafka's security protocols that this broker does not speak. They may be mapped, as they are in the file that Kafka comes
// with, for listeners that there are not.
var otherProtocols = []string{"SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// Plaintext is the listener that Kafka has where nothing else is configured, and the one security protocol that there is.
const Plaintext = "PLAINTEXT"

const (
	listenersMax    = 16 // of a broker; metadata.EndpointsMax goes with it
	listenerNameMax = 64
)

// Address is host:port, as net.Dial and net.Listen take it.
func (l Listener) Address() string { return joinAddress(l.Host, l.Port) }

// String is NAME://host:port.
func (l Listener) String() string { return l.Name + "://" + l.Address() }

// OneListener makes PLAINTEXT at host:port the only listener, bound and advertised there: clients, brokers and the controller quorum
// share it.
func (c *Config) OneListener(host string, port int32) {
	c.Listeners = []Listener{{Plaintext, host, port}}
	c.AdvertisedListeners = slices.Clone(c.Listeners)
}

// ServesController reports whether a listener takes the quorum's messages and the brokers' requests to the controller: one of
// controller.listener.names, or, where there are none, the inter-broker listener (as Kafka had it before KRaft).
func (c *Config) ServesController(listener string) bool {
	if len(c.ControllerListeners) == 0 {
		return listener == c.InterBrokerListener
	}
	return slices.Contains(c.ControllerListeners, listener)
}

// ServesQuorum reports whether a listener takes the quorum's messages. A node that is no voter has them sent to it as well, for it follows
// the metadata (Kafka's observers fetch instead): at its own listener of controller.listener.names, if it binds one, else at the
// inter-broker listener. Who sends them looks the node up under the same names, in the same order (QuorumListeners).
func (c *Config) ServesQuorum(listener string) bool {
	own := func(l Listener) bool { return slices.Contains(c.ControllerListeners, l.Name) }
	if !c.Controller && !slices.ContainsFunc(c.Listeners, own) {
		return listener == c.InterBrokerListener
	}
	return c.ServesController(listener)
}

// QuorumListeners lists the listeners at which a node that is no voter may have registered for the quorum's messages: the first that it
// registered is the one.
func (c *Config) QuorumListeners() []string {
	return append(slices.Clone(c.ControllerListeners), c.InterBrokerListener)
}

// ServesClients reports whether a listener takes what clients and followers ask of a broker: every one but the controller's own.
func (c *Config) ServesClients(listener string) bool {
	return !slices.Contains(c.ControllerListeners, listener)
}

// listenerKeys lists the keys about listeners.
func listenerKeys() []key {
	return []key{
		{name: "listeners", get: func(c *Config) string { return joinListeners(c.Listeners) },
			set: func(c *Config, s string) (err error) { c.Listeners, err = parseListeners(s, true); return err }},
		{name: "advertised.listeners", get: func(c *Config) string { return joinListeners(c.AdvertisedListeners) },
			set: func(c *Config, s string) (err error) {
				c.AdvertisedListeners, err = parseListeners(s, false)
				return err
			}},
		{name: "inter.broker.listener.name", get: func(c *Config) string { return c.InterBrokerListener },
			set: func(c *Config, s string) (err error) { c.InterBrokerListener, err = parseListenerName(s); return err }},
		{name: "controller.listener.names", get: func(c *Config) string { return strings.Join(c.ControllerListeners, ",") }, set: setControllerListeners},
		{name: "listener.security.protocol.map", get: getProtocols, set: setProtocols},
	}
}

func joinListeners(listeners []Listener) string {
	out := make([]string, len(listeners))
	for i, l := range listeners {
		out[i] = l.String()
	}
	return strings.Join(out, ",")
}

// parseListeners reads NAME://host:port,…; to be bound, the host may be missing.
func parseListeners(s string, toBind bool) ([]Listener, error) {
	if s == "" {
		return nil, nil
	}
	var out []Listener
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		name, address, ok := strings.Cut(part, "://")
		if !ok {
			return nil, fmt.Errorf("%q, expected NAME://host:port", short(part))
		}
		l := Listener{}
		var err error
		if l.Name, err = parseListenerName(name); err != nil {
			return nil, err
		}
		parse := parseAddress
		if toBind {
			parse = parseBind
		}
		if l.Host, l.Port, err = parse(address); err != nil {
			return nil, err
		}
		if out = append(out, l); len(out) > listenersMax {
			return nil, fmt.Errorf("more than %d listeners", listenersMax)
		}
	}
	return out, nil
}

// parseListenerName reads a listener's name. As in Kafka (ListenerName.java) its case does not matter.
func parseListenerName(s string) (string, error) {
	s = strings.TrimSpace(s)
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r) {
			return "", fmt.Errorf("listener name %q, expected letters, digits, '_', '-' and '.'", short(s))
		}
	}
	if s == "" || len(s) > listenerNameMax {
		return "", fmt.Errorf("listener name %q, expected 1 to %d characters", short(s), listenerNameMax)
	}
	return strings.ToUpper(s), nil
}

func setControllerListeners(c *Config, s string) error {
	c.ControllerListeners = nil
	if s == "" {
		return nil
	}
	for part := range strings.SplitSeq(s, ",") {
		name, err := parseListenerName(part)
		if err != nil {
			return err
		}
		if slices.Contains(c.ControllerListeners, name) {
			return fmt.Errorf("listener %s twice", name)
		}
		if c.ControllerListeners = append(c.ControllerListeners, name); len(c.ControllerListeners) > listenersMax {
			return fmt.Errorf("more than %d listeners", listenersMax)
		}
	}
	return nil
}

func getProtocols(c *Config) string {
	out := make([]string, len(c.PlaintextListeners))
	for i, name := range c.PlaintextListeners {
		out[i] = name + ":" + Plaintext
	}
	return strings.Join(out, ",")
}

func setProtocols(c *Config, s string) error {
	var names []string
	for part := range strings.SplitSeq(s, ",") {
		name, protocol, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			return fmt.Errorf("%q, expected LISTENER:%s,…", short(part), Plaintext)
		}
		name, err := parseListenerName(name)
		if err != nil {
			return err
		}
		protocol = strings.ToUpper(strings.TrimSpace(protocol))
		if slices.Contains(otherProtocols, protocol) {
			continue
		}
		if protocol != Plaintext {
			return fmt.Errorf("security protocol %q of listener %s, expected %s or one of %v", short(protocol), name, Plaintext, otherProtocols)
		}
		if slices.Contains(names, name) {
			return fmt.Errorf("listener %s twice", name)
		}
		if names = append(names, name); len(names) > listenersMax {
			return fmt.Errorf("more than %d listeners", listenersMax)
		}
	}
	if names == nil {
		return fmt.Errorf("%q, expected a listener with %s", short(s), Plaintext)
	}
	c.PlaintextListeners = names
	return nil
}

// completeListeners derives what a configuration leaves out. Without advertised.listeners, every listener but a voter's for the controller
// is advertised where it is bound, as in Kafka, if others can connect to all of them. Without listeners, a broker binds what it advertises.
func (c *Config) completeListeners() {
	if len(c.Listeners) == 0 {
		c.Listeners = slices.Clone(c.AdvertisedListeners)
	}
	if len(c.AdvertisedListeners) > 0 {
		return
	}
	var out []Listener
	for _, l := range c.Listeners {
		if c.Controller && !c.ServesClients(l.Name) {
			continue
		}
		if everyInterface(l.Host) {
			return
		}
		out = append(out, l)
	}
	c.AdvertisedListeners = out
}

// everyInterface reports whether a host is an address to bind, but none to connect to.
func everyInterface(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// checkListeners holds the listeners to what Kafka demands of them (KafkaConfig.scala, validateValues), one error at a time.
func (c *Config) checkListeners() error {
	if len(c.Listeners) == 0 || c.Broker && len(c.AdvertisedListeners) == 0 {
		return errors.New("advertised.listeners is missing, expected PLAINTEXT://host:port")
	}
	for _, check := range []func() error{c.checkDistinct, c.checkProtocols, c.checkAdvertised, c.checkRoles} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkDistinct: no listener twice, no port bound twice.
func (c *Config) checkDistinct() error {
	if max(len(c.Listeners), len(c.AdvertisedListeners)) > listenersMax {
		return fmt.Errorf("listeners=%s, expected at most %d", short(joinListeners(c.Listeners)), listenersMax)
	}
	for i, l := range c.Listeners {
		for _, other := range c.Listeners[:i] {
			if other.Name == l.Name {
				return fmt.Errorf("listeners has %v and %v, expected a name of its own for each", other, l)
			}
			if other.Port == l.Port {
				return fmt.Errorf("listeners has %v and %v, expected a port of its own for each", other, l)
			}
		}
	}
	for i, l := range c.AdvertisedListeners {
		if other, twice := Named(c.AdvertisedListeners[:i], l.Name); twice {
			return fmt.Errorf("advertised.listeners has %v and %v, expected each listener once", other, l)
		}
	}
	return nil
}

// checkProtocols: every listener has a security protocol. As in Kafka the controller's have PLAINTEXT by themselves where the map is
// left as it is.
func (c *Config) checkProtocols() error {
	asItIs := slices.Equal(c.PlaintextListeners, []string{Plaintext})
	names := slices.Clone(c.ControllerListeners)
	for _, l := range c.Listeners {
		names = append(names, l.Name)
	}
	for _, name := range names {
		if !slices.Contains(c.PlaintextListeners, name) && (!asItIs || c.ServesClients(name)) {
			return fmt.Errorf("listener %s has no security protocol, expected %s:%s in listener.security.protocol.map=%s", name, name, Plaintext, short(getProtocols(c)))
		}
	}
	return nil
}

// checkAdvertised: what others are told is a listener that is there, at an address to connect to. A voter's for the controller is known from
// controller.quorum.voters, not from here.
func (c *Config) checkAdvertised() error {
	for _, l := range c.AdvertisedListeners {
		if c.Controller && !c.ServesClients(l.Name) {
			return fmt.Errorf("advertised.listeners has %v, expected none of controller.listener.names=%s: controller.quorum.voters tells of a voter's", l, short(strings.Join(c.ControllerListeners, ",")))
		}
		if _, ok := Named(c.Listeners, l.Name); !ok {
			return fmt.Errorf("advertised.listeners has %v, expected only names of listeners=%s", l, short(joinListeners(c.Listeners)))
		}
		if everyInterface(l.Host) {
			return fmt.Errorf("advertised.listeners has %v, expected an address that others can connect to", l)
		}
	}
	return nil
}

// checkRoles: each role of the process has its listener, and none that is another's.
func (c *Config) checkRoles() error {
	if c.Broker {
		if !c.ServesClients(c.InterBrokerListener) {
			return fmt.Errorf("inter.broker.listener.name=%s, expected none of controller.listener.names=%s", c.InterBrokerListener, short(strings.Join(c.ControllerListeners, ",")))
		}
		if _, ok := Named(c.AdvertisedListeners, c.InterBrokerListener); !ok {
			return fmt.Errorf("inter.broker.listener.name=%s, expected one of advertised.listeners=%s", c.InterBrokerListener, short(joinListeners(c.AdvertisedListeners)))
		}
	}
	for _, name := range c.ControllerListeners {
		l, bound := Named(c.Listeners, name)
		if c.Controller && !bound {
			return fmt.Errorf("controller.listener.names has %s, expected only names of listeners=%s where process.roles=%s", name, short(joinListeners(c.Listeners)), getRoles(c))
		}
		if _, told := Named(c.AdvertisedListeners, name); !c.Controller && bound && !told {
			return fmt.Errorf("listeners has %v, expected %s in advertised.listeners=%s too: the voters find a node that is none where it registered", l, name, short(joinListeners(c.AdvertisedListeners)))
		}
	}
	for _, l := range c.Listeners {
		if !c.Broker && !c.ServesController(l.Name) {
			return fmt.Errorf("listeners has %v, expected only the controller's where process.roles=%s", l, getRoles(c))
		}
	}
	return nil
}

// Named is the listener of that name.
func Named(listeners []Listener, name string) (Listener, bool) {
	i := slices.IndexFunc(listeners, func(l Listener) bool { return l.Name == name })
	if i < 0 {
		return Listener{}, false
	}
	return listeners[i], true
}
