package nemesis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"tidemark/history"
	"tidemark/world"
)

// TestBudget plays what happens to the replicas of one partition and asks what is inside the budget. Every line of a scenario
// advances time by a second:
//
//	kill 1 | powerfail 1 | wipe 1 | stop 1 | start 1
//	                                          what happened to a broker
//	see isr=12 [leader=1] [up=123] [new=2] [short=3]
//	                                          an observation (brokers 1, 2, 3; defaults: leader the first, all up); the new
//	                                          ones have not heard of their registration, so that the old one may be meant;
//	                                          the logs of the short ones end below the leader's high watermark
//	wait 20s
//	ask kill 1,2 [others=1] [calm=1s]         whether it would be inside, and what is unclean (defaults: no other fault, and
//	                                          none for a minute)
func TestBudget(t *testing.T) {
	datadriven.Walk(t, "testdata/budget", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			b := Budget{MinISR: 2, ELR: !d.HasArg("classic"), Ignored: d.HasArg("ignored")}
			d.MaybeScanArgs(t, "min", &b.MinISR)
			var u Unclean
			s := onePartition("123", "", "123")
			var now time.Duration
			var out strings.Builder
			for line := range strings.SplitSeq(d.Input, "\n") {
				now += time.Second
				words := strings.Fields(line)
				switch words[0] {
				case "kill", "powerfail", "wipe":
					u.Down(s, oneBroker(words[1]), words[0] != "kill")
				case "stop":
					u.Stopped(s, oneBroker(words[1]))
				case "start":
					u.Started(s, oneBroker(words[1]), now)
				case "wait":
					more, err := time.ParseDuration(words[1])
					if err != nil {
						t.Fatal(err)
					}
					now += more
				case "see":
					args := map[string]string{"up": "123"}
					for _, w := range words[1:] {
						k, v, _ := strings.Cut(w, "=")
						args[k] = v
					}
					s = onePartition(args["isr"], args["leader"], args["up"])
					for i := range s.Partitions[0].Replicas {
						r := &s.Partitions[0].Replicas[i]
						if strings.Contains(args["new"], fmt.Sprint(r.Broker)) {
							r.Epoch, r.Leads = -1, false
						}
						if r.LEO, r.HW = 10, 10; strings.Contains(args["short"], fmt.Sprint(r.Broker)) {
							r.LEO = 9
						}
					}
					u.See(s, now)
				case "ask":
					f := Strike{Kind: world.Ability(words[1]), Calm: time.Minute}
					for w := range strings.SplitSeq(words[2], ",") {
						f.Targets = append(f.Targets, oneBroker(w))
					}
					for _, w := range words[3:] {
						var err error
						if n, ok := strings.CutPrefix(w, "others="); ok {
							f.Others, err = strconv.Atoi(n)
						} else {
							f.Calm, err = time.ParseDuration(strings.TrimPrefix(w, "calm="))
						}
						if err != nil {
							t.Fatal(err)
						}
					}
					why := b.Refuse(s, &u, f)
					if why == "" {
						why = "inside"
					}
					fmt.Fprintf(&out, "%s: %s; unclean now:%s\n", line, why, uncleanText(&u))
				default:
					t.Fatalf("unknown line %q", line)
				}
			}
			return out.String()
		})
	})
}

func oneBroker(s string) history.BrokerID { return history.BrokerID(s[0] - '0') }

func onePartition(isr, leader, up string) history.ClusterState {
	p := history.PartitionState{Partition: testParts[0], Leader: history.NoBroker, Epoch: 1}
	for _, c := range isr {
		p.ISR = append(p.ISR, oneBroker(string(c)))
	}
	if leader != "" {
		p.Leader = oneBroker(leader)
	} else if len(p.ISR) > 0 {
		p.Leader = p.ISR[0]
	}
	for b := history.BrokerID(1); b <= 3; b++ {
		alive := strings.Contains(up, string(rune('0'+b)))
		p.Replicas = append(p.Replicas, history.ReplicaState{Broker: b, Up: alive, Leads: alive && b == p.Leader, Epoch: p.Epoch})
	}
	return history.ClusterState{Partitions: []history.PartitionState{p}}
}

func uncleanText(u *Unclean) string {
	s := ""
	for b := history.BrokerID(1); b <= 3; b++ {
		if unclean, lost := u.Has(testParts[0], b); lost {
			s += fmt.Sprintf(" %d (lost data)", b)
		} else if unclean {
			s += fmt.Sprintf(" %d", b)
		}
	}
	if s == "" {
		return " none"
	}
	return s
}

// TestBudgetKeepsItsWord plays random histories of faults that the budget allowed: at no time are min.insync.replicas replicas
// unclean while one of them lost data. The sets here are kept by hand, from the contract's own words.
func TestBudgetKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Budget{MinISR: rapid.IntRange(1, 3).Draw(t, "min"), ELR: rapid.Bool().Draw(t, "elr")}
		var u Unclean
		isr := map[history.BrokerID]bool{1: true, 2: true, 3: true}
		unclean, lost, down, booting := map[history.BrokerID]bool{}, map[history.BrokerID]bool{}, map[history.BrokerID]bool{}, map[history.BrokerID]bool{}
		state := func() history.ClusterState {
			text := ""
			for id := history.BrokerID(1); id <= 3; id++ {
				if isr[id] {
					text += fmt.Sprint(id)
				}
			}
			s := onePartition(text, "", "123")
			for i := range s.Partitions[0].Replicas {
				if r := &s.Partitions[0].Replicas[i]; booting[r.Broker] {
					r.Epoch, r.Leads = -1, false
				}
			}
			return s
		}
		for now := time.Second; now < registeredWithin; now += time.Second {
			id := history.BrokerID(rapid.IntRange(1, 3).Draw(t, "broker"))
			switch what := rapid.SampledFrom([]string{"kill", "powerfail", "wipe", "start", "register", "leave", "join", "revive"}).Draw(t, "what"); {
			case (what == "kill" || what == "powerfail" || what == "wipe") && !down[id]:
				loses := what != "kill"
				if b.Refuse(state(), &u, Strike{Kind: world.Ability(what), Targets: []history.BrokerID{id}, Calm: time.Minute}) != "" {
					continue
				}
				u.Down(state(), id, loses)
				down[id], unclean[id], lost[id] = true, true, lost[id] || loses
			case what == "start" && down[id]:
				u.Started(state(), id, now)
				down[id], booting[id] = false, true
			case what == "register" && booting[id]:
				booting[id], isr[id] = false, false
			case what == "leave":
				isr[id] = false
			case what == "join" && !down[id] && !booting[id] && !isr[id]:
				isr[id], unclean[id], lost[id] = true, false, false
			case what == "revive" && (down[id] || booting[id]):
				isr[id] = true
			}
			u.See(state(), now)
			n, gone := 0, false
			for id := history.BrokerID(1); id <= 3; id++ {
				if unclean[id] {
					n++
					gone = gone || lost[id]
				}
				if seen, _ := u.Has(testParts[0], id); unclean[id] && !seen {
					t.Fatalf("broker %d counts as clean at %v, before it is back in the ISR", id, now)
				}
			}
			if gone && n > 1 && !b.ELR {
				t.Fatalf("%d replicas are unclean at %v and one lost data, in classic mode", n, now)
			}
			if n >= b.MinISR && gone {
				t.Fatalf("%d replicas are unclean at %v and one lost data, min.insync.replicas is %d", n, now, b.MinISR)
			}
		}
	})
}
