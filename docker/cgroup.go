package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cgroups is where cgroups are mounted.
const cgroups = "/sys/fs/cgroup"

// cgroupSays reads a file of a process's cgroup, by the controller and the name that it has in version 1, or the name in version 2.
func cgroupSays(pid int, controller, one, two string) (string, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return "", err
	}
	file, err := cgroupFile(string(text), controller, one, two)
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	says, err := os.ReadFile(filepath.Join(cgroups, file))
	return strings.TrimSpace(string(says)), err
}

// cgroupFile finds that file's name below the mount in the text of /proc/PID/cgroup, whose lines are hierarchy:controllers:path; there
// are no controllers in the line of version 2.
func cgroupFile(text, controller, one, two string) (string, error) {
	var unified string
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) != 3:
		case slices.Contains(strings.Split(fields[1], ","), controller):
			return filepath.Join(controller, fields[2], one), nil
		case fields[1] == "":
			unified = fields[2]
		}
	}
	if unified == "" {
		return "", fmt.Errorf("cgroups %q, expected the controller %s, or version 2", text, controller)
	}
	return filepath.Join(unified, two), nil
}
