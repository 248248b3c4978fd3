package replica

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/broker/kafka"
)

// Each rule is held against a deliberately dumb version of itself: sets are counted, logs are walked record by record.

func offsets(t *rapid.T, name string) kafka.Offset {
	return kafka.Offset(rapid.IntRange(0, 12).Draw(t, name))
}

// drawLog draws a log as its records' epochs, ascending.
func drawLog(t *rapid.T, name string) []kafka.Epoch {
	log := make([]kafka.Epoch, rapid.IntRange(0, 8).Draw(t, name+" length"))
	epoch := kafka.Epoch(0)
	for i := range log {
		epoch += kafka.Epoch(rapid.IntRange(0, 2).Draw(t, name+" step"))
		log[i] = epoch
	}
	return log
}

// epochEnd walks a log for the largest epoch up to asked and where it ends; when every record is of a larger one, asked ends at 0.
func epochEnd(log []kafka.Epoch, asked kafka.Epoch) (kafka.Epoch, kafka.Offset) {
	found, end := asked, kafka.Offset(0)
	for i, e := range log {
		if e <= asked {
			found, end = e, kafka.Offset(i+1)
		}
	}
	return found, end
}

// TestTruncationMeetsTheLeadersLog: whatever two logs hold that leaders of distinct epochs wrote, asking, truncating and asking again ends,
// and what is left of the follower's log is a prefix of the leader's. Nothing that they share is cut.
func TestTruncationMeetsTheLeadersLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// One leader writes an epoch, from an offset on: two logs that hold the same epoch at an offset agree there and, for
		// that epoch's earlier records, before. So both are drawn as a shared prefix and tails of epochs that the other lacks.
		shared := drawLog(t, "shared")
		last := kafka.Epoch(0)
		if n := len(shared); n > 0 {
			last = shared[n-1]
		}
		tail := func(name string, parity kafka.Epoch) []kafka.Epoch {
			log := append([]kafka.Epoch(nil), shared...)
			epoch := last + 1
			for range rapid.IntRange(0, 6).Draw(t, name+" length") {
				epoch += kafka.Epoch(rapid.IntRange(0, 2).Draw(t, name+" step"))
				log = append(log, epoch*2+parity+100)
			}
			return log
		}
		leader, follower := tail("leader", 0), tail("follower", 1)
		for round := 0; ; round++ {
			if round > len(follower)+len(leader)+2 {
				t.Fatalf("no end: leader %v, follower %v", leader, follower)
			}
			if len(follower) == 0 {
				break
			}
			asked := follower[len(follower)-1]
			found, end := epochEnd(leader, asked)
			if !diverges(asked, kafka.Offset(len(follower)), found, end) {
				break
			}
			_, ownEnd := epochEnd(follower, found)
			to := truncationTarget(end, ownEnd, true, kafka.Offset(len(follower)))
			if to >= kafka.Offset(len(follower)) {
				t.Fatalf("nothing was cut: leader %v, follower %v", leader, follower)
			}
			follower = follower[:to]
		}
		if len(follower) > len(leader) {
			t.Fatalf("leader %v, follower %v", leader, follower)
		}
		for i, e := range follower {
			if leader[i] != e {
				t.Fatalf("leader %v, follower %v differ at %d", leader, follower, i)
			}
		}
		if len(follower) < len(shared) {
			t.Fatalf("cut to %d, the logs share %d", len(follower), len(shared))
		}
	})
}

// TestAck: an acks=all write is acknowledged only in the epoch it was appended in, once the high watermark has passed it, and by enough.
func TestAck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameEpoch := rapid.Bool().Draw(t, "same epoch")
		hw, required := offsets(t, "hw"), offsets(t, "required")
		isr, minISR := rapid.IntRange(0, 4).Draw(t, "isr"), rapid.IntRange(1, 4).Draw(t, "min")
		done, code := ack(sameEpoch, hw, required, isr, minISR)
		success := done && code == kafka.None
		if want := sameEpoch && hw >= required && isr >= minISR; success != want {
			t.Fatalf("acknowledged: %v, expected %v", success, want)
		}
		if want := !sameEpoch || hw >= required; done != want {
			t.Fatalf("answered: %v, expected %v", done, want)
		}
	})
}

