package bug

// Inapplicable is a row of the catalogue that this broker cannot have.
type Inapplicable struct {
	Row    int    `json:"row"`
	Source string `json:"source"`
	Reason string `json:"reason"` // one sentence
}

// NotApplicable lists them, by row.
var NotApplicable = []Inapplicable{
	{29, "Redpanda #3003", "It is a race inside one broker, between the step-down and the next leader's append, and a broker here is one state machine that takes one input after the other."},
	{37, "KAFKA-10527", "The raft library starts every member as a follower, so there is no decision by which a restarted leader could go on in its term."},
	{39, "KAFKA-12619, Redpanda #5025", "Which entry is committed is decided inside the raft library, which counts entries of its own term alone."},
	{61, "KAFKA-12153", "There are no transactions, and so no last stable offset."},
	{62, "KAFKA-17754, KAFKA-14884, Redpanda #6018", "There are no transactions, and so no EndTxn and no markers."},
}
