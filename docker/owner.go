package docker

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Labels of everything that a run makes.
const (
	labelRun       = "tidemark.run"       // the cluster's name
	labelPID       = "tidemark.pid"       // the harness's process
	labelBorn      = "tidemark.born"      // when that process started, in clock ticks after boot: process numbers come again
	labelBoot      = "tidemark.boot"      // the boot that the process belongs to
	labelNamespace = "tidemark.namespace" // the namespace that its number is of
	labelKeep      = "tidemark.keep"      // to be left for a look inside
)

// owner is who made something: one run of one process.
type owner struct {
	run       string
	pid       int
	born      string
	boot      string
	namespace string
	keep      bool
}

// thisOwner names a new run of this process.
func thisOwner(keep bool) (owner, error) {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return owner{}, err
	}
	o := owner{run: hex.EncodeToString(b[:]), pid: os.Getpid(), keep: keep}
	var err error
	if o.born, err = bornAt(o.pid); err != nil {
		return o, err
	}
	if o.boot, err = bootID(); err != nil {
		return o, err
	}
	o.namespace, err = processNamespace()
	return o, err
}

func (o owner) labels() map[string]string {
	l := map[string]string{
		labelRun: o.run, labelPID: strconv.Itoa(o.pid), labelBorn: o.born, labelBoot: o.boot, labelNamespace: o.namespace,
	}
	if o.keep {
		l[labelKeep] = "true"
	}
	return l
}

// ownerOf reads labels.
func ownerOf(labels map[string]string) owner {
	pid, _ := strconv.Atoi(labels[labelPID]) // 0 is nobody
	return owner{
		run: labels[labelRun], pid: pid, born: labels[labelBorn], boot: labels[labelBoot], namespace: labels[labelNamespace],
		keep: labels[labelKeep] == "true",
	}
}

// alive reports whether the process may still run. One of another namespace cannot be seen from here: it may.
func (o owner) alive() bool {
	if boot, err := bootID(); err != nil || boot != o.boot {
		return err != nil
	}
	if here, err := processNamespace(); err != nil || here != o.namespace {
		return true
	}
	born, err := bornAt(o.pid)
	return err == nil && born == o.born
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

func processNamespace() (string, error) { return os.Readlink("/proc/self/ns/pid") }

// bornAt is field 22 of /proc/PID/stat, starttime.
func bornAt(pid int) (string, error) {
	fields, err := processStat(pid)
	if err != nil {
		return "", err
	}
	return fields[22-3], nil
}

// processStat is what /proc/PID/stat says behind the program's name, from field 3 on.
func processStat(pid int) ([]string, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, rest, ok := cutLast(string(text), ")") // the name may hold anything
	fields := strings.Fields(rest)
	if !ok || len(fields) < 22-2 {
		return nil, fmt.Errorf("%s: %q, expected 22 fields or more", path, text)
	}
	return fields, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
