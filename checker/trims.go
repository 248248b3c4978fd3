package checker

import "tidemark/history"

// Records leave a log's beginning in two ways that are no loss: retention, where the run's configuration has it, and DeleteRecords, up to the
// offset that somebody asked for. A log start beyond that is nobody's wish, and what was acknowledged below it is lost.

// askTrims finds how far somebody asked for records to be removed. A request of unknown outcome may have been carried out, one that was refused
// was not; one that asked for all below the high watermark says how far that was only where it was answered.
func (c *partCheck) askTrims() {
	if !c.dense {
		c.removable = never
		return
	}
	for _, i := range c.deletes {
		op := &c.h.Ops[i]
		switch {
		case op.Outcome == history.Fail:
		case op.Position >= 0:
			c.removable = max(c.removable, op.Position)
		case op.Outcome == history.OK:
			c.removable = max(c.removable, op.LogStart)
		default:
			c.removable = never
		}
	}
}

// trimmed reports whether an offset is below the log start, where retention or DeleteRecords may have taken what stood there.
func (c *partCheck) trimmed(o history.Offset) bool {
	return o >= 0 && o < min(c.log.trimmedTo(), c.removable)
}

// vanished reports whether an offset is below a log start that nobody asked for.
func (c *partCheck) vanished(o history.Offset) bool {
	return c.removable <= o && o < c.log.begins
}

// overTrimmed says of such an offset why the log may not begin where it does.
func (c *partCheck) overTrimmed() string {
	text := "the log begins at " + itoa(int64(c.log.begins))
	if c.removable > 0 {
		return text + ", though records were to be removed below offset " + itoa(int64(c.removable)) + " alone"
	}
	return text + ", though nothing that the run sets up removes records"
}
