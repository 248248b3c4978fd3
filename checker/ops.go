package checker

import "tidemark/history"

// told reports whether the log acknowledged a send.
func told(op *history.Op) bool { return op.Outcome == history.OK && op.Acks != 0 }

// readTo is the offset after the last that a read returned, its position if it returned none.
func readTo(op *history.Op) history.Offset {
	to := op.Position
	for i := range op.Records {
		to = max(to, next(op.Records[i].Offset))
	}
	return to
}
