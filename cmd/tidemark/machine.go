package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// machineLoad is how many programs wanted a processor of this machine, in the mean of the last minute; 0 where nobody tells.
func machineLoad() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

// processorTime is how long this process has had a processor, all of them together.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
