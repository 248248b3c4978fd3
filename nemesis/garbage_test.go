package nemesis

import (
	"reflect"
	"strings"
	"testing"

	"tidemark/internal/garbage"
)

// TestGarbagePlans spoils a plan with a fault of every kind, and repeats what may stand in one without end.
func TestGarbagePlans(t *testing.T) {
	const valid = `at 2s partition leader(orders/0) | rest for 5s
after 3 acks on orders/0 pause follower(orders/0), isr(orders/0) for 4s # why
after 2 elections clock 1, broker 2 at 1.05 for 1m30s
when isr(orders/0) = 1 powerfail leader(orders/0)
when leader(orders/1) = none elect follower(orders/1) on orders/1
at 0s partition rest -> 1,2
at 1m partition bridge random
at 1m partition ring for 1s
at 90s stop osr(orders/0)
at 91s loss 1, 2 -> rest at 0.25 for 2s
at 92s partition controller | 2 on port broker for 2s
at 93s freeze random for 2s
at 94s wipe broker 2 for 1s
at 95s lag 1 | 2 by 100ms jitter 50ms reorder 0.1 for 2s
at 96s lag rest -> controller by 3s
`
	inputs := garbage.Of([]byte(valid), 1)
	for _, part := range []string{"a", "1", " ", ",", "|", "->", "(", ")", "/", "#", "\n", "at ", "at 1s kill 1\n", "at 1s kill 1, ", "leader(", "orders/", "9", "\x00", "é", "\xff"} {
		for _, before := range []string{"", "at ", "at 1s kill ", "after ", "when leader(", "at 1s partition 1 | ", "at 1s loss 1 | 2 at ", "at 1s partition 1 | 2 on port "} {
			for _, size := range []int{textMax / 2, textMax, textMax + 1} {
				inputs = append(inputs, garbage.Input{Name: before + part + " again and again", Kind: garbage.Long,
					Data: []byte(before + strings.Repeat(part, size/len(part)))})
			}
		}
	}
	bound := garbage.Bound{Bytes: 64 << 10, Times: 64, Says: []string{"expected", "more than", "at most"}}
	accepted, refused := bound.Hold(t, inputs, func(in garbage.Input) error {
		p, err := Parse(string(in.Data))
		if err != nil {
			return err
		}
		if again, err := Parse(p.String()); err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%s: read as %q, written and read as %q, %v", in.Name, p, again, err)
		}
		return nil
	})
	if accepted == 0 || refused < 100 {
		t.Errorf("%d accepted, %d refused, expected some and at least 100", accepted, refused)
	}
}
