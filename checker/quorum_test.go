package checker

import (
	"testing"
	"time"

	"tidemark/history"
)

// TestQuorumInvariants breaks each invariant of the controller quorum once, by hand, beside states that are legal.
func TestQuorumInvariants(t *testing.T) {
	legal := []QuorumView{
		{Member: 1, Term: 1, Leads: true},
		{Member: 1, Term: 1, Last: 2, Leads: true, Applied: []uint64{11, 12}, Index: 2},
		{Member: 2, Term: 1, Applied: []uint64{11}, Index: 1},
		{Member: 2, Term: 2, Last: 3, Leads: true, Applied: []uint64{11, 12, 13}, Index: 3, From: 1},
		{Member: 1, Term: 2, Applied: []uint64{11, 12, 13}, Index: 3, From: 2},
		{Member: 1, Term: 2, Applied: []uint64{11, 12}, Index: 2}, // a new incarnation applies from the first entry on
		{Member: 3, Term: 2, Last: 3, Told: QuorumPromise{Term: 2, Vote: 2, Acked: 3}},
	}
	for _, c := range []struct {
		name string
		then QuorumView
		want string
	}{
		{"two leaders in a term", QuorumView{Member: 3, Term: 2, Last: 3, Leads: true}, ElectionSafety},
		{"another entry at an index", QuorumView{Member: 3, Term: 2, Applied: []uint64{11, 99}, Index: 2}, MetadataLogMatching},
		{"a leader that applies another entry", QuorumView{Member: 3, Term: 3, Last: 3, Leads: true, Applied: []uint64{11, 12, 14}, Index: 3, From: 2}, MetadataLogMatching},
		{"a leader without what was applied", QuorumView{Member: 3, Term: 3, Last: 2, Leads: true}, MetadataLeaderCompleteness},
		{"a snapshot under another entry's name", QuorumView{Member: 3, Term: 2, Last: 3, Applied: []uint64{11}, Index: 2}, MetadataLogMatching},
		{"a snapshot of what nobody applied", QuorumView{Member: 3, Term: 2, Last: 9, Applied: []uint64{19}, Index: 9}, MetadataLogMatching},
		{"legal: a snapshot, and what is after it", QuorumView{Member: 3, Term: 2, Last: 4, Applied: []uint64{12, 13, 14}, Index: 4}, ""},
		{"a vote that was forgotten", QuorumView{Member: 3, Term: 2, Last: 3, Began: true, Told: QuorumPromise{Term: 2, Vote: history.NoBroker, Acked: 3}}, VoterDurability},
		{"a term that was forgotten", QuorumView{Member: 3, Term: 1, Last: 3, Began: true, Told: QuorumPromise{Term: 1, Vote: 1, Acked: 3}}, VoterDurability},
		{"an entry that was forgotten", QuorumView{Member: 3, Term: 2, Last: 2, Began: true, Told: QuorumPromise{Term: 2, Vote: 2, Acked: 2}}, VoterDurability},
		{"two changes of the voters at once", QuorumView{Member: 2, Term: 2, Last: 5, Leads: true, Changing: 2}, OneVoterChange},
		{"legal: one change of the voters", QuorumView{Member: 2, Term: 2, Last: 4, Leads: true, Changing: 1}, ""},
		{"legal: a later term after a restart", QuorumView{Member: 3, Term: 3, Last: 3, Began: true, Told: QuorumPromise{Term: 3, Vote: history.NoBroker, Acked: 3}}, ""},
		{"legal: an entry replaced by a new leader's", QuorumView{Member: 3, Term: 3, Last: 3, Told: QuorumPromise{Term: 2, Vote: 2, Acked: 2}}, ""},
		{"legal: a leader of a term that is over", QuorumView{Member: 1, Term: 1, Last: 2, Leads: true}, ""},
		{"legal: the same leader again", QuorumView{Member: 2, Term: 2, Last: 3, Leads: true, Applied: []uint64{11, 12, 13}, Index: 3, From: 3}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := NewInvariants(ContractOf(history.Run{Acks: -1, MinISR: 2, Factor: 3, Beyond: true}))
			for i, q := range append(legal, c.then) {
				v.Quorum(time.Duration(i)*time.Second, q)
			}
			switch broken := v.Broken(); {
			case c.want == "" && len(broken) > 0:
				t.Errorf("broke %+v, want nothing", broken)
			case c.want != "" && (len(broken) != 1 || broken[0].Name != c.want):
				t.Errorf("broke %+v, want %s", broken, c.want)
			}
		})
	}
}
