package results

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/checker"
	"tidemark/history"
)

// findingView is a finding as the page shows it: told, then as fields, then step by step.
type findingView struct {
	Number    int
	Class     string
	Severity  string
	Where     string
	Times     string // how often it was found, unless its text says so
	Text      string
	Fields    []fact
	Steps     []stepView
	StepsName string
	StepsLeft int
	Ops       []int64
	OpsLeft   int
	OpsMore   string // that there may be more than a finding names
	Signature string
	Implied   []impliedView
	Diagram   *diagram // nil if nothing of it has a place in time, and of all but the first findings
}

// impliedView is what follows from a finding: anomalies of one class, the first in words.
type impliedView struct {
	Class string
	Where string
	Times string
	Text  string
	Ops   []int64
}

// stepView is a protocol step in words.
type stepView struct {
	At    string
	Kind  string
	Where string
	Text  string
}

const (
	witnessStepsMax = 60
	witnessOpsMax   = 20
	findingOps      = 16 // that the checker names of a finding
	removalsMax     = 20
	impliedMax      = 20
	inForceMax      = 16
)

func findingViews(findings []checker.Finding) (views []findingView, left int) {
	for i, f := range findings[:min(len(findings), findingsMax)] {
		view := findingView{
			Number:    i + 1,
			Class:     clip(string(f.Class), 80),
			Severity:  severityWord(f.Severity),
			Where:     whereWord(f.Partition, f.Offset),
			Times:     Times(f.Count, f.Text),
			Text:      clip(f.Told(), textRunesMax),
			Fields:    witnessFields(f),
			Ops:       f.Ops[:min(len(f.Ops), witnessOpsMax)],
			Signature: clip(f.Signature, textRunesMax),
			StepsName: "Protocol steps from its append to its loss",
		}
		view.OpsLeft = len(f.Ops) - len(view.Ops)
		if len(f.Ops) == findingOps && f.Count > 1 {
			view.OpsMore = fmt.Sprintf("; a finding names %d at most, and this one was made %d times", findingOps, f.Count)
		}
		if f.Invariant != "" {
			view.StepsName = "Invariants as they were broken"
		}
		steps := f.Witness.Steps
		for _, s := range steps[:min(len(steps), witnessStepsMax)] {
			view.Steps = append(view.Steps, viewStep(s))
		}
		view.StepsLeft = len(steps) - len(view.Steps)
		for _, m := range f.Implied[:min(len(f.Implied), impliedMax)] {
			view.Implied = append(view.Implied, impliedView{Class: clip(string(m.Class), 80), Where: whereWord(history.Partition{}, m.Offset), Times: Times(m.Count, m.Text),
				Text: clip(m.Text, textRunesMax), Ops: m.Ops[:min(len(m.Ops), witnessOpsMax)]})
		}
		views = append(views, view)
	}
	return views, len(findings) - len(views)
}

// Times says how often an anomaly was found that a text tells of once; "" for once, and where the text says so itself.
func Times(count int, text string) string {
	if count < 2 || strings.Contains(text, fmt.Sprintf("found %d times", count)) {
		return ""
	}
	return fmt.Sprintf("found %d times", count)
}

func severityWord(s checker.Severity) string {
	switch s {
	case checker.Violation, checker.Allowed:
		return string(s)
	default:
		return string(checker.Info)
	}
}

func whereWord(p history.Partition, o history.Offset) string {
	var words []string
	if p.Topic != "" {
		words = append(words, clip(p.String(), 120))
	}
	if o >= 0 {
		words = append(words, "offset "+offsetWord(o))
	}
	return strings.Join(words, ", ")
}

func viewStep(s history.Step) stepView {
	where := ""
	if s.Partition.Topic != "" {
		where = clip(s.Partition.String(), 80)
	}
	return stepView{At: at(s.Time), Kind: clip(string(s.Kind), 30), Where: where, Text: stepWord(s)}
}

