package docker

import (
	"os/exec"
	"testing"
)

// TestOwnersAreToldApart holds labels to what they are for: a harness that runs is spared, one that is gone is not, even if its number
// has been given to another process.
func TestOwnersAreToldApart(t *testing.T) {
	own, err := thisOwner(true)
	if err != nil {
		t.Fatal(err)
	}
	if read := ownerOf(own.labels()); read != own || !read.alive() {
		t.Errorf("the labels of this process read as %+v, alive %t, expected %+v", read, read.alive(), own)
	}
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	child := own
	child.pid = other.Process.Pid
	if child.born, err = bornAt(child.pid); err != nil || !child.alive() {
		t.Errorf("a process that runs is taken for dead: %v", err)
	}
	reused := child
	reused.born = "1"
	rebooted := child
	rebooted.boot = "another"
	for what, o := range map[string]owner{"a number used again": reused, "of another boot": rebooted, "no labels": ownerOf(nil)} {
		if o.alive() {
			t.Errorf("%s: taken to be alive", what)
		}
	}
	elsewhere := child
	elsewhere.namespace, elsewhere.born = "pid:[1]", "1"
	if !elsewhere.alive() {
		t.Error("a process of another namespace cannot be seen from here, but was taken for dead")
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	if child.alive() {
		t.Error("a process that was killed is taken to be alive")
	}
}
