package history

import "testing"

// TestWhoRetries: the last half of the producers are franz-go's, under every process number that they have had; nobody else retries.
func TestWhoRetries(t *testing.T) {
	for _, tt := range []struct {
		client string
		want   map[int32]bool // of 5 producers, 4 consumers, the settler and the finisher
	}{
		{"", nil},
		{ClientRaw, nil},
		{ClientBoth, map[int32]bool{3: true, 4: true}},
		{ClientFranz, map[int32]bool{0: true, 1: true, 2: true, 3: true, 4: true}},
	} {
		r := Run{Client: tt.client, Writers: 5, Readers: 4}
		for process := range int32(44) {
			if got := r.Retries(process); got != tt.want[process%11] {
				t.Errorf("client %q: process %d retries: %t", tt.client, process, got)
			}
		}
		if r.Retries(-1) {
			t.Errorf("client %q: nobody retries", tt.client)
		}
	}
	both := Run{Client: ClientBoth, Writers: 5, Readers: 4}
	if p, c := both.Franz(); p != 2 || c != 2 {
		t.Errorf("%d producers and %d consumers of 5 and 4, expected 2 and 2", p, c)
	}
}
