package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/docker/docker/api/types/system"
)

// Finding is one thing that the doctor looked at.
type Finding struct {
	What string // what was looked at, with what was found
	OK   bool
	Note bool // worth a look, though it rules out nothing; OK, too
	// Of what is not as it should be: what that rules out, and how to get it.
	RulesOut string
	How      string
}

// Examine looks at what the container world needs, in order, and stops where the rest cannot be looked at. It starts, and removes, a
// cluster of two brokers. binary is as in Options.
func Examine(ctx context.Context, binary string) []Finding {
	engine, err := Connect(ctx)
	if err != nil {
		var missing *Missing
		how := ""
		if errors.As(err, &missing) {
			err, how = errors.New(missing.What), missing.How
		}
		return []Finding{{What: err.Error(), RulesOut: "--world docker; --world sim needs no engine", How: how}}
	}
	defer engine.Close() //nolint:errcheck // nothing is under way
	found := []Finding{{What: fmt.Sprintf("Docker Engine %s answers, API %s", engine.Version, engine.API), OK: true}}
	found = append(found, engine.examineMachine(ctx)...)
	static := engine.examineBinary(binary)
	if found = append(found, static); static.OK {
		found = append(found, engine.examineCluster(ctx, binary)...)
	}
	return append(found, engine.examineLeftovers(ctx))
}

// examineMachine looks at what the engine says of its machine.
func (e *Engine) examineMachine(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, engineBound)
	defer cancel()
	info, err := e.api.Info(ctx)
	if err != nil {
		return []Finding{{What: "the engine's machine cannot be told: " + err.Error(), RulesOut: "nothing by itself", How: "ask again"}}
	}
	return []Finding{e.examineProcesses(info), examinePrivileges(info), examineSpace(info)}
}

// examineProcesses looks whether the engine's processes can be seen from here: pauses and freezes are observed in /proc and in cgroups.
func (e *Engine) examineProcesses(info system.Info) Finding {
	boot, err := bootID()
	if err != nil || !strings.HasPrefix(e.api.DaemonHost(), "unix://") {
		return Finding{
			What:     fmt.Sprintf("the engine is at %s, boot %s here", e.api.DaemonHost(), boot),
			RulesOut: "observing pauses, unless that is this machine: a stopped process shows in /proc only",
			How:      "run tidemark on the engine's machine",
		}
	}
	return Finding{
		What: fmt.Sprintf("the engine is on this machine, Linux %s, cgroups %s, %d processors", info.KernelVersion, info.CgroupVersion, info.NCPU), OK: true,
	}
}

// examinePrivileges tells whether the engine is root's. What containers may do is seen when one does it.
func examinePrivileges(info system.Info) Finding {
	for _, option := range info.SecurityOptions {
		if strings.Contains(option, "rootless") {
			return Finding{What: "the engine is rootless: containers are reached by published ports alone", OK: true}
		}
	}
	return Finding{What: "the engine runs as root, and lets this user ask it", OK: true}
}

// spaceMin is what a long run may write, and the image.
const spaceMin = 1 << 30

// examineSpace looks at the disk that images and volumes lie on, where it can be seen from here.
func examineSpace(info system.Info) Finding {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(info.DockerRootDir, &disk); err != nil {
		return Finding{What: fmt.Sprintf("the engine's disk cannot be seen from here (%s: %v)", info.DockerRootDir, err), OK: true}
	}
	free := disk.Bavail * uint64(disk.Bsize)
	found := Finding{What: fmt.Sprintf("%d MiB of disk are free for images and volumes in %s", free>>20, info.DockerRootDir), OK: free >= spaceMin}
	if !found.OK {
		found.RulesOut = fmt.Sprintf("long runs: expected %d MiB or more", spaceMin>>20)
		found.How = "tidemark cleanup --images removes this program's images; docker system df shows who takes the rest"
	}
	return found
}

func (e *Engine) examineBinary(binary string) Finding {
	path, err := binaryPathOf(binary)
	if err == nil {
		_, err = readBinary(path)
	}
	if err != nil {
		return Finding{What: err.Error(), RulesOut: "--world docker: containers run this very program in an empty image", How: "make build, then bin/tidemark"}
	}
	return Finding{What: path + " is static: it runs in an empty image", OK: true}
}

func (e *Engine) examineLeftovers(ctx context.Context) Finding {
	left, err := e.leftovers(ctx, true)
	switch {
	case err != nil:
		return Finding{What: err.Error(), RulesOut: "nothing by itself", How: "ask again"}
	case len(left) > 0:
		return Finding{What: tellLeft(left), OK: true, Note: true}
	default:
		return Finding{What: "nothing is left of earlier runs", OK: true}
	}
}

// tellLeft names the runs of what was left, and what removes it.
func tellLeft(left []thing) string {
	var runs []string
	for _, t := range left {
		name := t.owner.run
		if t.owner.keep {
			name += " kept"
		}
		if !slices.Contains(runs, name) {
			runs = append(runs, name)
		}
	}
	are := "are"
	if len(runs) == 1 {
		are = "is"
	}
	return fmt.Sprintf("%s %s left (%s): tidemark cleanup", numbered(len(runs), "cluster"), are, strings.Join(runs, ", "))
}
