// Package nemesis is what goes wrong: the fault kinds, plans and their text form, the generator that draws plans from a seed, and each fault's
// life from requested to verified undone.
//
// plan.go and parse.go are the language, check.go what a world must have for a plan, generate.go and scenes.go the generator, budget.go
// what may be unclean at once. run.go carries a plan out: trigger.go waits, resolve.go turns roles into brokers, life.go leads
// one fault through its phases, and cut.go, loss.go, process.go, clock.go and elect.go do, probe and undo each kind; links.go knows which
// links must pass.
package nemesis
