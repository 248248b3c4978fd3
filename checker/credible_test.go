package checker

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark/checker/linear"
	"tidemark/history"
)

// TestNoVerdictAgainstItsContractIsBelieved: a finding has the severity that its class has under the contract, or is a violation for what the rule names besides; and
// no verdict is more than its second judge lets it be. What another version of the checker gave is asked for less.
func TestNoVerdictAgainstItsContractIsBelieved(t *testing.T) {
	run := history.Run{World: "sim", Acks: -1, MinISR: 2, Factor: 3}
	all, one := ContractOf(run), ContractOf(history.Run{Acks: 1, MinISR: 2, Factor: 3})
	for _, c := range []struct {
		what     string
		status   Status
		contract Contract
		class    Class // of the one finding, "" for none
		severity Severity
		second   string
		version  string
		says     string // "" is believed
	}{
		{"a loss", Invalid, all, LostWrite, Violation, Objects, Version, ""},
		{"a loss that was made allowed", Valid, all, LostWrite, Allowed, Agrees, Version, "finding 1 is a lost acknowledged write with severity allowed, expected violation under its contract: acks -1"},
		{"a loss that was made information", Valid, all, LostWrite, Info, Agrees, Version, "with severity info, expected violation"},
		{"a loss under acks=1", Valid, one, LostWrite, Allowed, Agrees, Version, ""},
		{"a loss under acks=1 that was made a violation", Invalid, one, LostWrite, Violation, Agrees, Version, "with severity violation, expected allowed"},
		{"two values where replicas are apart", Invalid, one, TwoValues, Violation, Agrees, Version, ""},
		{"trimmed", Valid, all, Trimmed, Info, Agrees, Version, ""},
		{"a class that there is not", Valid, all, "bad luck", Info, Agrees, Version, `finding 1 is of the class "bad luck", expected one of those`},
		{"an older version's", Valid, all, "bad luck", Info, OutOfBudget, "tidemark-0", ""},
		{"an objection that is no finding", Valid, all, "", "", Objects, Version, "its second judge objects, and none of its 0 findings is a violation"},
		{"an objection, by an older version", Unknown, all, "", "", Objects, "tidemark-0", "its second judge objects"},
		{"out of budget and valid", Valid, all, "", "", OutOfBudget, Version, "it is valid, and its second judge ran out of its budget, expected unknown"},
		{"out of budget", Unknown, all, "", "", OutOfBudget, Version, ""},
	} {
		run := run
		run.Acks = c.contract.Acks
		v := Verdict{Format: 1, Checker: c.version, Status: c.status, Reason: "A baseline, without faults.", Contract: c.contract, Stats: Stats{Sends: 1, Acked: 1, Polls: 1, Records: 1}, Porcupine: Second{Outcome: c.second}}
		switch c.second {
		case Objects:
			v.Porcupine.Windows, v.Porcupine.Where = 1, []linear.Stretch{{}}
		case OutOfBudget:
			v.Porcupine.Windows, v.Porcupine.Unknown = 1, 1
		}
		if c.class != "" {
			v.Findings = []Finding{{Class: c.class, Severity: c.severity, Signature: string(c.class), Count: 1}}
		}
		err := v.Credible(run)
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrIncredible) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, expected %q", c.what, err, c.says)
		}
	}
}

