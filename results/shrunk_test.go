package results

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestTheReportTellsWhatShrinkingLeft writes a run with and without a smaller one: the page tells of it, and results.json keeps it.
func TestTheReportTellsWhatShrinkingLeft(t *testing.T) {
	o, h := invalidRun()
	for _, s := range []*Shrunk{nil, {Plan: "at 1s  kill <leader>\n", Replay: "tidemark replay runs/small", Done: true}} {
		o.Shrunk = s
		var page bytes.Buffer
		if err := WriteReport(&page, o, h, nil); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(page.String(), "at 1s  kill &lt;leader&gt;"); told != (s != nil) {
			t.Errorf("%+v: told %v", s, told)
		}
		d, err := Create(t.TempDir(), o.Run)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Finish(o, h); err != nil {
			t.Fatal(err)
		}
		if read, err := d.Outcome(); err != nil || !reflect.DeepEqual(read.Shrunk, s) {
			t.Errorf("read back %+v, %v, expected %+v", read.Shrunk, err, s)
		}
	}
}
