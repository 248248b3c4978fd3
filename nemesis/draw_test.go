package nemesis

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"tidemark/history"
	"tidemark/world"
)

// drawLine draws any line that the language can write.
func drawLine(t *rapid.T) Line {
	l := Line{Trigger: drawTrigger(t), Fault: drawFault(t)}
	if !instant(l.Fault.Kind) && rapid.Bool().Draw(t, "ends") {
		l.For = drawDuration(t, 1)
	}
	return l
}

func drawDuration(t *rapid.T, least int64) time.Duration {
	return time.Duration(rapid.Int64Range(least, int64(durationMax)).Draw(t, "duration"))
}

func drawPartition(t *rapid.T) history.Partition {
	return history.Partition{
		Topic: rapid.StringMatching(`[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,20}`).Draw(t, "topic"),
		Index: rapid.Int32Range(0, 1<<31-1).Draw(t, "index"),
	}
}

func drawBroker(t *rapid.T) history.BrokerID {
	return history.BrokerID(rapid.Int32Range(0, 1<<31-1).Draw(t, "broker"))
}

func drawTrigger(t *rapid.T) Trigger {
	tr := Trigger{Kind: TriggerKind(rapid.IntRange(0, int(WhenLeader)).Draw(t, "trigger"))}
	switch tr.Kind {
	case AtTime:
		tr.At = drawDuration(t, 0)
	case AfterCatches, AfterReleases:
		tr.Count = rapid.Int64Range(1, countMax).Draw(t, "count")
	case AfterAcks, AfterElections, AfterShrinks, AfterExpands:
		tr.Count = rapid.Int64Range(1, countMax).Draw(t, "count")
		if rapid.Bool().Draw(t, "on") {
			tr.Partition = drawPartition(t)
		}
	case WhenISR:
		tr.Count, tr.Partition = rapid.Int64Range(0, countMax).Draw(t, "count"), drawPartition(t)
	case WhenLeader:
		tr.Partition, tr.Broker = drawPartition(t), history.NoBroker
		if rapid.Bool().Draw(t, "some") {
			tr.Broker = drawBroker(t)
		}
	}
	if tr.Kind != AtTime && rapid.Bool().Draw(t, "since") {
		tr.At = drawDuration(t, 1)
	}
	if tr.Kind != AtTime && rapid.Bool().Draw(t, "later") {
		tr.Plus = drawDuration(t, 1)
	}
	return tr
}

func drawTarget(roles ...Role) *rapid.Generator[Target] {
	return rapid.Custom(func(t *rapid.T) Target {
		tg := Target{Role: rapid.SampledFrom(roles).Draw(t, "role")}
		switch tg.Role {
		case Number:
			tg.Broker = drawBroker(t)
		case Leader, Follower, ISR, OSR:
			tg.Partition = drawPartition(t)
		}
		return tg
	})
}

func drawSides(t *rapid.T, f *Fault, several *rapid.Generator[[]Target]) {
	f.Targets, f.Others = several.Draw(t, "left"), several.Draw(t, "right")
	switch rapid.IntRange(0, 2).Draw(t, "rest") {
	case 1:
		f.Targets = []Target{{Role: Rest}}
	case 2:
		f.Others = []Target{{Role: Rest}}
	}
}

func drawFault(t *rapid.T) Fault {
	single := drawTarget(Number, Leader, Follower, Controller, Random)
	several := rapid.SliceOfN(drawTarget(Number, Leader, Follower, ISR, OSR, Controller, Random), 1, 4)
	f := Fault{Kind: rapid.SampledFrom(append(slices.Clone(everything), world.CanLag)).Draw(t, "kind")}
	switch f.Kind {
	case world.CanPartition:
		f.Shape = Shape(rapid.IntRange(0, int(Bridge)).Draw(t, "shape"))
		switch f.Shape {
		case Ring:
		case Bridge:
			f.Targets = []Target{single.Draw(t, "bridge")}
		default:
			drawSides(t, &f, several)
		}
		if f.Others != nil {
			f.Port = rapid.SampledFrom([]world.Port{world.AnyPort, world.ControllerPort, world.BrokerPort}).Draw(t, "port")
		}
	case world.CanLoss:
		f.Shape = Shape(rapid.IntRange(0, int(OneWay)).Draw(t, "shape"))
		drawSides(t, &f, several)
		f.Share = rapid.Float64Range(shareMin, shareMax).Draw(t, "share")
	case world.CanLag:
		f.Shape = Shape(rapid.IntRange(0, int(OneWay)).Draw(t, "shape"))
		drawSides(t, &f, several)
		f.By = time.Duration(rapid.Int64Range(int64(lagMin), int64(lagMax)).Draw(t, "by"))
		f.Jitter = time.Duration(rapid.Int64Range(0, int64(f.By)).Draw(t, "jitter"))
		if rapid.Bool().Draw(t, "reorders") {
			f.Share = rapid.Float64Range(reorderMin, reorderMax).Draw(t, "share")
		}
	case world.CanReassign:
		f.Partition, f.Targets = drawPartition(t), rapid.SliceOfN(single, 1, 4).Draw(t, "replicas")
	case world.CanHold, world.CanDrop, world.CanLate, world.CanDelay, world.CanThrottle:
		f.Shape, f.API = OneWay, rapid.SampledFrom(append(world.APIs(), world.AnyAPI)).Draw(t, "API")
		f.Responses, f.Nth = rapid.Bool().Draw(t, "responses"), rapid.Int64Range(0, countMax).Draw(t, "nth")
		drawSides(t, &f, several)
		switch rapid.IntRange(0, 2).Draw(t, "clients") {
		case 1:
			f.Targets = []Target{{Role: Clients}}
		case 2:
			f.Others = []Target{{Role: Clients}}
		}
		switch f.Kind {
		case world.CanLate, world.CanDelay:
			f.By = drawDuration(t, 1)
		case world.CanThrottle:
			f.Bytes = rapid.Int64Range(throttleMin, throttleMax).Draw(t, "bytes a second")
		}
	case world.CanElect:
		f.Targets, f.Partition = []Target{single.Draw(t, "who")}, drawPartition(t)
	case world.CanClock:
		f.Targets = several.Draw(t, "who")
		f.Rate = rapid.Float64Range(rateMin, rateMax).Filter(func(r float64) bool { return r != 1 }).Draw(t, "rate")
	case world.CanIOError:
		f.Targets, f.OnRead = several.Draw(t, "who"), rapid.Bool().Draw(t, "on read")
	case world.CanSlowDisk:
		f.Targets, f.Rate = several.Draw(t, "who"), rapid.Float64Range(slowMin, slowMax).Draw(t, "times")
	default:
		f.Targets = several.Draw(t, "who")
	}
	return f
}
