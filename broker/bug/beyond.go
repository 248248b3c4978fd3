package bug

// Beyond is a section of its own, no part of Sections: mistakes that a developer of such a log could make and a reviewer overlook, but that the
// catalogue does not have. Whoever wrote the search and its generator did not know of them, so whether it finds them tells what it is worth
// for mistakes that nobody has thought of.
var Beyond = Section{"Beyond the catalogue", beyond}

// madeUp is the source of a mistake that nobody is known to have made.
const madeUp = "none: made up to measure the search"

const (
	// ISRPresumedComplete takes the members of the ISR at their name.
	ISRPresumedComplete Name = "isr-presumed-complete"
	// ShrinkBeforeCommit moves the high watermark without the members that the leader asks the controller to take out.
	ShrinkBeforeCommit Name = "shrink-before-commit"
	// ELRIgnoresMinISR makes eligible leader replicas of those that others have gone on without.
	ELRIgnoresMinISR Name = "elr-ignores-min-isr"
	// CopyAckedAtOnce acknowledges a batch because it was sent before.
	CopyAckedAtOnce Name = "copy-acked-at-once"
	// RecoveryDropsUnflushed keeps of a log only what is known to be on the disk.
	RecoveryDropsUnflushed Name = "recovery-drops-unflushed"
)

var beyond = []Entry{
	{
		Name: ISRPresumedComplete, Source: madeUp,
		Mutation: "a new leader takes every member of the ISR to have all that its own log has, before it has heard from it",
		Shows:    lost, Visible: true, Needs: []string{"hold", "elect"},
	},
	{
		Name: ShrinkBeforeCommit, Source: madeUp,
		Mutation: "the high watermark does not wait for a member that the leader has asked the controller to take out of the ISR, whether or not it is out",
		Shows:    lost, Visible: true, Needs: []string{"hold", "kill"},
	},
	{
		Name: ELRIgnoresMinISR, Source: madeUp,
		Mutation: "whoever leaves the ISR becomes an eligible leader replica, also where min.insync.replicas members stay, which go on without it",
		Shows:    lost, Visible: true, Needs: []string{"hold", "kill"},
	},
	{
		Name: CopyAckedAtOnce, Source: madeUp,
		Mutation: "a batch that an idempotent producer sends again is acknowledged at once, though its original waits for the high watermark",
		Shows:    []string{"lost acknowledged write", "two values at one offset"}, Visible: true, Needs: []string{"partition"},
	},
	{
		Name: RecoveryDropsUnflushed, Source: madeUp,
		Mutation: "after an unclean end a log is cut at its recovery point, though what stands behind it is whole",
		Shows:    lost, Visible: true, Needs: []string{"kill"},
	},
}
