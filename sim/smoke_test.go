package sim

import (
	"fmt"
	"testing"
	"time"
)

func TestEcho(t *testing.T) {
	c := newCluster(t, Options{Seed: 1}, 3, func(f *fake) { f.onRequest = echo })
	c.run(func() {
		conn, err := c.Dial("a", 2, time.Second)
		c.must(err)
		for i := range 100 {
			c.must(conn.Send(fmt.Append(nil, "message ", i)))
			got, err := conn.Receive(time.Second)
			c.must(err)
			if string(got) != fmt.Sprint("message ", i) {
				t.Errorf("got %q", got)
			}
		}
		conn.Close()
	})
}

func BenchmarkEcho(b *testing.B) {
	c := newCluster(b, Options{Seed: 1, Until: 1 << 60}, 3, func(f *fake) { f.onRequest = echo })
	frame := make([]byte, 200)
	b.ReportAllocs()
	c.run(func() {
		conn, err := c.Dial("a", 2, time.Second)
		c.must(err)
		for b.Loop() {
			c.must(conn.Send(frame))
			_, err := conn.Receive(time.Second)
			c.must(err)
		}
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(c.Events()), "ns/message")
}
