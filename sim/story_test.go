package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tidemark/broker"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/history"
	"tidemark/world"
)

// TestStories runs testdata/*.txt. A `run` block is a story told line by line in one coroutine of a world of three fakes; the
// golden text is what brokers and clients saw, each at its virtual millisecond. A broker answers a request X with "re: X", but
// "hold" never, "silent" with no answer (as acks=0), "bye" with an answer and a close.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "run" {
				d.Fatalf(t, "unknown command %q, expected run", d.Cmd)
			}
			seed := 1
			d.MaybeScanArgs(t, "seed", &seed)
			s := &story{conns: map[string]world.Conn{}}
			s.cluster = newCluster(t, Options{Seed: uint64(seed)}, 3, s.setUp)
			err := s.Run(context.Background(), func() error {
				s.Sleep(processStartMax)
				for line := range strings.Lines(d.Input) {
					s.line(strings.TrimSpace(line))
				}
				return nil
			})
			if err != nil {
				s.tell("the run failed: %v", err)
			}
			return s.told.String()
		})
	})
}

type story struct {
	*cluster
	conns map[string]world.Conn
	told  strings.Builder
}

func (s *story) tell(format string, args ...any) {
	fmt.Fprintf(&s.told, "%5d ms  %s\n", s.Now().Milliseconds(), fmt.Sprintf(format, args...))
}

func (s *story) setUp(f *fake) {
	who := "broker " + strconv.Itoa(int(f.id))
	f.listen = func(format string, args ...any) { s.tell(who+": "+format, args...) }
	f.onRequest = func(f *fake, _ time.Duration, conn broker.ConnID, frame []byte) {
		f.say("request on %d: %s", conn, legible(frame))
		switch text := legible(frame); text {
		case "hold":
		case "silent":
			f.reply(conn, nil)
		case "bye":
			f.out.Replies = append(f.out.Replies, broker.Reply{Conn: conn, Frame: []byte("goodbye"), Close: true})
		default:
			f.reply(conn, []byte("re: "+string(frame)))
		}
	}
	f.onTick = func(f *fake, _ time.Duration) { f.say("timer") }
	if s.World != nil && s.Now() > processStartMax {
		f.say("up")
	}
}

func (s *story) line(line string) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	cmd, args := words[0], words[1:]
	if err := s.do(cmd, args); err != nil {
		s.tell("%s: %v", line, err)
	}
}

// ends reads 1>2.
func ends(word string) (from, to history.BrokerID) {
	a, b, _ := strings.Cut(word, ">")
	return id(a), id(b)
}

// portOfStory is the port that may stand behind a way.
func portOfStory(args []string) world.Port {
	if len(args) > 1 {
		return world.Port(args[1])
	}
	return world.AnyPort
}

func id(word string) history.BrokerID {
	n, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return history.BrokerID(n)
}

func span(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		panic(err)
	}
	return d
}

var purposes = map[string]broker.Purpose{"fetch": broker.ForFetch, "raft": broker.ForRaft, "alter": broker.ForAlter}

