package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/broker/config"
	"tidemark/docker/agent"
)

// compile builds the smallest program there is.
func compile(t *testing.T, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	source, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", out, source)
	cmd.Env = append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func TestOnlyStaticBinariesGoIntoTheImage(t *testing.T) {
	if _, err := readBinary(compile(t, "CGO_ENABLED=0", "GOOS=linux")); err != nil {
		t.Error(err)
	}
	if _, err := readBinary(compile(t, "CGO_ENABLED=0", "GOOS=darwin")); !errors.Is(err, errNotStatic) {
		t.Errorf("a binary for another system gave %v", err)
	}
	for _, dynamic := range []string{"/bin/sh", "/usr/bin/env"} {
		if _, err := os.Stat(dynamic); err != nil {
			continue
		}
		if _, err := readBinary(dynamic); !errors.Is(err, errNotStatic) {
			t.Errorf("%s gave %v", dynamic, err)
		}
	}
	for _, garbage := range []string{"", "#!/bin/sh\n", "\x7fELF", "\x7fELF\x02\x01\x01" + strings.Repeat("\xff", 100)} {
		if err := runsAlone([]byte(garbage)); !errors.Is(err, errNotStatic) {
			t.Errorf("%q gave %v", garbage, err)
		}
	}
}

func TestTheImageIsTheBinaryAlone(t *testing.T) {
	archive, err := buildContext([]byte("binary"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		files[h.Name] = string(text)
	}
	if len(files) != 2 || files["tidemark"] != "binary" || !strings.HasPrefix(files["Dockerfile"], "FROM scratch\n") {
		t.Errorf("the context holds %q", files)
	}
}

// TestBrokersReadWhatTheyAreGiven writes each broker's configuration as its container reads it, and reads it back.
func TestBrokersReadWhatTheyAreGiven(t *testing.T) {
	cfg := config.Default()
	cfg.NodeID, cfg.MinInsyncReplicas = 1, 2
	cfg.Voters = []config.Voter{{ID: 1, Host: "broker-1", Port: 1}, {ID: 2, Host: "broker-2", Port: 1}}
	second := cfg
	second.NodeID = 2
	c, err := newCluster(NewEnv(t.Context(), 1), nil, Options{Configs: []config.Config{cfg, second}})
	if err != nil {
		t.Fatal(err)
	}
	c.machines[0].address, c.machines[1].address = "192.0.2.1", "192.0.2.2"
	c.machines[0].published, c.machines[1].published = "127.0.0.1:30001", "127.0.0.1:30002"
	if err := c.introduce(); err != nil {
		t.Fatal(err)
	}
	for i, m := range c.machines {
		read, err := config.Parse(properties(m.cfg))
		if err != nil {
			t.Fatalf("%v in\n%s", err, properties(m.cfg))
		}
		if properties(read) != properties(m.cfg) || read.MinInsyncReplicas != 2 || read.AdvertisedListeners[0].Host != m.address || int(read.NodeID) != i+1 {
			t.Errorf("written as\n%sread as\n%s", properties(m.cfg), properties(read))
		}
		if read.Voters[0].Host != "192.0.2.1" || read.Voters[1].Host != "192.0.2.2" || read.Voters[0].Port != agent.ControllerPort {
			t.Errorf("voters %v", read.Voters)
		}
		want := []config.Listener{{Name: "BROKER", Host: m.address, Port: 9092}, {Name: "EXTERNAL", Host: "127.0.0.1", Port: int32(30001 + i)}}
		if len(read.Listeners) != 3 || !slices.Equal(read.AdvertisedListeners, want) {
			t.Errorf("clients are told %v, expected %v", read.AdvertisedListeners, want)
		}
		if read.Shell.LogDir == read.Shell.MetadataLogDir {
			t.Error("partitions and controller log lie on one volume")
		}
	}
	if cfg.Voters[0].Host != "broker-1" {
		t.Error("the caller's configuration was changed")
	}
}

// TestNoEngineIsSaidSo points at a socket that is not there: the error says what is missing and how to get it.
func TestNoEngineIsSaidSo(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	_, err := Connect(t.Context())
	var missing *Missing
	if !errors.As(err, &missing) || missing.What == "" || !strings.Contains(missing.How, "docker.io") {
		t.Errorf("got %v", err)
	}
	found := Examine(t.Context(), "")
	if len(found) != 1 || found[0].OK || found[0].RulesOut == "" || found[0].How == "" {
		t.Errorf("the doctor found %+v", found)
	}
}
