package harness

import (
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"sync"

	"crypto/sha256"

	"tidemark/broker/kafka"
	"tidemark/results"
)

// Version is the tool's version, as run.json holds it.
const Version = "0.1.0"

// port is where every simulated broker listens.
const port = 9092

func kafkaID(n int) kafka.BrokerID { return kafka.BrokerID(n) }

func host(n int) string { return fmt.Sprintf("broker-%d", n) }

// Program is how this program was called, so that a line that it prints can be pasted where it was called.
var Program = sync.OnceValue(func() string { return quoted(os.Args[0]) })

// quoted is a word as a shell reads it: as it is where nothing in it means anything to a shell.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Operand is a path as a command line names it: quoted, and one that begins as an option does is no option.
func Operand(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return quoted(path)
}

// Line is a command line of this program, to be pasted where it was called. A run's directory is an operand.
func Line(words ...any) string {
	out := Program()
	for _, word := range words {
		if d, ok := word.(results.Dir); ok {
			out += " " + Operand(d.Path)
			continue
		}
		out += " " + quoted(fmt.Sprint(word))
	}
	return out
}

// Again is the line that carries out run n of the hunt alone, with the same options; of a scenario of the corpus that which carries out its file, with the
// hunt's bug or none.
func (h Hunt) Again(options []string, n int, from Descent) string {
	if n < 0 {
		return Line("run", "--scenario", h.Corpus[-1-n].Path, "--bug", h.Run.Bug)
	}
	return RepeatLine(options, h.Master, n, from)
}

// RepeatLine is the line that carries out run n of a hunt alone, with the same options, if its seed was drawn.
func RepeatLine(options []string, master uint64, n int, from Descent) string {
	if len(from.Splits) > 0 {
		return OptionsLine("hunt", options, "--master", master, "--first", from.First, "--max-seeds", 1, "--split", from)
	}
	return OptionsLine("hunt", options, "--master", master, "--first", n, "--max-seeds", 1)
}

// OptionsLine is the line of a command with options as they were given, and more words behind them.
func OptionsLine(command string, options []string, more ...any) string {
	words := []any{command}
	for _, o := range options {
		words = append(words, o)
	}
	return Line(append(words, more...)...)
}

// BuildHash is the hash of the program's own file, hex: only the same build replays a run exactly. "unknown" if it cannot be read.
var BuildHash = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	var h hash.Hash = sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
})
