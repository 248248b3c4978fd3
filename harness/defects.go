package harness

import (
	"embed"
	"fmt"
	"strings"

	"tidemark/checker"
	"tidemark/history"
)

// Defect is a loss of acknowledged messages that a release of Apache Kafka really has, as its project published it.
type Defect struct {
	Name    string   // as the project names it, such as KIP-101
	Release string   // that has it
	Fixed   []string // releases that have it no longer, the oldest first
	Says    string   // the head of its scenario
	Class   checker.Class
	Run     history.Run // of the release that has it, with the scenario's plan
}

// published is the defects that are known here, each with its scenario's file under defects.
var published = []struct {
	name, file string
	fixed      []string
}{
	{"KIP-101", "kip-101.txt", []string{"0.11.0.3", "4.1.0"}},
	{"KIP-279", "kip-279.txt", []string{"2.0.1"}},
	{"KAFKA-7128", "kafka-7128.txt", []string{"2.0.1"}},
	{"KIP-320", "kip-320.txt", []string{"2.8.2"}},
	{"KAFKA-10706", "kafka-10706.txt", []string{"2.8.2"}},
	{"KAFKA-13141", "kafka-13141.txt", []string{"2.8.2"}},
}

//go:embed defects/*.txt
var defectFiles embed.FS

// Defects lists the defects that are known here, in the order in which they were published.
func Defects() ([]Defect, error) {
	var out []Defect
	for _, p := range published {
		text, err := defectFiles.ReadFile("defects/" + p.file)
		if err != nil {
			return nil, err
		}
		d, err := ParseDefect(p.name, string(text), p.fixed)
		if err != nil {
			return nil, fmt.Errorf("defects/%s: %w", p.file, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// ParseDefect reads a defect from its scenario: a target of Apache Kafka among the options, and the class as which it shows as the outcome.
func ParseDefect(name, scenario string, fixed []string) (Defect, error) {
	d := Defect{Name: name, Fixed: fixed}
	for line := range strings.Lines(scenario) {
		if head, ok := strings.CutPrefix(line, "#"); ok {
			d.Says = strings.TrimSpace(d.Says + " " + strings.TrimSpace(head))
		}
	}
	options, plan, told, err := ReadScenario(scenario)
	if err != nil {
		return d, err
	}
	if d.Run, err = ScenarioRun(options, plan); err != nil {
		return d, err
	}
	make, release, ok := strings.Cut(d.Run.Target, ":")
	if !ok || make != releaseMake {
		return d, fmt.Errorf("target %q, expected %s:RELEASE", d.Run.Target, releaseMake)
	}
	d.Release = release
	class, ok := strings.CutPrefix(told, string(checker.Invalid)+": ")
	if d.Class = checker.Class(class); !ok || d.Class.Place() < 0 {
		return d, fmt.Errorf("outcome %q, expected %q and a class of anomaly", told, string(checker.Invalid)+": ")
	}
	for _, r := range fixed {
		if _, err := d.On(r); err != nil {
			return d, err
		}
	}
	return d, nil
}

// releaseMake is the make of which releases are compared.
const releaseMake = "apache-kafka"

// On is the defect's run on another release.
func (d Defect) On(release string) (history.Run, error) {
	if release == d.Release {
		return d.Run, nil
	}
	run, err := Carried(d.Run, Where{World: Contained, Target: releaseMake + ":" + release})
	if err != nil {
		return run, fmt.Errorf("release %s: %w", release, err)
	}
	return run, nil
}
