package checker

import (
	"fmt"
	"strings"
	"time"

	"tidemark/history"
)

// NamedContract is a contract as the table of anomalies has a column for it.
type NamedContract struct {
	Name     string
	Contract Contract
}

// Contracts holds the columns of the table: the default, and what differs from it in one thing.
func Contracts() []NamedContract {
	column := func(name string, change func(*history.Run)) NamedContract {
		run := history.Run{Writers: 1, Readers: 1, Factor: 3, MinISR: 2, Acks: -1, ELR: true}
		change(&run)
		return NamedContract{name, ContractOf(run)}
	}
	retries := func(r *history.Run) { r.Client = history.ClientFranz }
	return []NamedContract{
		column("acks=all", func(*history.Run) {}),
		column("min ISR 1", func(r *history.Run) { r.MinISR = 1 }),
		column("classic", func(r *history.Run) { r.ELR = false }),
		column("acks=1", func(r *history.Run) { r.Acks = 1 }),
		column("acks=0", func(r *history.Run) { r.Acks = 0 }),
		column("unclean", func(r *history.Run) { r.Unclean = true }),
		column("beyond budget", func(r *history.Run) { r.Beyond = true }),
		column("min ISR 4 of 3", func(r *history.Run) { r.MinISR = 4 }),
		column("retries", retries),
		column("retries, acks=1", func(r *history.Run) { retries(r); r.Acks = 1 }),
		column("retries, idempotent", func(r *history.Run) { retries(r); r.Idempotent = true }),
		column("retries, idempotent, trims", func(r *history.Run) { retries(r); r.Idempotent, r.Trim = true, time.Second }),
		column("read bound", func(r *history.Run) { r.ReadBound = StaleAfter }),
		column("read bound, beyond budget", func(r *history.Run) { r.ReadBound, r.Beyond = StaleAfter, true }),
	}
}

// cells are a severity's letters in the table.
var cells = map[Severity]string{Violation: "**E**", Allowed: "a", Info: "i"}

// Table is docs/anomalies.md: what each class means and what it is under each contract, from cause to consequence.
func Table() string {
	var out strings.Builder
	out.WriteString(tableIntroduction)
	for i, r := range Rules {
		fmt.Fprintf(&out, "| %d | **%s** | %s | %s |\n", i+1, r.Class, r.Means, r.When())
	}
	out.WriteString("\n## What a contract promises\n\n")
	for line := range strings.Lines(Terms) {
		word, means, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fmt.Fprintf(&out, "- *%s*: %s\n", word, means)
	}
	out.WriteString("\n## Under each contract\n\n**E** is an error: the run is invalid. a is allowed: reported, with the sentence of the contract that allows it. i is information.\n\n| class |")
	columns := Contracts()
	for _, c := range columns {
		fmt.Fprintf(&out, " %s |", c.Name)
	}
	out.WriteString("\n|---" + strings.Repeat("|---", len(columns)) + "|\n")
	for _, r := range Rules {
		fmt.Fprintf(&out, "| %s |", r.Class)
		for _, c := range columns {
			fmt.Fprintf(&out, " %s |", cells[c.Contract.Severity(r.Class)])
		}
		out.WriteString("\n")
	}
	return out.String()
}

// Terms explains the words that rules use for what a contract promises, a line each; ContractOf is what they stand for.
const Terms = `durable: what was acknowledged is never lost. It takes acks=all, clean elections, faults within the budget, and min.insync.replicas ≤ replication factor.
committed reads stay: what a consumer read is never taken back. It takes clean elections and faults within the budget.
ordered: records stand in the order of real time. It takes faults within the budget.
exactly once: a value that its producer sends again stands once. It takes idempotent producers, durable, and that no old records are removed.
no producer retries: producers send a value once and never again, as the raw client without idempotence does.
faults within the budget: no fault was let beyond it (--beyond-budget).
a bound on stale reads is stated: by --read-bound; without it a stale read is information, from 10s on.
information: told, and no anomaly under any contract.`

// When says when a class is a violation, in words.
func (r Rule) When() string {
	if r.Unless == "" {
		return r.Promise.Words
	}
	return r.Promise.Words + "; always if " + r.Unless
}

const tableIntroduction = `# Anomalies

What the checker looks for, what each class means, and what it is under a contract. The rows stand from cause to consequence. Of anomalies that
concern one record, or one offset of a partition, the first is the finding, and the others are listed under it as implied: a lost write implies
that what a consumer read of it was taken back, and is told once. Two things are not put under another: what is an error under the contract never
stands under what is allowed, and a broken invariant, which tells of brokers' states and not of a record, stands beside what clients saw of it.

This file is made from the table in checker/classes.go, and a test holds it to that: go test ./checker -run TestTable -rewrite. The stories in
checker/testdata/anomalies show each class on a history of a few lines.

A topic that a run deletes and creates again (--recreated-topic) is in the history once for each incarnation, under its name and the beginning
of its id, such as again@1f3a09c2. Clients name it by that id (KIP-516), so each operation is about one incarnation, and each is judged by itself.
What was acknowledged in an incarnation that was deleted is no loss, as nobody can read it at the end: it counts as never seen at most. What was
told of it while it was there must hold all the same, and a record of one incarnation in another's log is a phantom.

Not judged: transactions (what Jepsen calls G0, G1c and precommitted reads), committed offsets of consumer groups, timestamps, headers and keys;
whether records that a DeleteRecords removed stay away (that they come back, as the log start goes back, is told by nothing), and in what order they
stood where the contract lets them be lost before; and whether the high watermark of an answer is below the records that it holds, or below what
its leader acknowledged under acks=all by then.

## Classes

|  | class | is | is an error if the contract promises |
|---|---|---|---|
`
