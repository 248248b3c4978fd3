package log

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
)

// TestScenarios runs the stories in testdata. Each file works on one log in directory "t" of a disk in memory:
//
//	open [clean] [bug:NAME] [recovery-point=N] [segment=BYTES] [interval=BYTES] [max-batch=BYTES]
//	append epoch=N value...          as leader; values joined by + make one batch, each word a batch
//	  ... producer=ID [of=EPOCH] sequence=N    of an idempotent producer, also with fetched; the next batch goes on behind it
//	producers                        what is known of idempotent producers: [sequence numbers]@[offsets]; with them:
//	expire now=N after=N             in seconds
//	fetched base=N epoch=N value...  as follower
//	assign epoch=N start=N           epoch-end N...
//	read from=N [bound=N] [max=BYTES] [one]
//	time MS...                       batches from "append at=MS"
//	truncate N                       truncate-fully N
//	move-start N                     as DeleteRecords does
//	retain now=N age=N bytes=N bound=N  retention at a time, in seconds; without age or bytes it keeps all
//	flush                            begin-flush, end-flush: a flush under way
//	cut FILE BYTES                   removes bytes at the end of a file
//	grow FILE BYTES                  adds zeros: a length that outlived its data
//	flip FILE AT                     inverts the byte at a position (negative: from the end)
//	leave FILE base=N epoch=N value...  batches behind the end of a file, where a truncation never reached the disk
//	put FILE                         makes a file hold the lines below the command
//	show FILE                        prints a text file
//	remove FILE...                   files: lists all with their sizes
//	short                            the next write of batches writes only a half, and says so
//	close, close-cleanly             the latter as a clean shutdown does
//
// All but reads print the log's state afterwards.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &scenario{t: t, fs: &shortFS{FS: disk.Mem()}, cfg: Config{SegmentBytes: 400, IndexIntervalBytes: 150, MaxBatchBytes: 300}}
		datadriven.RunTest(t, path, s.run)
	})
}

type scenario struct {
	t     *testing.T
	fs    *shortFS
	cfg   Config
	log   *Log
	steps []disk.Step
	end   kafka.Offset
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	words, args := split(d)
	var out strings.Builder
	switch d.Cmd {
	case "short":
		s.fs.short = true
		return ""
	case "open":
		s.open(&out, words, args)
	case "append":
		first, end, err := s.log.Append(s.batches(0, words, args), kafka.Epoch(args["epoch"]))
		report(&out, err, "offsets %d to %d", first, end-1)
	case "fetched":
		_, err := s.log.AppendFetched(s.batches(args["base"], words, args))
		report(&out, err, "")
	case "assign":
		s.log.AssignEpoch(kafka.Epoch(args["epoch"]), kafka.Offset(args["start"]))
	case "epoch-end":
		for _, n := range numbers(words) {
			e, end := s.log.EpochEnd(kafka.Epoch(n))
			fmt.Fprintf(&out, "asked %d: epoch %d ends at %d\n", n, e, end)
		}
		return out.String()
	case "read":
		return s.read(words, args)
	case "time":
		for _, n := range numbers(words) {
			offset, at, err := s.log.OffsetForTime(n)
			report(&out, err, "since %d: offset %d at %d", n, offset, at)
		}
		return out.String()
	case "producers":
		return s.producers()
	case "expire":
		s.log.ExpireProducers(time.Duration(args["now"])*time.Second, time.Duration(args["after"])*time.Second)
		return s.producers()
	case "truncate":
		_, err := s.log.Truncate(kafka.Offset(numbers(words)[0]))
		report(&out, err, "")
	case "truncate-fully":
		report(&out, s.log.TruncateFully(kafka.Offset(numbers(words)[0])), "")
	case "move-start":
		_, err := s.log.MoveStart(kafka.Offset(numbers(words)[0]))
		report(&out, err, "")
	case "retain":
		s.retain(&out, args)
	case "flush":
		s.begin(&out)
		s.finish()
	case "begin-flush":
		s.begin(&out)
	case "end-flush":
		s.finish()
	case "show":
		return s.show(words[0])
	case "files":
		return s.files()
	case "dump":
		return s.dump()
	case "close-cleanly":
		s.log.SnapshotProducers()
		s.begin(&out)
		s.finish()
		report(&out, s.log.Close(), "")
		return out.String()
	case "close":
		report(&out, s.log.Close(), "")
		return out.String()
	default:
		s.damage(d, words, args)
		return ""
	}
	s.state(&out)
	return out.String()
}

