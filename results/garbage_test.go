package results

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tidemark/internal/garbage"
)

// fileBound allows for what encoding/json needs to read into structures.
var fileBound = garbage.Bound{Bytes: 256 << 10, Times: 64, Says: []string{"expected"}}

// TestGarbageFiles spoils run.json and results.json of a run that failed. Each is refused by name, or read as what can be written
// and reported again.
func TestGarbageFiles(t *testing.T) {
	o, h := invalidRun()
	d, err := Create(t.TempDir(), o.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(o, h); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{runFile, outcomeFile} {
		valid, err := os.ReadFile(d.file(name))
		if err != nil {
			t.Fatal(err)
		}
		inputs := garbage.Of(valid, 1)
		long := strings.Repeat("9", garbage.Large)
		for _, text := range []string{`{"format":%s}`, `{"format":"%s"}`, `{"%s":1}`, `{"format":1,"seed":%s}`, `{"format":1,"seed":"%s"}`, `{"format":1,"seed":"18226091844402103377","verdict":{"status":"%s"}}`,
			`{"format":1,"verdict":{"%s":1}}`, `{"format":1,"started":"%s"}`, `{"format":1,"wallSeconds":%s}`, `%s`, `"%s"`, `{"format":1}%s`} {
			inputs = append(inputs, garbage.Input{Name: text, Kind: garbage.Length, Data: fmt.Appendf(nil, text, long)})
		}
		for _, part := range []string{"[", "{", `{"verdict":`, `{"a":[`, `"`, " ", `\u0000`, "\x00"} {
			inputs = append(inputs, garbage.Input{Name: part + " again and again", Kind: garbage.Length, Data: []byte(strings.Repeat(part, garbage.Large/len(part)))})
		}
		accepted, refused := fileBound.Hold(t, inputs, func(in garbage.Input) error {
			if err := os.WriteFile(d.file(name), in.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := d.Outcome()
			if err != nil {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%s: %.200s, expected an error that names %s", in.Name, err, name)
				}
				return err
			}
			if in.Kind == garbage.Cut && len(in.Data) < len(valid)-1 { // the last byte is a line's end
				t.Errorf("%s: %s was read", name, in.Name)
			}
			if name == outcomeFile && got.Run.Seed != o.Run.Seed {
				t.Errorf("%s: read as the results of seed %d, expected %d", in.Name, got.Run.Seed, o.Run.Seed)
			}
			return nil
		})
		if accepted == 0 || refused < 100 {
			t.Errorf("%s: %d accepted, %d refused, expected some and at least 100", name, accepted, refused)
		}
		if err := os.WriteFile(d.file(name), valid, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := d.Outcome(); err != nil || !reflect.DeepEqual(again, o) {
		t.Errorf("intact again: %v", err)
	}
}

// TestGarbageTrails: a trail is any whole number of hashes.
func TestGarbageTrails(t *testing.T) {
	d := Dir{t.TempDir()}
	if err := d.WriteTrail([]uint32{1, 2, 3, 1 << 31, 5, 6, 7, 8, 9, 10}); err != nil {
		t.Fatal(err)
	}
	valid, err := os.ReadFile(filepath.Join(d.Path, trailFile))
	if err != nil {
		t.Fatal(err)
	}
	fileBound.Hold(t, garbage.Of(valid, 1), func(in garbage.Input) error {
		if err := os.WriteFile(d.file(trailFile), in.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		trail, err := d.Trail()
		if (err == nil) != (len(in.Data)%4 == 0) || err == nil && len(trail) != len(in.Data)/4 {
			t.Errorf("%s: %d hashes of %d bytes, %v", in.Name, len(trail), len(in.Data), err)
		}
		return err
	})
}

// TestOversizedTrails: a file beyond the bound is refused without being read. It is sparse, so that it takes no room.
func TestOversizedTrails(t *testing.T) {
	d := Dir{t.TempDir()}
	f, err := os.Create(d.file(trailFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip(err)
	}
	fileBound.Hold(t, []garbage.Input{{Name: "a terabyte"}}, func(garbage.Input) error {
		_, err := d.Trail()
		if err == nil {
			t.Error("a terabyte was read")
		}
		return err
	})
}
