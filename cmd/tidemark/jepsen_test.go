package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestJepsen tells, in testdata/jepsen, what is said of histories in the format of Jepsen's Kafka workload. Each history stands behind a
// quiet beginning on another partition, as a handful of operations proves nothing; with "alone" it does not.
func TestJepsen(t *testing.T) {
	datadriven.Walk(t, "testdata/jepsen", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "check" {
				return "unknown command " + d.Cmd
			}
			input := d.Input
			if !d.HasArg("alone") {
				input = quiet() + input
			}
			file := filepath.Join(t.TempDir(), "history.edn")
			if err := os.WriteFile(file, []byte(input), 0o644); err != nil {
				t.Fatal(err)
			}
			args := []string{"check", file}
			for _, a := range d.CmdArgs {
				if a.Key == "as" {
					args = append(args, "--as", a.Vals[0])
				}
			}
			var out, log strings.Builder
			code := execute(context.Background(), args, &out, &log)
			return fmt.Sprintf("exit %d\n%s%s", code, strings.ReplaceAll(log.String(), file, "history.edn"), out.String())
		})
	})
}

// quiet is 60 messages sent to key 9 and read from the beginning.
func quiet() string {
	var out strings.Builder
	var records strings.Builder
	for i := range 60 {
		fmt.Fprintf(&out, "{:process 90 :type :invoke :f :send :value [[:send 9 %d]]} ", i)
		fmt.Fprintf(&out, "{:process 90 :type :ok :f :send :value [[:send 9 [%d %d]]]} ", i, i)
		fmt.Fprintf(&records, "[%d %d]", i, i)
	}
	out.WriteString("{:process 91 :type :invoke :f :assign :value [9] :seek-to-beginning? true} ")
	out.WriteString("{:process 91 :type :ok :f :assign :value [9] :seek-to-beginning? true} ")
	for range 50 {
		out.WriteString("{:process 92 :type :invoke :f :poll :value [[:poll]]} {:process 92 :type :ok :f :poll :value [[:poll {}]]} ")
	}
	fmt.Fprintf(&out, "{:process 91 :type :invoke :f :poll :value [[:poll]]} {:process 91 :type :ok :f :poll :value [[:poll {9 [%s]}]]} ", records.String())
	return out.String()
}