func (s *story) do(cmd string, args []string) error {
	switch cmd {
	case "sleep":
		s.Sleep(span(args[0]))
	case "send": // send 1>2 fetch text
		from, to := ends(args[0])
		s.poke(from, func(f *fake) { f.send(kafka.BrokerID(to), purposes[args[1]], string(frameOf(args[2]))) })
	case "reset": // reset 1>2 fetch
		from, to := ends(args[0])
		s.poke(from, func(f *fake) {
			f.out.Resets = append(f.out.Resets, broker.Link{Peer: kafka.BrokerID(to), Purpose: purposes[args[1]]})
		})
	case "answer": // answer 2 conn text
		s.poke(id(args[0]), func(f *fake) { f.reply(broker.ConnID(id(args[1])), []byte(args[2])) })
	case "timer": // timer 2 in 5s of its own clock
		now, err := s.ProbeClock(id(args[0]))
		s.must(err)
		s.poke(id(args[0]), func(f *fake) { f.deadline = now + span(args[2]) })
	case "flush": // flush 2 write NAME | sync NAME | syncdir ...
		s.poke(id(args[0]), func(f *fake) { f.out.Flushes = append(f.out.Flushes, flushOf(args[1:])) })
	case "cut": // cut 1>2 [controller]
		from, to := ends(args[0])
		return s.Cut(from, to, portOfStory(args))
	case "heal":
		from, to := ends(args[0])
		return s.Heal(from, to, portOfStory(args))
	case "lose": // lose 1>2 0.5
		from, to := ends(args[0])
		share, err := strconv.ParseFloat(args[1], 64)
		s.must(err)
		return s.Lose(from, to, share)
	case "endloss":
		from, to := ends(args[0])
		return s.EndLoss(from, to)
	case "lost":
		from, to := ends(args[0])
		n, err := s.Lost(from, to)
		s.tell("lost %s: %d packets", args[0], n)
		return err
	case "lag": // lag 1>2 100ms [jitter 50ms] [reorder 0.1]
		from, to := ends(args[0])
		_, err := s.Lag(from, to, lagOf(s, args[1:]))
		return err
	case "endlag":
		from, to := ends(args[0])
		return s.EndLag(from, to)
	case "transit": // transit 1>2 [within 1s]
		from, to := ends(args[0])
		timeout := time.Minute
		if len(args) > 2 {
			timeout = span(args[2])
		}
		took, passed := s.Transit(from, to, timeout)
		s.tell("transit %s took %v: %t", args[0], took.Round(time.Millisecond), passed)
	case "hold", "drop", "late", "delay", "throttle":
		return s.catch(world.Ability(cmd), args)
	case "caught": // caught 1
		number, err := strconv.Atoi(args[0])
		s.must(err)
		c, err := s.Caught(number)
		s.tell("fault %d: %d messages, %d of them under way", number, c.Messages, c.UnderWay)
		return err
	case "end": // end 1
		number, err := strconv.Atoi(args[0])
		s.must(err)
		return s.EndCatch(number)
	case "kill":
		return s.Kill(id(args[0]))
	case "powerfail":
		detail, err := s.PowerFail(id(args[0]))
		if err == nil {
			s.tell("power of %s failed: %s", args[0], detail)
		}
		return err
	case "start":
		return s.Start(id(args[0]))
	case "stop":
		return s.Stop(id(args[0]), time.Second)
	case "pause":
		return s.Pause(id(args[0]))
	case "resume":
		return s.Resume(id(args[0]))
	case "freeze":
		return s.Freeze(id(args[0]))
	case "thaw":
		return s.Thaw(id(args[0]))
	case "wipe":
		detail, err := s.Wipe(id(args[0]))
		if err == nil {
			s.tell("wipe of %s: %s", args[0], detail)
		}
		return err
	case "break": // break 2 write error
		return s.BreakDisk(id(args[0]), world.DiskFault(strings.Join(args[1:], " ")))
	case "mend":
		return s.MendDisk(id(args[0]))
	case "slow": // slow 2 50
		times, err := strconv.ParseFloat(args[1], 64)
		s.must(err)
		return s.SlowDisk(id(args[0]), times)
	case "flip":
		detail, err := s.FlipBit(id(args[0]))
		if err == nil {
			s.tell("%s", detail)
		}
		return err
	case "disk":
		state, err := s.ProbeDisk(id(args[0]))
		s.tell("disk of %s: %d failed (%s), %d slowed", args[0], state.Failed, state.Last, state.Slowed)
		return err
	case "append", "batch", "read": // append 2 FILE TEXT, batch 2 FILE VALUE, read 2 FILE: the broker dies of an error
		s.poke(id(args[0]), func(f *fake) { f.out.Fatal = s.use(f, cmd, args[1:]) })
	case "mkdir": // mkdir 2 NAME
		s.poke(id(args[0]), func(f *fake) { s.must(f.fs.MkdirAll(args[1])) })
	case "clock":
		rate, err := strconv.ParseFloat(args[1], 64)
		s.must(err)
		return s.SetClock(id(args[0]), rate)
	case "probe": // probe 1>2 [controller]
		from, to := ends(args[0])
		s.tell("probe %s passed: %t", strings.Join(args, " "), s.ProbeLink(from, to, portOfStory(args), time.Second))
	case "process":
		s.tell("process %s: %s", args[0], s.ProbeProcess(id(args[0])))
	case "ls":
		s.list(id(args[0]))
	default:
		return s.client(cmd, args)
	}
	return nil
}

