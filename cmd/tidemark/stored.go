package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tidemark/harness"
	"tidemark/history"
	"tidemark/results"
)

// openRun opens the directory of a run. A file has an error that says what it can be used for instead.
func openRun(path string) (results.Dir, history.Run, error) {
	switch {
	case isArchive(path):
		return results.Dir{}, history.Run{}, fmt.Errorf("%s is an archive, expected the directory of a run: unpack it first (unzip %s)", path, harness.Operand(path))
	case ofRun(path):
		return results.Dir{}, history.Run{}, fmt.Errorf("%s is a file of a run, expected its directory, %s", path, filepath.Dir(path))
	case isFile(path):
		return results.Dir{}, history.Run{}, fmt.Errorf("%s is a file, expected the directory of a run; %s", path, scenarioHint)
	}
	return results.Open(path)
}

// scenarioHint is for whoever gives a scenario where none is expected.
const scenarioHint = "tidemark run --scenario FILE carries out a scenario"

// isArchive reports whether a path is a zip, such as tidemark export writes of a run.
func isArchive(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false // what is read of a pipe is gone
	}
	f, err := history.OpenFile(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == "PK\x03\x04"
}

// isFile reports whether a path is a file, not a run's directory.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// ofRun reports whether a path is one of the files that a run leaves in its directory. An export may stand beside them.
func ofRun(path string) bool {
	return isFile(path) && filepath.Ext(path) != ".edn" && isFile(filepath.Join(filepath.Dir(path), "run.json"))
}
