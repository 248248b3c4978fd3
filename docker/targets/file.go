package targets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/world"
)

// file is a target that a user describes, as YAML. Every text of command, environment and files is a template (text/template) over Place.
type file struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Files       map[string]string `yaml:"files"`
	Faults      []world.Ability   `yaml:"faults"`
	Settings    map[string]string `yaml:"settings"` // defaults of what a run configures
	ELR         bool              `yaml:"eligible-leader-replicas"`
	Startup     time.Duration     `yaml:"startup"` // about how long a broker takes to start
}

// Place is what a template of a target's file is told: the broker, and its cluster.
type Place struct {
	Node
	Site
	Voters     string // the controller quorum, as controller.quorum.voters has it
	Properties string // what the run configures, a line key=value each
	Data       string // directory of the partitions' volume
	Metadata   string // directory of another volume
}

// fileFaults are what the file may list: what needs nothing of a broker but Kafka's protocol, its process and, for a lag without netem, the ports at
// which brokers reach each other.
var fileFaults = []world.Ability{
	world.CanPartition, world.CanKill, world.CanPause, world.CanStop, world.CanElect, world.CanReassign, world.CanFreeze, world.CanLoss, world.CanLag,
}

// startupMax bounds how long a broker may be said to take to start.
const startupMax = time.Minute

// Parse reads a target from the text of a file. The error says what was expected.
func Parse(name, text string) (Target, error) {
	var f file
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return Target{}, fmt.Errorf("target %s: %w", name, err)
	}
	if f.Image == "" || len(f.Command) == 0 {
		return Target{}, fmt.Errorf("target %s: image %q, command %q, expected both", name, f.Image, f.Command)
	}
	if f.Faults == nil {
		f.Faults = fileFaults
	}
	for _, a := range f.Faults {
		if !slices.Contains(fileFaults, a) {
			return Target{}, fmt.Errorf("target %s: fault %q, expected some of %v", name, a, fileFaults)
		}
	}
	if f.Startup < 0 || f.Startup > startupMax {
		return Target{}, fmt.Errorf("target %s: startup %v, expected 0s to %v", name, f.Startup, startupMax)
	}
	for path := range f.Files {
		if !strings.HasPrefix(path, "/") {
			return Target{}, fmt.Errorf("target %s: file %q, expected an absolute path", name, path)
		}
	}
	t := Target{Name: name, Image: f.Image, Abilities: slices.Clone(f.Faults), ELR: f.ELR, Idempotent: true, FollowerFetch: true, Quick: f.Settings, Startup: f.Startup, configure: f.process}
	_, err := t.Process(Site{Nodes: []Node{{ID: 1}}}, Node{ID: 1}) // whether its templates are any
	return t, err
}

// process fills in the file's templates.
func (f file) process(s Site, n Node) (Process, error) {
	at := Place{Node: n, Site: s, Voters: voters(s), Properties: lines(s.Settings), Data: DataPath, Metadata: MetadataPath}
	p := Process{Env: map[string]string{}, Files: map[string]string{}}
	var errs []error
	fill := func(what, text string) string {
		out, err := fillIn(text, at)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
		return out
	}
	for i, word := range f.Command {
		p.Command = append(p.Command, fill(fmt.Sprintf("command, word %d", i+1), word))
	}
	for _, key := range slices.Sorted(maps.Keys(f.Environment)) {
		p.Env[key] = fill("environment "+key, f.Environment[key])
	}
	for _, path := range slices.Sorted(maps.Keys(f.Files)) {
		p.Files[path] = fill("file "+path, f.Files[path])
	}
	return p, errors.Join(errs...)
}

func fillIn(text string, at Place) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = t.Execute(&out, at)
	return out.String(), err
}
