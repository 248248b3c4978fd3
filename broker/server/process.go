package server

import (
	"bytes"
	"os"
	runtimemetrics "runtime/metrics"
	"strconv"
)

// processMetrics lists what the process as a whole takes, with all brokers that it runs. What the system does not tell is left out.
func processMetrics() []metric {
	samples := []runtimemetrics.Sample{
		{Name: "/sched/goroutines:goroutines"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/gomemlimit:bytes"},
	}
	runtimemetrics.Read(samples)
	number := func(i int) int64 { return int64(min(samples[i].Value.Uint64(), 1<<63-1)) }
	out := []metric{
		{"goroutines", "gauge", "Goroutines of the process.", number(0)},
		{"heap_live_bytes", "gauge", "Heap that the last garbage collection found in use.", number(1)},
		{"heap_bytes", "gauge", "Heap in use, with what is garbage by now.", number(2)},
		{"memory_limit_bytes", "gauge", "What the process holds its memory below, by collecting garbage.", number(3)},
	}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		out = append(out, metric{"open_files", "gauge", "Descriptors that are open.", int64(len(entries) - 1)}) // less the one of the look itself
	}
	if resident, ok := residentBytes(); ok {
		out = append(out, metric{"resident_bytes", "gauge", "Memory of the process that is not swapped out.", resident})
	}
	return out
}

// residentBytes is the second field of /proc/self/statm.
func residentBytes() (int64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}