// TestNoVerdictThatContradictsItselfIsBelieved changes one thing of a verdict at a time: of a run that lost writes, of a valid one, and of a baseline. What
// another version of the checker gave is held to what counts are, and to no rule of this one's.
func TestNoVerdictThatContradictsItselfIsBelieved(t *testing.T) {
	g := newGenerator(3, 2000)
	h := g.generate()
	faulty, calm := testRun(g.partitions), testRun(g.partitions)
	calm.Plan = ""
	quiet := *h
	quiet.Faults = nil
	stats := func(change func(s *Stats)) func(*Verdict) { return func(v *Verdict) { change(&v.Stats) } }
	type changed struct {
		what   string
		change func(v *Verdict)
		says   string // "" is believed
	}
	for _, of := range []struct {
		name string
		run  history.Run
		v    Verdict
		with []changed
	}{
		{"lost", testRun(1), Check(testRun(1), lostByElection(), Options{PorcupineSteps: 1_000_000}), []changed{
			{"as it was given", func(*Verdict) {}, ""},
			{"the signature of another class", func(v *Verdict) { v.Findings[0].Signature = "phantom: election" },
				`finding 1 is a lost acknowledged write with signature "phantom: election", expected one that begins with its class`},
			{"no signature", func(v *Verdict) { v.Findings[0].Signature = "" }, `with signature ""`},
			{"a finding of none", func(v *Verdict) { v.Findings[0].Count = 0 }, "finding 1 is a lost acknowledged write with count 0, expected 1 to"},
			{"a finding of fewer than none", func(v *Verdict) { v.Findings[0].Count = -3 }, "with count -3, expected 1 to"},
			{"more losses than sends", func(v *Verdict) { v.Findings[0].Count = 1000 }, "findings up to 1 tell of 1000 writes that were lost, expected at most Sends"},
			{"told twice", func(v *Verdict) { v.Findings = append([]Finding{v.Findings[0]}, v.Findings...) }, "finding 2 is finding 1 again, expected each once: a lost acknowledged write on orders/0 at offset"},
			{"what follows before its cause", func(v *Verdict) {
				late := v.Findings[0]
				late.Class, late.Signature = Nonlinearizable, string(Nonlinearizable)
				v.Findings = append([]Finding{late}, v.Findings...)
			}, "finding 2 is a lost acknowledged write with severity violation behind a not linearizable with severity violation, expected it before"},
			{"something implied that there is not", func(v *Verdict) { v.Findings[0].Implied = []Implied{{Class: "bad luck", Count: 1}} }, `finding 1 implies 1 of the class "bad luck"`},
			{"nothing implied", func(v *Verdict) { v.Findings[0].Implied = []Implied{{Class: UncommittedRead}} }, "finding 1 implies 0 of the class"},
			{"no reason", func(v *Verdict) { v.Reason = "" }, "its reason is empty, expected a sentence"},
			{"another contract", func(v *Verdict) { v.Contract.Durable = false }, "its contract is {"},
		}},
		{"valid", faulty, valid(Check(faulty, h, Options{PorcupineSteps: 1_000_000})), []changed{
			{"as it was given", func(*Verdict) {}, ""},
			{"nothing acknowledged", stats(func(s *Stats) { s.Failed, s.Acked = s.Failed+s.Acked, 0 }), "it is valid, expected vacuous: No write was acknowledged."},
			{"nothing read", stats(func(s *Stats) { s.Records = 0 }), "it is valid, expected vacuous: No record was read."},
			{"faults of which none was observed", stats(func(s *Stats) { s.FaultsObserved, s.FaultsByKind = 0, nil }), "it is valid, expected vacuous: The plan has faults, and none of them was observed to take effect."},
			{"none of the plan's faults", stats(func(s *Stats) { s.Faults, s.FaultsObserved, s.FaultsByKind = 0, 0, nil }), "The plan has faults, and none of them was observed"},
			{"a baseline with faults", func(v *Verdict) { v.Reason = "A baseline, without faults: so it says." },
				`it is valid with 1 fault, and its reason is "A baseline, without faults: so it says."`},
			{"fewer acknowledged than none", stats(func(s *Stats) { s.Acked -= 10_000 }), "expected 0 to 1000000000000"},
			{"more acknowledged than sent", stats(func(s *Stats) { s.Acked += 5 }), "expected Sends together, "},
			{"more in the log than unknown", stats(func(s *Stats) { s.UnknownInLog = s.Unknown + 1 }), "UnknownInLog is "},
			{"records of no poll", stats(func(s *Stats) { s.Polls = 0 }), "and Polls is 0, expected a poll that they were given to"},
			{"more faults observed than requested", stats(func(s *Stats) { s.FaultsObserved, s.FaultsByKind = 2, map[string]int64{"kill": 2} }), "FaultsObserved is 2, expected at most Faults, 1"},
			{"kinds that are not all", stats(func(s *Stats) { s.FaultsByKind = map[string]int64{} }), "FaultsByKind has 0 together, expected FaultsObserved, 1"},
			{"a kind fewer than none", stats(func(s *Stats) { s.FaultsByKind = map[string]int64{"kill": 2, "wipe": -1} }), "FaultsByKind of "},
			{"fewer truncations than none", stats(func(s *Stats) { s.Truncations = -1 }), "Truncations is -1, expected 0 to"},
			{"a second judge of no word", func(v *Verdict) { v.Porcupine.Outcome = "shrugs" }, `its second judge has outcome "shrugs", expected agrees, objects, unknown or not asked`},
			{"an agreement without answers", func(v *Verdict) { v.Porcupine.Unknown = 1 }, "its second judge agrees, and gave no answer on 1 window"},
			{"more windows without answer than windows", func(v *Verdict) { v.Porcupine.Unknown = v.Porcupine.Windows + 1 }, "its second judge gave no answer on"},
			{"windows of one that was not asked", func(v *Verdict) { v.Porcupine.Outcome = NotAsked }, "its second judge was not asked, and had"},
			{"an older version's, that nothing was acknowledged in", func(v *Verdict) {
				v.Checker, v.Stats.Sends, v.Stats.Acked = "tidemark-0", v.Stats.Failed+v.Stats.Unknown, 0
			}, ""},
			{"an older version's, whose counts do not add up", func(v *Verdict) { v.Checker, v.Stats.Acked = "tidemark-0", 0 }, "expected Sends together"},
		}},
		{"baseline", calm, Check(calm, &quiet, Options{PorcupineSteps: 1_000_000}), []changed{
			{"as it was given", func(*Verdict) {}, ""},
			{"a baseline that does not say so", func(v *Verdict) { v.Reason = "All is well." }, `it is valid with 0 faults, and its reason is "All is well.", expected one that begins with "A baseline, without faults"`},
		}},
	} {
		if status := of.v.Status; of.name == "lost" && status != Invalid || of.name != "lost" && status != Valid {
			t.Fatalf("%s: it is %s: %s", of.name, status, of.v.Reason)
		}
		for _, c := range of.with {
			v := of.v
			v.Findings = slices.Clone(v.Findings)
			c.change(&v)
			if err := v.Credible(of.run); (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrIncredible) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s: %s: %v, expected %q", of.name, c.what, err, c.says)
			}
		}
	}
}

// valid is a verdict as it were of a run whose one fault was seen and changed something.
func valid(v Verdict) Verdict {
	v.Status, v.Reason = Valid, "All agrees."
	v.Stats.Faults, v.Stats.FaultsObserved, v.Stats.FaultsByKind = 1, 1, map[string]int64{"kill": 1}
	return v
}