func (s *scenario) open(out *strings.Builder, words []string, args map[string]int64) {
	for name, field := range map[string]*int{"segment": &s.cfg.SegmentBytes, "interval": &s.cfg.IndexIntervalBytes, "max-batch": &s.cfg.MaxBatchBytes} {
		if v, ok := args[name]; ok {
			*field = int(v)
		}
	}
	s.cfg.Bug = nil
	for _, w := range words {
		if name, ok := strings.CutPrefix(w, "bug:"); ok {
			s.cfg.Bug = bug.On(bug.Name(name))
		}
	}
	l, rec, err := OpenFrom(s.fs, "t", s.cfg, kafka.Offset(args["start"]), kafka.Offset(args["recovery-point"]), slices.Contains(words, "clean"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.log = l
	if rec.Clean {
		fmt.Fprintln(out, "clean")
	} else {
		fmt.Fprintf(out, "scanned %d bytes, truncated %d, from %d to %d\n", rec.ScannedBytes, rec.TruncatedBytes, rec.From, rec.To)
	}
	if rec.Reason != "" {
		fmt.Fprintln(out, rec.Reason)
	}
}

func (s *scenario) retain(out *strings.Builder, args map[string]int64) {
	keep := Retention{Age: -1, Bytes: -1}
	if n, ok := args["age"]; ok {
		keep.Age = time.Duration(n) * time.Second
	}
	if n, ok := args["bytes"]; ok {
		keep.Bytes = n
	}
	bound := s.log.End()
	if n, ok := args["bound"]; ok {
		bound = kafka.Offset(n)
	}
	n := s.log.Expired(time.Duration(args["now"])*time.Second, keep, bound)
	if n == 0 {
		return
	}
	steps, err := s.log.RemoveSegments(n)
	must(s.t, err)
	for _, step := range steps {
		fmt.Fprintln(out, step)
		must(s.t, disk.Run(s.fs, step))
	}
}

func (s *scenario) batches(base int64, words []string, args map[string]int64) []byte {
	var all []byte
	for _, w := range words {
		var values [][]byte
		for v := range strings.SplitSeq(w, "+") {
			values = append(values, []byte(v))
		}
		b := BuildBatch(kafka.Offset(base), kafka.Epoch(args["epoch"]), args["at"], values...)
		if id, ok := args["producer"]; ok {
			Sequence(b, id, int16(args["of"]), int32(args["sequence"]))
			args["sequence"] = int64(addSequence(int32(args["sequence"]), int32(len(values))))
		}
		all = append(all, b...)
		base += int64(len(values))
	}
	return all[:len(all)-int(args["short"])]
}

func (s *scenario) read(words []string, args map[string]int64) string {
	bound, maxBytes := int64(s.log.End()), int64(1<<20)
	if v, ok := args["bound"]; ok {
		bound = v
	}
	if v, ok := args["max"]; ok {
		maxBytes = v
	}
	data, err := s.log.Read(kafka.Offset(args["from"]), kafka.Offset(bound), int(maxBytes), len(words) > 0)
	if err != nil {
		return err.Error() + "\n"
	}
	var out strings.Builder
	for len(data) > 0 {
		b, err := parseWhole(data)
		if err != nil {
			return err.Error() + "\n"
		}
		records, err := Records(data, 1000)
		if err != nil {
			return err.Error() + "\n"
		}
		fmt.Fprintf(&out, "%d-%d epoch %d:", b.Base, b.Last, b.Epoch)
		for _, r := range records {
			fmt.Fprintf(&out, " %s", r.Value)
		}
		fmt.Fprintf(&out, " (%d bytes)\n", b.Size)
		data = data[b.Size:]
	}
	return out.String()
}

func (s *scenario) begin(out *strings.Builder) {
	s.steps, s.end = s.log.FlushSteps()
	for _, step := range s.steps {
		fmt.Fprintln(out, step)
	}
}

func (s *scenario) finish() {
	for _, step := range s.steps {
		if err := disk.Run(s.fs, step); err != nil {
			s.t.Fatal(err)
		}
	}
	s.log.Flushed(s.end)
}

// state prints everything that a log knows about itself.
func (s *scenario) state(out *strings.Builder) {
	l := s.log
	fmt.Fprintf(out, "start %d end %d recovery point %d", l.Start(), l.End(), l.RecoveryPoint())
	if l.NeedsFlush() {
		fmt.Fprint(out, " needs flush")
	}
	fmt.Fprint(out, "\nepochs:")
	for _, e := range l.Epochs() {
		fmt.Fprintf(out, " %d@%d", e.Epoch, e.Start)
	}
	fmt.Fprintln(out)
	for _, seg := range l.segments {
		fmt.Fprintf(out, "segment %d to %d: %d bytes, index", seg.base, seg.end, seg.size)
		for _, e := range seg.index {
			fmt.Fprintf(out, " %d@%d", int64(e.relative)+int64(seg.base), e.position)
		}
		fmt.Fprintln(out)
	}
}

// producers tells each producer's epoch and last batches.
func (s *scenario) producers() string {
	var out strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.log.producers.byID)) {
		p := s.log.producers.byID[id]
		fmt.Fprintf(&out, "producer %d epoch %d:", id, p.epoch)
		for _, b := range p.batches {
			fmt.Fprintf(&out, " %d-%d@%d-%d", b.first, b.last, b.base, b.end-1)
		}
		fmt.Fprintln(&out)
	}
	if out.Len() == 0 {
		return "none\n"
	}
	return out.String()
}