// TestLeaderHWIsHeldByEveryMember: recount by hand, record by record.
func TestLeaderHWIsHeldByEveryMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := offsets(t, "old")
		end := old + offsets(t, "more")
		type follower struct {
			leo                       kafka.Offset
			inISR, caughtUp, eligible bool
		}
		followers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) follower {
			return follower{offsets(t, "leo"), rapid.Bool().Draw(t, "isr"), rapid.Bool().Draw(t, "caught up"), rapid.Bool().Draw(t, "eligible")}
		}), 0, 4).Draw(t, "followers")
		smallest := end
		for _, f := range followers {
			if countsForHW(f.inISR, f.caughtUp, f.eligible) {
				smallest = min(smallest, f.leo)
			}
		}
		hw := leaderHW(old, smallest)
		want := old
		for o := old; o < end; o++ { // record o is committed if everyone who counts has it
			for _, f := range followers {
				if (f.inISR || f.caughtUp && f.eligible) && f.leo <= o {
					o = end
				}
			}
			if o < end {
				want = o + 1
			}
		}
		if hw != want {
			t.Fatalf("high watermark %d, expected %d (old %d, end %d, %+v)", hw, want, old, end, followers)
		}
	})
}

func TestAdmitReplicaFetch(t *testing.T) {
	for _, c := range []struct {
		name             string
		leads            bool
		asked, own       kafka.Epoch
		assigned         bool
		sent, registered kafka.BrokerEpoch
		want             kafka.Code
	}{
		{"equal epochs", true, 3, 3, true, 7, 7, kafka.None},
		{"an older epoch", true, 2, 3, true, 7, 7, kafka.FencedLeaderEpoch},
		{"no epoch", true, -1, 3, true, 7, 7, kafka.FencedLeaderEpoch},
		{"a newer epoch", true, 4, 3, true, 7, 7, kafka.UnknownLeaderEpoch},
		{"not the leader", false, 3, 3, true, 7, 7, kafka.NotLeaderOrFollower},
		{"not assigned", true, 3, 3, false, 7, 7, kafka.NotLeaderOrFollower},
		{"an older incarnation", true, 3, 3, true, 6, 7, kafka.NotLeaderOrFollower},
		{"no broker epoch", true, 3, 3, true, -1, 7, kafka.NotLeaderOrFollower},
		{"registered since the leader's metadata", true, 3, 3, true, 8, 7, kafka.None},
	} {
		if got := admitReplicaFetch(c.leads, c.asked, c.own, c.assigned, c.sent, c.registered); got != c.want {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
	}
}

func TestAdmitAppend(t *testing.T) {
	for _, c := range []struct {
		acks  int16
		leads bool
		isr   int
		want  kafka.Code
	}{
		{-1, true, 2, kafka.None}, {-1, true, 1, kafka.NotEnoughReplicas}, {1, true, 1, kafka.None}, {0, true, 0, kafka.None},
		{2, true, 2, kafka.InvalidRequiredAcks}, {-2, true, 2, kafka.InvalidRequiredAcks}, {-1, false, 2, kafka.NotLeaderOrFollower},
	} {
		if got := admitAppend(c.acks, c.leads, c.isr, 2); got != c.want {
			t.Errorf("acks %d, leads %v, ISR of %d: %v, expected %v", c.acks, c.leads, c.isr, got, c.want)
		}
	}
}

func TestMayJoin(t *testing.T) {
	for _, c := range []struct {
		name              string
		leo, hw, start    kafka.Offset
		eligible, pending bool
		want              bool
	}{
		{"at the high watermark and the epoch start", 5, 5, 5, true, false, true},
		{"below the high watermark", 4, 5, 3, true, false, false},
		{"below the epoch start", 5, 3, 6, true, false, false},
		{"not eligible", 9, 5, 5, false, false, false},
		{"a change is under way", 9, 5, 5, true, true, false},
	} {
		if got := mayJoin(c.leo, c.hw, c.start, c.eligible, c.pending); got != c.want {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
	}
}

func TestEligible(t *testing.T) {
	if !eligible(true, false, false, 7, 7) {
		t.Error("a registered, running, unfenced broker is not eligible")
	}
	if eligible(false, false, false, 7, 7) || eligible(true, true, false, 7, 7) || eligible(true, false, true, 7, 7) ||
		eligible(true, false, false, 6, 7) || eligible(true, false, false, 8, 7) || eligible(true, false, false, kafka.NoBrokerEpoch, 7) {
		t.Error("a broker is eligible that is unknown, fenced, stopping, or another incarnation")
	}
}

func TestCaughtUp(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name     string
		leo, end kafka.Offset
		since    time.Duration
		messages int64
		want     bool
	}{
		{"has everything, however long ago", 5, 5, 100 * second, 0, true},
		{"had everything just now", 4, 5, second, 0, true},
		{"at the limit", 4, 5, 10 * second, 0, true},
		{"beyond it", 4, 5, 10*second + 1, 0, false},
		{"never fetched", -1, 0, 11 * second, 0, false},
		{"two messages behind of two", 3, 5, second, 2, true},
		{"three behind", 2, 5, second, 2, false},
		{"a new member counts from the start", -1, 2, second, 2, true},
	} {
		if got := caughtUp(c.leo, c.end, c.since, 10*second, c.messages); got != c.want {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
	}
}

func TestSmallRules(t *testing.T) {
	for name, holds := range map[string]bool{
		"min.insync.replicas never exceeds the replicas":     effectiveMinISR(3, 2) == 2 && effectiveMinISR(1, 2) == 1,
		"an epoch not given is not checked":                  admitEpoch(kafka.NoEpoch, 3) == kafka.None,
		"an older epoch is fenced":                           admitEpoch(2, 3) == kafka.FencedLeaderEpoch,
		"a newer one is unknown":                             admitEpoch(4, 3) == kafka.UnknownLeaderEpoch,
		"the high watermark waits below min.insync.replicas": !hwMayAdvance(1, 2, false) && hwMayAdvance(2, 2, false),
		"in classic mode it does not":                        hwMayAdvance(1, 2, true),
		"a follower's high watermark stays inside its log":   followerHW(3, 9, 5) == 5,
		"and does not go back":                               followerHW(5, 3, 7) == 5,
		"a recovered high watermark is inside the log":       recoveredHW(9, 2, 5) == 5 && recoveredHW(0, 2, 5) == 2,
		"an answer to another epoch is none":                 !answersRequest(1, 2, 5, 5) && answersRequest(2, 2, 5, 5),
		"nor to another offset":                              !answersRequest(2, 2, 5, 6),
		"a batch is never younger than its leader":           mayAppendFetched(3, 3) && !mayAppendFetched(4, 3) && !mayAppendFetched(-1, 3),
		"a consumer reads below the high watermark":          consumerBound(false, 3, 5) == 3,
		"a follower reads everything":                        consumerBound(true, 3, 5) == 5,
		"latest is known from the epoch's start on":          latestKnown(5, 5) && !latestKnown(4, 5),
		"only the registered incarnation serves":             mayServe(7, 7) && !mayServe(7, 6) && !mayServe(6, 7),
		"a broker without a registration does not":           !mayServe(kafka.NoBrokerEpoch, kafka.NoBrokerEpoch),
	} {
		if !holds {
			t.Error(name)
		}
	}
}

// TestWhoIsInDoubtCounts: whatever is proposed, lost and refused on one partition epoch, everyone whom a copy of unknown outcome would
// let in is in the maximal ISR, and nobody else is but the committed and pending members.
func TestWhoIsInDoubtCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		broker := rapid.Custom(func(t *rapid.T) kafka.BrokerID { return kafka.BrokerID(rapid.IntRange(1, 5).Draw(t, "broker")) })
		isr := rapid.SliceOfNDistinct(broker, 1, 4, rapid.ID).Draw(t, "isr")
		var doubtful []kafka.BrokerID
		afloat := map[kafka.BrokerID]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "proposals") {
			pending := rapid.SliceOfNDistinct(broker, 1, 5, rapid.ID).Draw(t, "pending")
			unknown := rapid.Bool().Draw(t, "a copy's outcome is unknown")
			doubtful = inDoubt(isr, pending, doubtful, unknown)
			for _, b := range pending {
				if unknown && !slices.Contains(isr, b) {
					afloat[b] = true
				}
			}
		}
		maximal := maximalISR(isr, nil, doubtful)
		for b := kafka.BrokerID(1); b <= 5; b++ {
			if got, want := slices.Contains(maximal, b), slices.Contains(isr, b) || afloat[b]; got != want {
				t.Fatalf("%d counts: %v, expected %v; ISR %v, in doubt %v", b, got, want, isr, doubtful)
			}
		}
	})
}