// witnessFields lists what the witness knows. Of a finding without a message (not settled, say) little is left.
func witnessFields(f checker.Finding) []fact {
	w := f.Witness
	var fields []fact
	add := func(known bool, name, value string) {
		if known {
			fields = append(fields, fact{name, value})
		}
	}
	add(f.Invariant != "", "Invariant", clip(f.Invariant, 120))
	means := checker.InvariantMeans(f.Invariant)
	add(means != "", "Broken, it means that", means)
	told := w.Value != ""
	add(told, "Message", clip(w.Value, 400))
	add(f.Partition.Topic != "", "Partition", clip(f.Partition.String(), 120))
	add(w.Offset > 0 || told && w.Offset == 0, "Offset", offsetWord(w.Offset))
	add(told, "Producer", "process "+strconv.Itoa(int(w.Producer)))
	add(told, "Acknowledged", atNanos(w.Acked))
	add(told && w.Acked >= 0, "Acknowledged by", ackerWord(w))
	add(told && w.Acked >= 0, "In-sync replicas then", brokersWord(w.ISR))
	add(told && w.Acked >= 0, "Replicas that held it then", brokersWord(w.HeldBy))
	if in := w.Instead; in != nil {
		what := cmp.Or(clip(in.Value, 400), "another message")
		add(true, "Appended there instead", fmt.Sprintf("%s by %s in epoch %s at %s", what, brokerWord(in.Broker), epochWord(in.Epoch), atNanos(in.Time)))
	}
	if o := w.OtherAck; o != nil {
		add(true, "Acknowledged there too", fmt.Sprintf("%s of process %d by %s at %s", clip(o.Value, 400), o.Producer, brokerWord(o.AckedBy), atNanos(o.Acked)))
	}
	for _, r := range w.RemovedBy[:min(len(w.RemovedBy), removalsMax)] {
		add(true, "Not on "+brokerWord(r.Broker), removalWord(r))
	}
	add(len(w.RemovedBy) > removalsMax, "Not on further replicas", strconv.Itoa(len(w.RemovedBy)-removalsMax))
	for _, in := range w.Faults[:min(len(w.Faults), inForceMax)] {
		add(true, momentWord(in.When), inForceWord(in))
	}
	add(len(w.Faults) > inForceMax, "Further faults in force", strconv.Itoa(len(w.Faults)-inForceMax))
	add(w.Replaced != "", "At its offset now", clip(w.Replaced, 400))
	return fields
}

// ackerWord is who acknowledged a message, and whether it led then.
func ackerWord(w checker.Witness) string {
	if d := w.Deposed; d != nil {
		return fmt.Sprintf("%s, which had led in epoch %s, and from %s on followed %s in epoch %s",
			brokerWord(w.AckedBy), epochWord(w.AckEpoch), atNanos(d.Time), brokerWord(d.Leader), epochWord(d.Epoch))
	}
	return fmt.Sprintf("%s in epoch %s", brokerWord(w.AckedBy), epochWord(w.AckEpoch))
}

func removalWord(r checker.Removal) string {
	text := clip(r.How, 120)
	if r.From >= 0 && r.To >= 0 && r.From != r.To {
		text += fmt.Sprintf(", log %s → %s", offsetWord(r.From), offsetWord(r.To))
	}
	if r.Time > 0 {
		text += " at " + at(time.Duration(r.Time))
	}
	if r.Leader >= 0 && r.Time > 0 {
		text += fmt.Sprintf(", following %s in epoch %s", brokerWord(r.Leader), epochWord(r.Epoch))
	}
	return text
}

// momentWord says when a fault was in force.
func momentWord(m checker.Moment) string {
	switch m {
	case checker.WhenAcked:
		return "In force when acknowledged"
	case checker.WhenSent:
		return "In force while its producer waited"
	case checker.WhenLost:
		return "In force on the way to its loss"
	default:
		return "In force then"
	}
}

func inForceWord(in checker.InForce) string {
	return fmt.Sprintf("fault #%d: %s; %s, %s", in.Number, clip(in.What, 200), cmp.Or(struckWord(in.Brokers), "all"), in.Lasted(atNanos))
}

// struckWord names the brokers that a fault struck; "" is all, or clients.
func struckWord(brokers []history.BrokerID) string {
	switch len(brokers) {
	case 0:
		return ""
	case 1:
		return brokerWord(brokers[0])
	default:
		return "brokers " + brokersWord(brokers)
	}
}
