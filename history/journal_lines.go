package history

func appendInvoke(b []byte, op *Op) []byte         { panic("not built") }
func appendReturn(b []byte, op *Op) []byte         { panic("not built") }
func appendFault(b []byte, e *FaultEvent) []byte   { panic("not built") }
func appendState(b []byte, s *ClusterState) []byte { panic("not built") }
func appendStep(b []byte, s *Step) []byte          { panic("not built") }
func appendDump(b []byte, d *Dump) []byte          { panic("not built") }
func appendMark(b []byte, m *Mark) []byte          { panic("not built") }
