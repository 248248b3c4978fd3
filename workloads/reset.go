package workloads

import "tidemark/history"

// reset is where a consumer goes on whose position is out of range: where the log begins if that is above it and records may be removed, or
// back where the log ends if that is below it and the contract allows loss. Otherwise it stays. What it was not told does not move it, and where the
// log has grown past the position meanwhile, it goes on there: beyond are records that it has not read. list asks the leader for one of the two
// places. (Kafka's auto.offset.reset is one policy for both sides, by which a consumer may pass over records that are there.)
func (a *Append) reset(position history.Offset, list func(place history.Offset) (history.Offset, error)) (history.Offset, error) {
	if a.Trims {
		if start, err := list(history.Earliest); err != nil || start > position {
			return start, err
		}
	}
	if a.Lossy {
		if end, err := list(history.Latest); err != nil || end < position {
			return end, err
		}
	}
	return position, nil
}
