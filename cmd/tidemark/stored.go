package main

import (
	"fmt"
	"os"
	"path/filepath"

	"tidemark/history"
	"tidemark/results"
)

// openRun opens the directory of a run. A file has an error that says what it can be used for instead.
func openRun(path string) (results.Dir, history.Run, error) {
	switch {
	case ofRun(path):
		return results.Dir{}, history.Run{}, fmt.Errorf("%s is a file of a run, expected its directory, %s", path, filepath.Dir(path))
	case isFile(path):
		return results.Dir{}, history.Run{}, fmt.Errorf("%s is a file, expected the directory of a run; %s", path, scenarioHint)
	}
	return results.Open(path)
}

// scenarioHint is for whoever gives a scenario where none is expected.
const scenarioHint = "tidemark run --scenario FILE carries out a scenario"

// isFile reports whether a path is a file, not a run's directory.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// ofRun reports whether a path is one of the files that a run leaves in its directory. An export may stand beside them.
func ofRun(path string) bool {
	return isFile(path) && filepath.Ext(path) != ".edn" && isFile(filepath.Join(filepath.Dir(path), "run.json"))
}
