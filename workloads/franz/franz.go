// Package franz is the load's clients as users of franz-go write them: one kgo.Client each, which finds the brokers by their metadata,
// batches, and sends again what was not acknowledged. Unless the run asks for idempotence, which kgo has by itself, it is off, and what was
// sent again may stand twice. They need real connections: no simulated world has them.
//
// What kgo does by itself is left as it is, retries without end (but see below), a linger of 10 ms, snappy, its backoff, one Produce request
// under way to each broker (five with idempotence), fetch sessions, and where to go on after a loss. Its times are shortened as the brokers' are, so that a minute
// holds many failures: 2 s where it waits 10 s for a connection or an answer, half a second between two metadata requests instead of 5 s.
// And a record is given up after 30 s, as Kafka's own producer does after 120 s (delivery.timeout.ms) and kgo never. With it go all
// that wait behind it for the same partition, however young: that is kgo's way.
package franz

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/workloads"
	"tidemark/world"
)

// Times by which clients differ from kgo's defaults, besides the workload's timeout of one request.
const (
	metadataAgeMin = 500 * time.Millisecond // between two metadata requests
	deliveryBound  = 30 * time.Second       // from a record's sending to its giving up, between two attempts
	drainBound     = 4 * time.Second        // for what is under way when the load ends
	closeBound     = 2 * time.Second        // for what a closed client still has to say
)

// Bootstrap is a world whose brokers any client can reach: at these addresses, then at those that metadata names.
type Bootstrap interface {
	// Seeds are addresses of brokers, host:port.
	Seeds() []string
}

// Clients are franz-go's clients of one cluster.
type Clients struct {
	seeds []string
}

var _ workloads.Foreign = (*Clients)(nil)

// errNoSeeds says that a world has no address for clients that are not the harness's own.
var errNoSeeds = errors.New("expected a world that tells clients where its brokers are")

// New returns the clients of a cluster, an error if it is not a Bootstrap.
func New(cluster world.Cluster) (*Clients, error) {
	b, ok := cluster.(Bootstrap)
	if !ok || len(b.Seeds()) == 0 {
		return nil, fmt.Errorf("franz-go: %w", errNoSeeds)
	}
	if err := kgo.ValidateOpts(kgo.SeedBrokers(b.Seeds()...)); err != nil {
		return nil, fmt.Errorf("franz-go: %w", err)
	}
	return &Clients{seeds: b.Seeds()}, nil
}

// open makes a seat's client; one that cannot be made is told in the history.
func (c *Clients) open(seat *workloads.Seat, more ...kgo.Opt) (*kgo.Client, bool) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.seeds...), kgo.ClientID(seat.Name),
		kgo.DialTimeout(seat.Timeout), kgo.RequestTimeoutOverhead(seat.Timeout), kgo.MetadataMinAge(metadataAgeMin),
	}, more...)...)
	if err != nil {
		seat.Record.Mark("load", true, fmt.Sprintf("%s: %v", seat.Name, err))
	}
	return client, err == nil
}
