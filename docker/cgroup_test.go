package docker

import "testing"

// TestCgroupsOfBothVersions reads what Linux says of a container's process with cgroups of version 1, of both, and of version 2.
func TestCgroupsOfBothVersions(t *testing.T) {
	for _, v := range []struct{ text, want string }{
		{"9:freezer:/docker/abc\n5:cpu,cpuacct:/docker/abc\n", "freezer/docker/abc/freezer.state"},
		{"9:freezer:/docker/abc\n0::/system.slice/docker.service\n", "freezer/docker/abc/freezer.state"},
		{"0::/system.slice/docker-abc.scope\n", "/system.slice/docker-abc.scope/cgroup.events"},
		{"1:name=systemd:/x\n0::/docker/a:b\n", "/docker/a:b/cgroup.events"},
	} {
		if got, err := cgroupFile(v.text, "freezer", "freezer.state", "cgroup.events"); err != nil || got != v.want {
			t.Errorf("%q gave %q, %v, expected %q", v.text, got, err, v.want)
		}
	}
	if got, err := cgroupFile("5:cpu,cpuacct:/docker/abc\n", "cpuacct", "usage", ""); err != nil || got != "cpuacct/docker/abc/usage" {
		t.Errorf("one of two controllers gave %q, %v", got, err)
	}
	for _, garbage := range []string{"", "freezer", "9:freezer", "1:name=systemd:/x\n"} {
		if got, err := cgroupFile(garbage, "freezer", "freezer.state", "cgroup.events"); err == nil {
			t.Errorf("%q gave %q", garbage, got)
		}
	}
}