// catch begins a fault on messages: hold fetch responses 1>2 [nth N] [for D]; c stands for the clients.
func (s *story) catch(kind world.Ability, args []string) error {
	f := world.MessageFault{Kind: kind, API: world.API(args[0]), Responses: args[1] == "responses"}
	for _, word := range strings.Split(args[2], ",") {
		a, b, _ := strings.Cut(word, ">")
		f.Links = append(f.Links, world.Link{From: endOfStory(a), To: endOfStory(b)})
	}
	for i := 3; i+1 < len(args); i += 2 {
		switch args[i] {
		case "nth":
			f.Nth = int(id(args[i+1]))
		case "for":
			f.Delay = span(args[i+1])
		case "at": // bytes a second
			f.Rate = int64(id(args[i+1]))
		}
	}
	_, err := s.Catch(f)
	return err
}

func endOfStory(word string) history.BrokerID {
	if word == "c" {
		return history.NoBroker
	}
	return id(word)
}

// frameOf is a word as a frame: of produce:x the first two bytes are the API key, as in every request.
func frameOf(word string) []byte {
	api, text, ok := strings.Cut(word, ":")
	key, known := world.API(api).Key()
	if !ok || !known {
		return []byte(word)
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(key)), ":"+text...)
}

// legible is a frame as the word that it was made of.
func legible(frame []byte) string {
	text := string(frame)
	for _, api := range world.APIs() {
		text = strings.ReplaceAll(text, string(frameOf(string(api)+":")), string(api)+":")
	}
	return text
}

// client does what clients do: dial NAME BROKER, say NAME TEXT, hear NAME, hangup NAME.
func (s *story) client(cmd string, args []string) error {
	switch name := args[0]; cmd {
	case "dial":
		conn, err := s.Dial(name, id(args[1]), time.Second)
		if err != nil {
			return err
		}
		s.conns[name] = conn
		s.tell("client %s connected", name)
	case "say":
		return s.conns[name].Send(frameOf(args[1]))
	case "hear":
		frame, err := s.conns[name].Receive(time.Second)
		if err != nil {
			return err
		}
		s.tell("client %s hears: %s", name, legible(frame))
	case "hangup":
		s.conns[name].Close()
	default:
		return fmt.Errorf("unknown command %q", cmd)
	}
	return nil
}

// use writes behind what a file holds or reads it whole.
func (s *story) use(f *fake, cmd string, args []string) error {
	file, err := f.fs.Open(args[0], true)
	s.must(err)
	size, err := file.Size()
	s.must(err)
	switch cmd {
	case "append":
		_, err = file.WriteAt([]byte(args[1]), size)
	case "batch":
		_, err = file.WriteAt(log.BuildBatch(0, 0, 0, []byte(args[1])), size)
	default:
		text := make([]byte, size)
		if err = disk.ReadFull(file, text, 0); err == nil {
			f.say("%s holds %q", args[0], text)
		}
	}
	return err
}

// list tells what is on a broker's disk.
func (s *story) list(b history.BrokerID) {
	h, err := s.host(b)
	s.must(err)
	names, err := h.drive.ReadDir("")
	s.must(err)
	s.tell("disk of %d: %s", b, strings.Join(names, " "))
}

// flushOf reads steps: write NAME, sync NAME, rename NAME TO, remove NAME, syncdir.
func flushOf(words []string) disk.Flush {
	f := disk.Flush{ID: 7}
	for len(words) > 0 {
		switch words[0] {
		case "write":
			f.Steps = append(f.Steps, disk.Step{Op: disk.WriteFile, Path: words[1], Data: []byte("data")})
		case "sync":
			f.Steps = append(f.Steps, disk.Step{Op: disk.SyncFile, Path: words[1]})
		case "remove":
			f.Steps = append(f.Steps, disk.Step{Op: disk.RemoveFile, Path: words[1]})
		case "syncdir":
			f.Steps = append(f.Steps, disk.Step{Op: disk.SyncDir})
			words = words[1:]
			continue
		case "rename":
			f.Steps = append(f.Steps, disk.Step{Op: disk.RenameFile, Path: words[1], To: words[2]})
			words = words[1:]
		}
		words = words[2:]
	}
	return f
}

// lagOf reads 100ms jitter 50ms reorder 0.1.
func lagOf(s *story, words []string) world.Lag {
	l := world.Lag{By: span(words[0])}
	for i := 1; i+1 < len(words); i += 2 {
		switch words[i] {
		case "jitter":
			l.Jitter = span(words[i+1])
		case "reorder":
			share, err := strconv.ParseFloat(words[i+1], 64)
			s.must(err)
			l.Reorder = share
		}
	}
	return l
}
