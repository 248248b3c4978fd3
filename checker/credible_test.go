package checker

import (
	"errors"
	"strings"
	"testing"

	"tidemark/history"
)

// TestNoVerdictAgainstItsContractIsBelieved: a finding has the severity that its class has under the contract, or is a violation for what the rule names besides; and
// no verdict is more than its second judge lets it be. What another version of the checker gave is asked for less.
func TestNoVerdictAgainstItsContractIsBelieved(t *testing.T) {
	run := history.Run{Acks: -1, MinISR: 2, Factor: 3}
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
		v := Verdict{Format: 1, Checker: c.version, Status: c.status, Contract: c.contract, Porcupine: Second{Outcome: c.second}}
		if c.class != "" {
			v.Findings = []Finding{{Class: c.class, Severity: c.severity}}
		}
		err := v.Credible()
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrIncredible) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, expected %q", c.what, err, c.says)
		}
	}
}
