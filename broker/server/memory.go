package server

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"tidemark/broker/config"
)

// What a broker in bounded memory may spend of it. A request is held once, while it is read and until the loop has looked at it. An
// answer is held while it is written, and while it is made the records that go into it are held beside it.
const (
	heapShare     = 0.8       // of the memory: what the garbage collector holds the process below; the rest is the kernel's
	requestsPart  = 8         // requests may take this part of the memory
	answersPart   = 8         // and answers that one
	connectionMax = 32 << 10  // bytes that an idle connection may take: two stacks, its buffers and the kernel's
	connsPart     = 4         // of the memory: all connections
	connsMin      = 100       // enough for a cluster of any size to work
	queuedMin     = 256 << 10 // the least that requests and answers are given
	fetchPart     = 64        // one answer may take this part: it is made while others are written, and from a copy
	fetchMin      = 1 << 20
)

// memoryFiles are where a container finds its limit: cgroup v2, cgroup v1.
var memoryFiles = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// FitMemory keeps a process that is to run these brokers within the memory of its container, if that has a limit: garbage is collected
// in time, and what clients may have queued, and how many they may be, is lowered to what fits.
func FitMemory(configs []config.Config, log *slog.Logger) {
	limit := containerMemory(memoryFiles)
	if limit == math.MaxInt64 {
		return
	}
	debug.SetMemoryLimit(int64(heapShare * float64(limit)))
	share := limit / int64(max(len(configs), 1))
	for i := range configs {
		fit(&configs[i], share)
	}
	log.Info("fits into the container's memory", "bytes", limit)
}

// fit lowers limits, never raises them. One request and one answer of any size are let in alone, so their size is bounded too.
func fit(c *config.Config, memory int64) {
	sh := &c.Shell
	sh.QueuedMaxRequestBytes = min(sh.QueuedMaxRequestBytes, max(memory/requestsPart, queuedMin))
	sh.QueuedMaxResponseBytes = min(sh.QueuedMaxResponseBytes, max(memory/answersPart, queuedMin))
	sh.MaxConnections = min(sh.MaxConnections, max(int(memory/connsPart/connectionMax), connsMin))
	c.SocketRequestMaxBytes = min(c.SocketRequestMaxBytes, max(int(sh.QueuedMaxRequestBytes), 2*c.MessageMaxBytes))
	c.FetchMaxBytes = min(c.FetchMaxBytes, int(max(memory/fetchPart, fetchMin)))
}

// containerMemory is the first limit that a file names, math.MaxInt64 if there is none.
func containerMemory(files []string) int64 {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if limit, err := parseMemory(strings.TrimSpace(string(text))); err == nil {
			return limit
		}
	}
	return math.MaxInt64
}

// unlimited is the least that cgroup v1 writes where there is no limit: what fits into an int64, in whole pages.
const unlimited = math.MaxInt64 &^ (1<<16 - 1)

func parseMemory(text string) (int64, error) {
	if text == "max" {
		return math.MaxInt64, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || limit <= 0:
		return 0, fmt.Errorf("memory limit %.40q, expected a number of bytes or max", text)
	case limit >= unlimited:
		return math.MaxInt64, nil
	}
	return limit, nil
}
