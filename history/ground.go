package history

import "time"

// Ground is what the brokers of a run in containers stood on.
type Ground struct {
	Engine     string      `json:"engine"`     // version of the container engine
	Kernel     string      `json:"kernel"`     // version of its machine's kernel
	Cgroups    string      `json:"cgroups"`    // version of the control groups: 1 or 2
	Processors int         `json:"processors"` // of its machine
	Memory     int64       `json:"memory"`     // of its machine, in bytes
	Image      string      `json:"image"`      // name of the brokers' image
	Zero       time.Time   `json:"zero"`       // time of day at which the run's clock began, by the harness's clock
	Brokers    []Listeners `json:"brokers"`
}

// Listeners are where a broker in a container listened, host:port, by the names of the listeners.
type Listeners struct {
	ID         BrokerID `json:"id"`
	Container  string   `json:"container"`
	Broker     string   `json:"broker"`               // BROKER: for brokers, and for clients on the cluster's network
	External   string   `json:"external"`             // EXTERNAL: published for clients on the engine's machine
	Controller string   `json:"controller,omitempty"` // CONTROLLER: "" of a broker that has none
}
