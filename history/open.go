package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// OpenFile opens a file to read it. What is none is an error that says what it is: a pipe that nobody writes to would stand still, deaf to signals,
// and a device need never end. A descriptor that whoever started this program opened for it, such as /dev/fd/63, is taken as it is.
func OpenFile(path string) (*os.File, error) {
	if clean := filepath.Clean(path); clean == "/dev/stdin" || strings.HasPrefix(clean, "/dev/fd/") || strings.HasPrefix(clean, "/proc/self/fd/") {
		return os.Open(path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // which waits for no writer; of a file it changes nothing
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %v, expected a file", path, info.Mode().Type())
	}
	if err != nil {
		_ = f.Close() // it was not read
		return nil, err
	}
	return f, nil
}
