package results

import (
	"reflect"
	"strings"
	"testing"

	"tidemark/history"
)

// TestTheReportTellsWhatContainersStoodOn writes and reads the outcome of a run in containers; a simulated one has nothing of it.
func TestTheReportTellsWhatContainersStoodOn(t *testing.T) {
	o, h := invalidRun()
	text := func(o Outcome) string {
		var all []string
		env, _ := environment(o)
		for _, f := range env {
			all = append(all, f.Name+": "+f.Value)
		}
		return strings.Join(all, "\n")
	}
	if got := text(o); !strings.Contains(got, "Trace hash: "+o.Hash) || !strings.Contains(got, "Clients: raw: ") || strings.Contains(got, "Engine") || strings.Contains(got, "Memory") {
		t.Errorf("a simulated run: %s", got)
	}
	o.Run.Parts, o.Run.Writers, o.Run.Readers, o.Run.Like, o.Run.Faults = 1, 1, 2, "apache-kafka:4.1.0", "kill,pause"
	for _, want := range []string{"1 partition, replication", "raw: 1 producer, 2 consumers, ", "(--like): apache-kafka:4.1.0", "(--faults): kill,pause"} {
		if got := text(o); !strings.Contains(got, want) {
			t.Errorf("%q is not told: %s", want, got)
		}
	}
	o.Run.World, o.Run.Client, o.Run.CPUs, o.Hash = "docker", history.ClientBoth, 0.5, ""
	o.Ground = &history.Ground{
		Engine: "28.1", Kernel: "6.12", Cgroups: "2", Processors: 4, Memory: 8 << 30, Image: "tidemark:ab",
		Brokers: []history.Listeners{
			{ID: 1, Container: "t-1", Broker: "10.0.0.2:9092", External: "127.0.0.1:4001", Controller: "10.0.0.2:9093"},
			{ID: 2, Container: "t-2", Broker: "10.0.0.3:9092", External: "127.0.0.1:4002"},
		},
	}
	got := text(o)
	for _, want := range []string{
		"Clients: half raw, half franz-go: ", "Memory of each broker: 1 GiB, as none was asked for", "Processors of each broker: 0.5",
		"Engine: Docker Engine 28.1 on Linux 6.12, cgroups 2", "Its machine: 4 processors, 8,192 MiB of memory", "Image: tidemark:ab",
		"Listeners of broker 1: BROKER 10.0.0.2:9092, EXTERNAL 127.0.0.1:4001, CONTROLLER 10.0.0.2:9093",
		"Listeners of broker 2: BROKER 10.0.0.3:9092, EXTERNAL 127.0.0.1:4002",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nexpected in it\n%s", got, want)
		}
	}
	if strings.Contains(got, "Trace hash") {
		t.Error("a run in containers has no trace")
	}
	d, err := Create(t.TempDir(), o.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(o, h); err != nil {
		t.Fatal(err)
	}
	if read, err := d.Outcome(); err != nil || !reflect.DeepEqual(read.Ground, o.Ground) {
		t.Errorf("read back: %+v, %v", read.Ground, err)
	}
}

// TestErrorsThatDifferByTheirSocketsAreOne groups what another source port tells apart.
func TestErrorsThatDifferByTheirSocketsAreOne(t *testing.T) {
	failed := func(text string) history.Op {
		return history.Op{Kind: history.Send, Outcome: history.Info, Error: text}
	}
	got := errorCounts([]history.Op{
		failed("read tcp4 192.168.80.1:44972->192.168.80.2:9092: i/o timeout"), failed("read tcp4 192.168.80.1:44980->192.168.80.3:9092: i/o timeout"),
		failed("read tcp [fe80::1%eth0]:44972->[fe80::2%eth0]:9092: i/o timeout"), failed("nothing sent: producer-0 to broker 1: dial tcp 10.0.0.2:9092: refused"),
		failed("nothing sent: producer-11 to broker 1: dial tcp 10.0.0.3:9092: refused"), failed("offset 12:34 of 1.2.3 is none"),
	})
	want := []errorCount{
		{"send", "unknown", "read: i/o timeout", 3}, {"send", "unknown", "nothing sent: producer to broker 1: dial: refused", 2},
		{"send", "unknown", "offset 12:34 of 1.2.3 is none", 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("grouped as %+v, expected %+v", got, want)
	}
}

// TestFaultsAreNumberedFromOne holds the table and the bands to one numbering, and a ring to what it strikes.
func TestFaultsAreNumberedFromOne(t *testing.T) {
	events := []history.FaultEvent{
		{Fault: 0, Kind: "partition", Line: "at 1s partition ring", Phase: history.FaultApplied}, {Fault: 0, Kind: "partition", Phase: history.FaultObserved, Time: 1},
		{Fault: 1, Kind: "kill", Phase: history.FaultRefused},
		{Fault: 2, Kind: "kill", Targets: []history.BrokerID{2, 3}, Phase: history.FaultObserved},
	}
	lives := faultLives(events, nil)
	views, _ := faultViews(lives)
	for i, want := range []string{"all", "–", "2,3"} {
		if views[i].Number != i+1 || views[i].Targets != want {
			t.Errorf("fault %d strikes %s, expected fault %d and %s", views[i].Number, views[i].Targets, i+1, want)
		}
	}
	if bands := bandsOf(lives, 10); bands[0].Fault != 1 || bands[1].Fault != 3 {
		t.Errorf("bands of faults %+v, expected 1 and 3", bands)
	}
}
