package history

// The clients that a run's load may come from, as Run.Client names them; "" is ClientRaw.
const (
	ClientRaw   = "raw"   // the workloads' own: sends each value once, and never again
	ClientFranz = "franz" // franz-go, as its users run it: sends a value again until it is acknowledged or too old
	ClientBoth  = "both"  // half of the producers and half of the consumers each
)

// Franz is how many of a run's producers and consumers are franz-go's: the last of each.
func (r *Run) Franz() (producers, consumers int) {
	switch r.Client {
	case ClientFranz:
		return r.Writers, r.Readers
	case ClientBoth:
		return r.Writers / 2, r.Readers / 2
	}
	return 0, 0
}

// Retries reports whether the producer that a process belongs to may have sent a value more than once. A client goes on under process
// numbers that are apart by the count of all clients (see Op): producers, consumers, the one that settles and the one that reads at the
// end. A client of franz-go's, and an idempotent one, has several operations under way, each under a number of its own.
func (r *Run) Retries(process int32) bool {
	producers, _ := r.Franz()
	if r.Idempotent {
		producers = r.Writers
	}
	clients := r.Writers + r.Readers + 2
	if producers <= 0 || process < 0 || clients <= 0 {
		return false
	}
	client := int(process) % clients
	return client >= r.Writers-producers && client < r.Writers
}

// Reticent reports whether the consumer that a process belongs to is franz-go's: what its broker told it, and where it stands, it keeps to itself,
// so that an operation's epoch, position and high watermark are what it gave out and not what was on the wire.
func (r *Run) Reticent(process int32) bool {
	_, consumers := r.Franz()
	clients := r.Writers + r.Readers + 2
	if consumers <= 0 || process < 0 || clients <= 0 {
		return false
	}
	client := int(process) % clients
	return client >= r.Writers+r.Readers-consumers && client < r.Writers+r.Readers
}