func (s *scenario) dump() string {
	c, err := Dump(s.fs, "t")
	var out strings.Builder
	fmt.Fprintf(&out, "start %d end %d\n", c.Start, c.End)
	for _, r := range c.Records {
		fmt.Fprintf(&out, "%d epoch %d %s\n", r.Offset, r.Epoch, r.Value)
	}
	report(&out, err, "")
	return out.String()
}

func (s *scenario) files() string {
	names, err := s.fs.ReadDir("t")
	if err != nil {
		s.t.Fatal(err)
	}
	var out strings.Builder
	for _, name := range names {
		f := s.file(name)
		size, _ := f.Size()
		fmt.Fprintf(&out, "%s %d\n", name, size)
	}
	return out.String()
}

func (s *scenario) show(name string) string {
	data, err := disk.ReadFile(s.fs, "t/"+name, 1000)
	if err != nil {
		return err.Error() + "\n"
	}
	return string(data)
}

func (s *scenario) file(name string) disk.File {
	f, err := s.fs.Open("t/"+name, false)
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// damage is what a crash or a bad disk does to files.
func (s *scenario) damage(d *datadriven.TestData, words []string, args map[string]int64) {
	switch d.Cmd {
	case "remove":
		for _, name := range words {
			must(s.t, s.fs.Remove("t/"+name))
		}
		return
	case "put":
		must(s.t, disk.Run(s.fs, disk.Step{Op: disk.WriteFile, Path: "t/" + words[0], Data: []byte(d.Input + "\n")}))
		return
	}
	f := s.file(words[0])
	size, err := f.Size()
	must(s.t, err)
	switch d.Cmd {
	case "leave":
		_, err = f.WriteAt(s.batches(args["base"], words[1:], args), size)
	case "cut":
		err = f.Truncate(size - numbers(words[1:])[0])
	case "grow":
		err = f.Truncate(size + numbers(words[1:])[0])
	case "flip":
		n := numbers(words[1:])[0]
		if n < 0 {
			n += size
		}
		var b [1]byte
		if err = disk.ReadFull(f, b[:], n); err == nil {
			b[0] ^= 0xff
			_, err = f.WriteAt(b[:], n)
		}
	default:
		d.Fatalf(s.t, "unknown command %s", d.Cmd)
	}
	must(s.t, err)
}

func report(out *strings.Builder, err error, format string, args ...any) {
	switch {
	case err != nil:
		fmt.Fprintln(out, err)
	case format != "":
		fmt.Fprintf(out, format+"\n", args...)
	}
}

// split separates bare words from name=number arguments.
func split(d *datadriven.TestData) ([]string, map[string]int64) {
	var words []string
	args := map[string]int64{}
	for _, a := range d.CmdArgs {
		if len(a.Vals) == 0 {
			words = append(words, a.Key)
			continue
		}
		n, err := strconv.ParseInt(a.Vals[0], 10, 64)
		if err != nil {
			panic(err)
		}
		args[a.Key] = n
	}
	return words, args
}

func numbers(words []string) []int64 {
	ns := make([]int64, len(words))
	for i, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			panic(err)
		}
		ns[i] = n
	}
	return ns
}
