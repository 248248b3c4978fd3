package disk

import "fmt"

// StepOp is one kind of flush step.
type StepOp uint8

// The step kinds. SyncFile opens Path and syncs it (absent is no error: its owner removed it meanwhile); WriteFile makes Path
// hold exactly Data; RenameFile moves Path to To; SyncDir syncs directory Path; RemoveFile deletes Path (absent is no error).
const (
	SyncFile StepOp = iota
	WriteFile
	RenameFile
	SyncDir
	RemoveFile
)

// Step is one piece of disk work.
type Step struct {
	Op   StepOp
	Path string
	To   string
	Data []byte
}

// FlushID names a flush within one broker incarnation.
type FlushID uint64

// Flush is work that must reach the platter: the shell runs its steps in order, in its own time (a crash may fall between
// two), stops at the first error, and reports the outcome with the id. Flushes of one broker run one at a time, in order, but urgent ones
// before all that have not begun: the controller's log must not wait behind a thousand segments.
type Flush struct {
	ID     FlushID
	Urgent bool
	Steps  []Step
}

// ReplaceFile is the way to change a small file so that a crash leaves either the old or the new content: write a
// temporary file, sync it, rename it over, sync the directory.
func ReplaceFile(dir, name string, data []byte) []Step {
	path := name
	if dir != "" {
		path = dir + "/" + name
	}
	return []Step{
		{Op: WriteFile, Path: path + ".tmp", Data: data},
		{Op: SyncFile, Path: path + ".tmp"},
		{Op: RenameFile, Path: path + ".tmp", To: path},
		{Op: SyncDir, Path: dir},
	}
}

// String describes the step for traces.
func (s Step) String() string {
	switch s.Op {
	case SyncFile:
		return "sync " + s.Path
	case WriteFile:
		return fmt.Sprintf("write %s (%d bytes)", s.Path, len(s.Data))
	case RenameFile:
		return "rename " + s.Path + " to " + s.To
	case SyncDir:
		return "syncdir " + s.Path
	case RemoveFile:
		return "remove " + s.Path
	default:
		return fmt.Sprintf("step %d %s", s.Op, s.Path)
	}
}
