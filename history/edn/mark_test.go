package edn

import (
	"strings"
	"testing"
)

// TestAByteOrderMarkIsPassedOver: an editor's mark before the history means nothing, and moves no column; anywhere else it is refused as before.
func TestAByteOrderMarkIsPassedOver(t *testing.T) {
	const entry = `{:process 0 :type :invoke :f :send :value [[:send 0 1]]}`
	if _, h, err := Read(strings.NewReader("\uFEFF" + entry)); err != nil || len(h.Ops) != 1 {
		t.Errorf("%+v, %v, expected one operation", h, err)
	}
	_, _, plain := Read(strings.NewReader(`{:process x}`))
	_, _, marked := Read(strings.NewReader("\uFEFF{:process x}"))
	if plain == nil || marked == nil || plain.Error() != marked.Error() {
		t.Errorf("%v; with a mark: %v", plain, marked)
	}
	if _, _, err := Read(strings.NewReader(entry + "\uFEFF")); err == nil || !strings.Contains(err.Error(), "line 1, column") {
		t.Errorf("%v, expected a mark behind an entry to be refused in its place", err)
	}
}
