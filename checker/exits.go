package checker

import (
	"fmt"
	"strings"

	"tidemark/history"
)

// exitFindings tells of the brokers that exited by themselves, one finding for all: whatever the log lost or kept, and though somebody
// started them again.
func exitFindings(h *history.History, contract Contract) []Finding {
	f := Finding{Class: BrokerExited, Severity: contract.Severity(BrokerExited), Offset: history.UnknownOffset,
		Signature: string(BrokerExited), Witness: nobody()}
	for i := range h.Steps {
		s := &h.Steps[i]
		how, itself := strings.CutPrefix(s.Detail, history.ExitedByItself)
		if s.Kind != history.StepDown || !itself {
			continue
		}
		if f.Count++; f.Count == 1 {
			how = strings.TrimPrefix(strings.TrimPrefix(how, ","), ":")
			f.Text = fmt.Sprintf("Broker %d exited by itself at %s", s.Broker, clock(int64(s.Time)))
			if how = strings.TrimSpace(how); how != "" {
				f.Text += ", " + how
			}
			f.Text = strings.TrimSuffix(f.Text, ".") + ". Nobody had killed or stopped it."
		}
		if len(f.Witness.Steps) < maxWitnessSteps {
			f.Witness.Steps = append(f.Witness.Steps, *s)
		}
	}
	if f.Count == 0 {
		return nil
	}
	return []Finding{f}
}
