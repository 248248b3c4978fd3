package docker

// Seeds are where clients on this machine find the brokers: the addresses by which the harness's own clients reach them.
func (c *Cluster) Seeds() []string {
	out := make([]string, len(c.machines))
	for i, m := range c.machines {
		out[i] = m.kafka
	}
	return out
}
