package history

import "io"

// JournalWriter appends entries to a journal file: NDJSON in zstd frames. A frame is flushed (handed to the kernel, no fsync) after
// every invocation group at the latest, so that a journal cut anywhere is readable up to its last whole frame.
type JournalWriter struct{}

// CreateJournal creates the file; it must not exist.
func CreateJournal(path string) (*JournalWriter, error) { panic("not built") }

// Close flushes and closes.
func (w *JournalWriter) Close() error { panic("not built") }

// WriteJournal writes a whole history to a new file, in order of index.
func WriteJournal(path string, h *History) error { panic("not built") }

// ReadJournal reads a journal. A cut or corrupt tail is no error: truncated says what was left out ("" if nothing), and the
// history holds everything up to the last whole frame. Anything else that is wrong is an error with the line's number.
func ReadJournal(r io.Reader) (h *History, truncated string, err error) { panic("not built") }

// ReadJournalFile opens path and reads it.
func ReadJournalFile(path string) (h *History, truncated string, err error) { panic("not built") }

func (w *JournalWriter) append(line func([]byte) []byte) { panic("not built") }
func (w *JournalWriter) flush()                          { panic("not built") }
func (w *JournalWriter) err() error                      { panic("not built") }
