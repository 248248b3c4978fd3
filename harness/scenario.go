package harness

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/broker/bug"
	"tidemark/checker"
	"tidemark/history"
)

// A scenario is a run as a text to read: what differs from the defaults, each as the name that run.json has for it, an equals sign and the
// value; keys of the brokers' configuration have dots in them. The plan stands below. With a known bug on it tells the bug, and ends well
// without it.

// ScenarioOptions is what of an expanded run differs from the defaults, but for its plan: name=value, in the order of run.json.
func ScenarioOptions(run history.Run) []string {
	var out []string
	d := Defaults()
	if run.Client == history.ClientRaw {
		run.Client = d.Client
	}
	mine, defaults := reflect.ValueOf(run), reflect.ValueOf(d)
	for i, name := range scenarioFields {
		if value := mine.Field(i); name != "" && !value.Equal(defaults.Field(i)) {
			out = append(out, fmt.Sprintf("%s=%v", name, value.Interface()))
		}
	}
	stock := quickOf(run)
	for _, key := range slices.Sorted(maps.Keys(run.Config)) {
		if run.Config[key] != stock[key] {
			out = append(out, key+"="+run.Config[key])
		}
	}
	return out
}

// ScenarioRun is the run that options and plan describe, expanded. The error names the option and what was expected.
func ScenarioRun(options []string, plan string) (history.Run, error) {
	run := Defaults()
	fields := reflect.ValueOf(&run).Elem()
	seen := map[string]bool{}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		if seen[name] {
			return run, fmt.Errorf("option %q, expected %s once", option, name)
		}
		seen[name] = true
		switch i := slices.Index(scenarioFields, name); {
		case strings.Contains(name, "."):
			run.Config[name] = value
		case i < 0 || name == "":
			return run, fmt.Errorf("option %q, expected one of %s, or a key of the configuration", option, strings.Join(slices.DeleteFunc(slices.Clone(scenarioFields), func(s string) bool { return s == "" }), ", "))
		default:
			if expected := set(fields.Field(i), value); expected != "" {
				return run, fmt.Errorf("option %q, expected %s for %s", option, expected, name)
			}
		}
	}
	return Expand(run, plan+"\n# end\n") // so that an empty plan is none, not one to draw
}

// scenarioFields names the fields of a run that a scenario may set, "" for the others.
var scenarioFields = func() []string {
	t := reflect.TypeFor[history.Run]()
	out := make([]string, t.NumField())
	for i := range out {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		switch {
		case slices.Contains([]string{"format", "tool", "build", "started", "plan", "config"}, name):
		case t.Field(i).Type.Comparable():
			out[i] = name
		}
	}
	return out
}()

// set reads a field's value; if that cannot be read, it says what was expected.
func set(field reflect.Value, text string) (expected string) {
	var err error
	if field.Type() == reflect.TypeFor[time.Duration]() {
		var d time.Duration
		d, err = time.ParseDuration(text)
		field.SetInt(int64(d))
		expected = "a length of time with its unit, such as 30s,"
	} else {
		switch bits := field.Type(); field.Kind() {
		case reflect.Bool:
			var b bool
			b, err = strconv.ParseBool(text)
			field.SetBool(b)
			expected = "true or false"
		case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
			var n int64
			n, err = strconv.ParseInt(text, 10, bits.Bits())
			field.SetInt(n)
			expected = fmt.Sprintf("a whole number of at most %d bits", bits.Bits())
		case reflect.Uint64:
			var n uint64
			n, err = strconv.ParseUint(text, 10, 64)
			field.SetUint(n)
			expected = "a whole number from 0 to 2^64-1"
		case reflect.Float64:
			var x float64
			x, err = strconv.ParseFloat(text, 64)
			field.SetFloat(x)
			expected = "a number"
		case reflect.String:
			field.SetString(text)
		default:
			return "no value, as it cannot be read from a text,"
		}
	}
	if err != nil {
		return expected
	}
	return ""
}

// Tell carries out a scenario and tells its outcome: what the run fails of, and how it ends with its bug off. What clients can see of a bug
// is judged with the invariants off.
func Tell(ctx context.Context, run history.Run) (string, error) {
	e, known := bug.Find(bug.Name(run.Bug))
	res, err := Simulate(ctx, run, Watch{Blind: known && e.Visible})
	if err != nil {
		return "", err
	}
	out := fmt.Sprintf("%s: %s\n", res.Verdict.Status, firstClass(res.Verdict))
	if s := Signature(res.Verdict); s != "" {
		out = fmt.Sprintf("%s: %s\n", res.Verdict.Status, s)
	}
	if !known {
		return out, nil
	}
	run.Bug = ""
	if res, err = Simulate(ctx, run, Watch{}); err != nil {
		return "", err
	}
	return out + fmt.Sprintf("%s%s\n", withoutBug, res.Verdict.Status), nil
}

// withoutBug opens the line of an outcome that tells of the run with its bug off.
const withoutBug = "without the bug: "

// ToldOf is what a scenario's text tells of its run as it is carried out, "" for nothing: the first line of its outcome; or, where its bug is off, what it
// tells of that. Of another bug, another seed or another world it tells nothing.
func ToldOf(text string, scenario, run history.Run) string {
	_, outcome, _ := strings.Cut(text, "\n----\n")
	first, rest, _ := strings.Cut(outcome, "\n")
	switch {
	case run.Seed != scenario.Seed || run.World != Simulated || scenario.World != Simulated:
		return ""
	case run.Bug == scenario.Bug:
		return first
	case run.Bug == "" && strings.HasPrefix(rest, withoutBug):
		status, _, _ := strings.Cut(strings.TrimPrefix(rest, withoutBug), "\n")
		return status
	default:
		return ""
	}
}

// AsTold reports whether a run came out as a scenario tells: with that status and, where it says as what, with a finding of that signature or class. What
// clients can see of a bug is judged once more with the invariants off, as Tell does.
func AsTold(ctx context.Context, res *Result, told string) (bool, error) {
	status, what, says := strings.Cut(told, ": ")
	fits := func(v checker.Verdict) bool {
		return string(v.Status) == status && (!says || what == Signature(v) || what == firstClass(v))
	}
	if fits(res.Verdict) {
		return true, nil
	}
	if e, known := bug.Find(bug.Name(res.Run.Bug)); !known || !e.Visible {
		return false, nil
	}
	blind, err := Simulate(ctx, res.Run, Watch{Blind: true})
	return err == nil && fits(blind.Verdict), err
}

// firstClass is the class of a verdict's first finding, its reason if it has none.
func firstClass(v checker.Verdict) string {
	if len(v.Findings) == 0 {
		return v.Reason
	}
	return string(v.Findings[0].Class)
}

// ScenarioText is a run with a known bug as a scenario: head is the prose before it, as comment lines; "" takes the registry's words.
func ScenarioText(run history.Run, head, outcome string) string {
	if e, ok := bug.Find(bug.Name(run.Bug)); ok && head == "" {
		head = fmt.Sprintf("# %s (%s): %s.\n", e.Name, e.Origin(), e.Mutation)
	}
	plan := run.Plan
	if plan == "" {
		plan = "# no faults\n"
	}
	return fmt.Sprintf("%s\nrun %s\n%s----\n%s", head, strings.Join(ScenarioOptions(run), " "), plan, outcome)
}
