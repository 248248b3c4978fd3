package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tidemark/docker/targets"
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
	made, _ := engine.Built(ctx) // that it could not be told is said already
	for _, name := range examinedTargets {
		if t, err := targets.Find(name); err == nil {
			found = append(found, Finding{What: describeTarget(t, made), OK: true})
		}
	}
	return found
}

// examinedTargets stand for the makes and eras that differ in what they need or admit.
var examinedTargets = []string{"apache-kafka:0.10.2.2", "apache-kafka:1.1.1", "apache-kafka:2.8.2", "apache-kafka:3.9.1", "apache-kafka:4.1.0", "apache-kafka-isolated:4.1.0", "apache-kafka:4.4.0"}

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

// describeTarget says of a target what it needs here, and what of what runs in containers can have it leaves out: faults, and options.
func describeTarget(t targets.Target, made []Built) string {
	needs := []string{fmt.Sprintf("its image (%s)", imageWords(t, made))}
	switch {
	case t.Keeper:
		needs = append(needs, "a ZooKeeper beside its brokers, in a container of its own")
	case t.Isolated:
		needs = append(needs, "three controllers beside its brokers, each in a container of its own")
	default:
		needs = append(needs, "three brokers, or all if fewer, as its controller quorum")
	}
	needs = append(needs, fmt.Sprintf("%d MiB for each container at most, and about %v until a broker has started", memoryStock>>20, t.Startup))
	var without []string
	for _, a := range Abilities() {
		if !slices.Contains(t.Abilities, a) {
			without = append(without, string(a))
		}
	}
	for _, option := range []struct {
		words string
		taken bool
	}{
		{"--idempotence and --trim (0.11 and newer)", t.Idempotent},
		{"--follower-fetch (2.4 and newer)", t.FollowerFetch},
		{"eligible leader replicas (4.1 and newer)", t.ELR},
	} {
		if !option.taken {
			without = append(without, option.words)
		}
	}
	out := "target " + t.Name + ": needs " + strings.Join(needs, "; ")
	if len(without) > 0 {
		out += "; leaves out " + strings.Join(without, ", ")
	}
	if t.KeeperAdmin {
		out += "; elections and moves are asked for by ZooKeeper's nodes"
	}
	return out
}

// imageWords says where a target's image comes from.
func imageWords(t targets.Target, made []Built) string {
	switch {
	case t.Image != "":
		return "pulled by its name"
	case slices.ContainsFunc(made, func(b Built) bool { return b.Release == t.Release.String() }):
		return "there"
	}
	return "the first run makes it, from Maven Central"
}
