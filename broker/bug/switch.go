package bug

// Switch is a bug that is on, and how often it made a difference. The brokers of a simulated run share one; it is not for concurrent
// use. A nil Switch is a correct broker.
type Switch struct {
	name    Name
	differs int64
}

// On returns the switch of a bug: nil for None.
func On(name Name) *Switch {
	if name == None {
		return nil
	}
	return &Switch{name: name}
}

// Bites reports whether the decision at hand is to be made wrongly: the bug is on, and the wrong decision differs from the right one. It is
// counted then.
func (s *Switch) Bites(name Name, differs bool) bool {
	if s == nil || s.name != name || !differs {
		return false
	}
	s.differs++
	return true
}

// Name is the bug that is on.
func (s *Switch) Name() Name {
	if s == nil {
		return None
	}
	return s.name
}

// Differs is how many decisions the bug has changed so far.
func (s *Switch) Differs() int64 {
	if s == nil {
		return 0
	}
	return s.differs
}
