package docker

import (
	"testing"

	"tidemark/docker/targets"
)

// TestTheDoctorDescribesTargets says of releases of three eras what each needs and leaves out.
func TestTheDoctorDescribesTargets(t *testing.T) {
	made := []Built{{Name: "tidemark-kafka:4.1.0-0123456789ab", Release: "4.1.0"}}
	for name, want := range map[string]string{
		"apache-kafka:0.10.2.2": "target apache-kafka:0.10.2.2: needs its image (the first run makes it, from Maven Central); a ZooKeeper beside its brokers, in a container of its own; " +
			"1024 MiB for each container at most, and about 7s until a broker has started; leaves out wipe, --idempotence and --trim (0.11 and newer), " +
			"--follower-fetch (2.4 and newer), eligible leader replicas (4.1 and newer); elections and moves are asked for by ZooKeeper's nodes",
		"apache-kafka:3.9.1": "target apache-kafka:3.9.1: needs its image (the first run makes it, from Maven Central); three brokers, or all if fewer, as its controller quorum; " +
			"1024 MiB for each container at most, and about 7s until a broker has started; leaves out wipe, eligible leader replicas (4.1 and newer)",
		"apache-kafka:4.1.0": "target apache-kafka:4.1.0: needs its image (there); three brokers, or all if fewer, as its controller quorum; " +
			"1024 MiB for each container at most, and about 7s until a broker has started; leaves out wipe",
		"apache/kafka:4.1.0": "target apache/kafka:4.1.0: needs its image (pulled by its name); three brokers, or all if fewer, as its controller quorum; " +
			"1024 MiB for each container at most, and about 7s until a broker has started; leaves out wipe",
	} {
		target, err := targets.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := describeTarget(target, made); got != want {
			t.Errorf("%s: got\n%s\nexpected\n%s", name, got, want)
		}
	}
}
