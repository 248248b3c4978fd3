package index

import (
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestJUnitKeepsToTheSchemas holds what is written to what the public schemas of JUnit's XML demand, as testdata/junit-*.txt tells it, and reads
// it back: the same cases, the same outcome.
func TestJUnitKeepsToTheSchemas(t *testing.T) {
	night := readNight(t, "night", 0, "corpus: a.txt for x, b.txt\n  violation a.txt; x; 2\nhunt: loss, skip, conclusive, harness\n"+
		"  violation loss; lost: election; 1; known until 2026-12-31: waits\n  inconclusive conclusive; too many vacuous runs in hunt; 9\n"+
		"containers skipped: loss").Campaign
	campaigns := map[string]Campaign{"a night": night, "a hostile one": hostileCampaign(), "a thousand failures": thousand(), "nothing": {}}
	for _, schema := range []string{"testdata/junit-ant.txt", "testdata/junit-jenkins.txt"} {
		rules := readSchema(t, schema)
		for name, c := range campaigns {
			text := JUnit(c)
			for _, wrong := range rules.check(text) {
				t.Errorf("%s, %s: %s", schema, name, wrong)
			}
		}
		for name, bad := range map[string]string{
			"an unknown element":   `<testsuites><suite/></testsuites>`,
			"a missing attribute":  `<testsuites><testsuite name="x"/></testsuites>`,
			"a number that is not": strings.Replace(string(JUnit(night)), `tests="2"`, `tests="two"`, 1),
		} {
			if wrong := rules.check([]byte(bad)); len(wrong) == 0 && (name != "a number that is not" || strings.Contains(schema, "ant")) {
				t.Errorf("%s accepts %s: %s", schema, name, bad)
			}
		}
	}
	for name, c := range campaigns {
		var doc junitSuites
		if err := xml.Unmarshal(JUnit(c), &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(doc.Suites) != len(c.Parts)+1 {
			t.Fatalf("%s: %d suites, expected %d, and one of the whole", name, len(doc.Suites), len(c.Parts))
		}
		for i, s := range doc.Suites[:len(c.Parts)] {
			if len(s.Cases) != len(c.Parts[i].Checks) || s.Tests != len(s.Cases) {
				t.Errorf("%s: suite %d has %d cases and says %d, expected %d", name, i, len(s.Cases), s.Tests, len(c.Parts[i].Checks))
			}
		}
	}
	var doc junitSuites
	if err := xml.Unmarshal(JUnit(night), &doc); err != nil {
		t.Fatal(err)
	}
	outcomes := ""
	for _, s := range doc.Suites {
		outcomes += fmt.Sprintf("%s %d/%d/%d of %d:", s.Name, s.Failures, s.Errors, s.Skipped, s.Tests)
		for _, one := range s.Cases {
			switch {
			case one.Failure != nil:
				outcomes += " " + one.Name + " fails"
			case one.Error != nil:
				outcomes += " " + one.Name + " errs"
			case one.Skipped != nil:
				outcomes += " " + one.Name + " skipped"
			default:
				outcomes += " " + one.Name + " passes"
			}
		}
		outcomes += "\n"
	}
	want := "corpus 1/0/0 of 2: a.txt fails b.txt passes\nhunt 0/1/1 of 4: loss skipped skip passes conclusive errs harness passes\ncontainers 0/0/1 of 1: loss skipped\n" +
		"campaign 0/0/1 of 1: carried out as a whole skipped\n"
	if outcomes != want {
		t.Errorf("read back:\n%sexpected:\n%s", outcomes, want)
	}
}

// schema is what a schema of JUnit's XML demands, one line an element in a file of testdata.
type schema map[string]elementRule

type elementRule struct {
	attributes map[string]attributeRule
	content    *regexp.Regexp // of the names of the children, each followed by a comma; nil for any
	text       bool           // may hold text
}

type attributeRule struct {
	required bool
	form     *regexp.Regexp // nil for any text
}

// forms are the lexical forms of the simple types that the schemas use.
var forms = map[string]*regexp.Regexp{
	"string": nil, "int": regexp.MustCompile(`^[+-]?[0-9]{1,9}$`), "decimal": regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$`),
	"name": regexp.MustCompile(`\S`), "datetime": regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}$`),
	"surefire": regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`),
}

func readSchema(t *testing.T, path string) schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := schema{}
	for l := range strings.Lines(string(text)) {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		fields := strings.Split(l, " | ")
		if len(fields) != 4 {
			t.Fatalf("%s: %q, expected element | attributes | children | text or none", path, l)
		}
		rule := elementRule{attributes: map[string]attributeRule{}, text: strings.TrimSpace(fields[3]) == "text"}
		for word := range strings.FieldsSeq(fields[1]) {
			name, form, _ := strings.Cut(word, ":")
			optional := strings.HasSuffix(name, "?")
			pattern, known := forms[form]
			if !known {
				t.Fatalf("%s: form %q of %s is none", path, form, word)
			}
			rule.attributes[strings.TrimSuffix(name, "?")] = attributeRule{!optional, pattern}
		}
		rule.content = regexp.MustCompile("^(?:" + strings.ReplaceAll(strings.TrimSpace(fields[2]), " ", "") + ")$")
		out[strings.TrimSpace(fields[0])] = rule
	}
	return out
}

// check names what in a document is against the schema.
func (s schema) check(text []byte) (wrong []string) {
	type level struct{ name, children string }
	var at []level
	say := func(format string, args ...any) {
		if len(wrong) < 10 {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	dec := xml.NewDecoder(strings.NewReader(string(text)))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return wrong
		}
		if err != nil {
			return append(wrong, err.Error())
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			rule, known := s[name]
			if !known {
				say("element %s is not in the schema", name)
			}
			for _, a := range e.Attr {
				r, ok := rule.attributes[a.Name.Local]
				if known && !ok {
					say("%s has an attribute %s, expected none", name, a.Name.Local)
				}
				if ok && r.form != nil && !r.form.MatchString(a.Value) {
					say("%s of %s is %.80q", a.Name.Local, name, a.Value)
				}
			}
			for attribute, r := range rule.attributes {
				if r.required && !slices.ContainsFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == attribute }) {
					say("%s lacks its attribute %s", name, attribute)
				}
			}
			if len(at) > 0 {
				at[len(at)-1].children += name + ","
			}
			at = append(at, level{name: name})
		case xml.EndElement:
			last := at[len(at)-1]
			at = at[:len(at)-1]
			if rule, known := s[last.name]; known && !rule.content.MatchString(last.children) {
				say("%s has children %.200s expected %s", last.name, last.children, rule.content)
			}
		case xml.CharData:
			if len(at) > 0 && strings.TrimSpace(string(e)) != "" && !s[at[len(at)-1].name].text {
				say("%s holds text %.80q", at[len(at)-1].name, e)
			}
		}
	}
}

// TestJUnitNamesStay: a check has the same name whether it passed or failed, so that CI knows it from night to night.
func TestJUnitNamesStay(t *testing.T) {
	names := func(story string) (out []string) {
		var doc junitSuites
		if err := xml.Unmarshal(JUnit(readNight(t, "x", 0, story).Campaign), &doc); err != nil {
			t.Fatal(err)
		}
		for _, s := range doc.Suites {
			for _, one := range s.Cases {
				out = append(out, one.Class+"/"+one.Name)
			}
		}
		return out
	}
	red, green := names("hunt: loss, skip\n  violation loss; lost: election; 3"), names("hunt: loss, skip")
	if !slices.Equal(red, green) || len(red) != 3 || red[0] != "tidemark.hunt/loss" {
		t.Errorf("%v by night, %v by day", red, green)
	}
}

// TestJUnitTellsHowToSeeItAgain: seed, commit and the line that repeats stand where CI shows them.
func TestJUnitTellsHowToSeeItAgain(t *testing.T) {
	c := thousand()
	c.Commit, c.Master, c.Parts[0].Again = "abc123", 1<<64-1, "bin/tidemark hunt --master 7"
	c.Parts[0].Problems = c.Parts[0].Problems[:1]
	c.Parts[0].Problems[0].Replay = "bin/tidemark replay runs/x"
	c.Parts[0].Problems[0].Again = "bin/tidemark hunt --master 7 --first 3 --max-seeds 1"
	var doc junitSuites
	if err := xml.Unmarshal(JUnit(c), &doc); err != nil {
		t.Fatal(err)
	}
	s := doc.Suites[0]
	properties := map[string]string{}
	for _, p := range s.Properties {
		properties[p.Name] = p.Value
	}
	if properties["commit"] != "abc123" || properties["master"] != strconv.FormatUint(1<<64-1, 10) || properties["again"] != "bin/tidemark hunt --master 7" {
		t.Errorf("properties %v", properties)
	}
	for _, want := range []string{"18446744073709551615", "abc123", "again: bin/tidemark hunt --master 7"} {
		if !strings.Contains(s.Out, want) {
			t.Errorf("system-out lacks %s: %s", want, s.Out)
		}
	}
	for form, text := range map[string]string{"JUnit's XML": s.Cases[0].Failure.Text, "the summary": html.UnescapeString(Summary(c, difference(c)))} {
		if !strings.Contains(text, "bin/tidemark hunt --master 7 --first 3 --max-seeds 1") {
			t.Errorf("%s lacks the line that found the failure: %.2000s", form, text)
		}
	}
	if text := s.Cases[0].Failure.Text; !strings.Contains(text, "replay: bin/tidemark replay runs/x") || !strings.Contains(text, "seed 9223372036854775808") {
		t.Errorf("the failure says %s", text)
	}
}

// TestACampaignThatWasCutShortIsNoPass in any form: in JUnit's XML, in the job's summary, in its annotations, in the headline.
func TestACampaignThatWasCutShortIsNoPass(t *testing.T) {
	interrupted := readNight(t, "x", 0, "canary: a\nhunt interrupted: lost, skip\ncontainers skipped: lost").Campaign
	interrupted.Done = false
	failed := readNight(t, "x", 0, "hunt interrupted: lost, skip\n  violation lost; lost: election; 3").Campaign
	failed.Done = false
	between := readNight(t, "x", 0, "canary: a\nhunt: lost").Campaign
	between.Done = false
	skipped := readNight(t, "x", 0, "hunt: lost\ncontainers skipped: lost").Campaign
	for _, c := range []struct {
		campaign               Campaign
		headline, whole, cases string
	}{
		{interrupted, "INTERRUPTED, WITHOUT containers", "error", "a passes, lost skipped, skip skipped, lost skipped"},
		{failed, "FAILED, INTERRUPTED", "error", "lost fails, skip skipped"},
		{between, "INTERRUPTED", "error", "a passes, lost passes"},
		{skipped, "PASSED, WITHOUT containers", "skipped", "lost passes, lost skipped"},
	} {
		if got := c.campaign.Headline(); got != c.headline {
			t.Errorf("headline %s, expected %s", got, c.headline)
		}
		if text := html.UnescapeString(Summary(c.campaign, difference(c.campaign))); !strings.Contains(text, ": "+c.headline+"\n") || !strings.Contains(text, c.campaign.Left()) {
			t.Errorf("the summary lacks %q, or %q:\n%s", c.headline, c.campaign.Left(), text)
		}
		if told := strings.Join(Annotations(c.campaign, difference(c.campaign)), "\n"); strings.Contains(told, "interrupted") != !c.campaign.Done {
			t.Errorf("%s: annotations %s", c.headline, told)
		}
		var doc junitSuites
		if err := xml.Unmarshal(JUnit(c.campaign), &doc); err != nil {
			t.Fatal(err)
		}
		var cases []string
		whole := ""
		for _, s := range doc.Suites {
			for _, one := range s.Cases {
				word := "passes"
				switch {
				case one.Failure != nil:
					word = "fails"
				case one.Error != nil:
					word = "error"
				case one.Skipped != nil:
					word = "skipped"
				}
				if whole = word; s.Name != "campaign" {
					cases = append(cases, one.Name+" "+word)
				}
			}
		}
		if got := strings.Join(cases, ", "); whole != c.whole || got != c.cases {
			t.Errorf("%s: the whole %s, cases %s; expected %s, %s", c.headline, whole, got, c.whole, c.cases)
		}
	}
}

// TestEverySignatureIsInJUnit however many a class has and however long they are, and those that are known alone, too; what has no room is counted.
func TestEverySignatureIsInJUnit(t *testing.T) {
	for _, known := range []bool{false, true} {
		c := readNight(t, "x", 0, "hunt: lost, skip").Campaign
		p := &c.Parts[0]
		for i := range problemsMax + 7 {
			q := Problem{Check: "lost", Kind: Violation, Signature: fmt.Sprintf("lost: step %d.", i), Count: problemsMax + 7 - i, Reason: strings.Repeat("x", textMax), Witness: strings.Repeat("y", textMax)}
			if known {
				q.Known, q.Until = "waits", "2999-12-31"
			}
			p.Problems = append(p.Problems, q)
		}
		p.Settle()
		var doc junitSuites
		if err := xml.Unmarshal(JUnit(c), &doc); err != nil {
			t.Fatal(err)
		}
		one := doc.Suites[0].Cases[0]
		text := ""
		if known {
			text = one.Skipped.Message
		} else {
			text = one.Failure.Text
			if !strings.Contains(one.Failure.Message, "and 999 further signatures, see the text") {
				t.Errorf("the message says %.100s… %s", one.Failure.Message, one.Failure.Message[len(one.Failure.Message)-50:])
			}
			if !regexp.MustCompile(`and 9[0-9][0-9] more, see campaign.json\n$`).MatchString(text) {
				t.Errorf("what has no room is not counted: …%s", text[len(text)-100:])
			}
		}
		for i := range problemsMax {
			if want := fmt.Sprintf("lost: step %d.", i); !strings.Contains(text, want) {
				t.Fatalf("known %v: %s is not told", known, want)
			}
		}
		if want := "7 further signatures of this part are not listed"; !strings.Contains(doc.Suites[0].Out, want) {
			t.Errorf("system-out lacks %q: %s", want, doc.Suites[0].Out)
		}
		if len(JUnit(c)) > 1<<20 {
			t.Errorf("%d bytes, expected a mebibyte at most", len(JUnit(c)))
		}
	}
}

// TestJUnitHasFiguresAndLinesOrNone: every case that fails or errs says how to carry it out again, by a line of its own, its part's or the campaign's; no property
// is empty; and verdicts that nobody counted are not told of.
func TestJUnitHasFiguresAndLinesOrNone(t *testing.T) {
	c := readNight(t, "x", 0, "canary: the canary\n  trouble the canary; the canary was not found; 1\ncorpus: a.txt, conclusive\n  violation a.txt; lost: election; 1\n  inconclusive conclusive; no run in corpus; 0\n"+
		"bugs: b\n  missed b; not found: b; 1").Campaign
	c.Again, c.Done = "tidemark nightly --master 7", false
	c.Parts[1].Again = "tidemark nightly --without canary --master 7"
	c.Parts[1].Problems[0].Replay = "tidemark run --scenario a.txt --bug ''"
	c.Parts[1].Valid, c.Parts[1].Invalid = 99, 1
	c.Parts[2].Valid = 0 // nobody counts them
	var doc junitSuites
	if err := xml.Unmarshal(JUnit(c), &doc); err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, s := range doc.Suites {
		for _, p := range s.Properties {
			if p.Value == "" {
				t.Errorf("%s: the property %s is empty", s.Name, p.Name)
			}
			if p.Name == "again" {
				told += fmt.Sprintf("%s: %s\n", s.Name, p.Value)
			}
		}
		if strings.Contains(s.Out, "–") || strings.Contains(s.Out, "again: \n") {
			t.Errorf("%s says %s", s.Name, s.Out)
		}
		if line, figures := strings.Split(s.Out, "\n")[1], s.Name != "campaign"; figures {
			told += "  " + line + "\n"
		}
		for _, one := range s.Cases {
			for _, wrong := range []*junitWrong{one.Failure, one.Error} {
				if wrong != nil {
					_, line, _ := strings.Cut(wrong.Text, "tidemark ")
					told += fmt.Sprintf("  %s: %s\n", one.Name, strings.Split(line, "\n")[0])
				}
			}
		}
	}
	want := `canary: tidemark nightly --master 7
  100 runs: 100 valid, 0 invalid (0 known), 0 vacuous, 0 unknown, 0 errors
  the canary: nightly --master 7
corpus: tidemark nightly --without canary --master 7
  100 runs: 99 valid, 1 invalid (0 known), 0 vacuous, 0 unknown, 0 errors
  a.txt: run --scenario a.txt --bug ''
  conclusive: nightly --without canary --master 7
bugs: tidemark nightly --master 7
  100 runs: 0 errors
  b: nightly --master 7
campaign: tidemark nightly --master 7
  carried out as a whole: nightly --master 7
`
	if told != want {
		t.Errorf("told:\n%sexpected:\n%s", told, want)
	}
}
