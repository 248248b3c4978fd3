package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemark/docker/targets"
	"tidemark/world"
)

// ExamineTargets looks at what brokers that are not this program's own need here, and says what each make leaves out.
func ExamineTargets(ctx context.Context) []Finding {
	engine, err := Connect(ctx)
	if err != nil {
		return nil // said already
	}
	defer engine.Close() //nolint:errcheck // only asked
	found := []Finding{engine.examineBuilt(ctx)}
	if _, err := findTools(""); err != nil {
		found = append(found, Finding{
			What: "targets: " + strings.ReplaceAll(err.Error(), "\n", "; "), Note: true, OK: true,
		})
	} else {
		found = append(found, Finding{What: "targets: images of Apache Kafka can be made here: mvn, jlink, ldd and a static busybox are there", OK: true})
	}
	for _, name := range examinedTargets {
		if t, err := targets.Find(name); err == nil {
			found = append(found, Finding{What: leavesOut(t), OK: true})
		}
	}
	return found
}

// examinedTargets stand for the makes and eras whose abilities differ.
var examinedTargets = []string{"apache-kafka:0.10.2.2", "apache-kafka:2.8.2", "apache-kafka:3.9.1", "apache-kafka:4.1.0"}

// examineBuilt lists the images that were made.
func (e *Engine) examineBuilt(ctx context.Context) Finding {
	made, err := e.Built(ctx)
	if err != nil {
		return Finding{What: err.Error(), RulesOut: "run --target", How: "ask again"}
	}
	var names []string
	for _, m := range made {
		if !slices.Contains(names, m.Release) {
			names = append(names, m.Release)
		}
	}
	if len(names) == 0 {
		return Finding{What: "targets: no image of Apache Kafka was made yet; the first run of a release makes it, from Maven Central", OK: true}
	}
	return Finding{What: "targets: images are there of Apache Kafka " + strings.Join(names, ", "), OK: true}
}

// leavesOut says of a target what it needs, and which of the faults that containers can do it does not admit.
func leavesOut(t targets.Target) string {
	var without []string
	for _, a := range Abilities() {
		if !slices.Contains(t.Abilities, a) {
			without = append(without, string(a))
		}
	}
	beside := "a controller quorum among its brokers"
	if t.Keeper {
		beside = "a ZooKeeper beside its brokers"
	}
	text := fmt.Sprintf("target %s: %s; leaves out %s", t.Name, beside, strings.Join(without, ", "))
	if !slices.Contains(t.Abilities, world.CanElect) {
		text += " (elections and reassignments by request are of 2.4 and newer)"
	}
	if !t.Idempotent {
		text += "; --idempotence and --trim take 0.11 or newer"
	}
	return text
}
