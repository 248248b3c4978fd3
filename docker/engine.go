package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/docker/docker/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// Missing is why there can be no container world here, and how to get what it lacks.
type Missing struct {
	What string
	How  string
}

// Error says both.
func (m *Missing) Error() string { return m.What + "\n  " + m.How }

// howToInstall is for those who have no engine that answers.
const howToInstall = "on Debian or Ubuntu: apt-get install docker.io, then systemctl start docker (or dockerd &) and, not as root, join the group docker;\n" +
	"  an engine elsewhere is named by DOCKER_HOST; --world sim needs none of this"

// Engine is a container engine that answers.
type Engine struct {
	Version string // of the engine
	API     string // version of its API that is spoken
	api     client.APIClient
	make    *testcontainers.DockerProvider
}

// Connect finds the engine: DOCKER_HOST, or the default socket. The error is a *Missing if none answers.
func Connect(ctx context.Context) (e *Engine, err error) {
	ctx, cancel := context.WithTimeout(ctx, engineBound)
	defer cancel()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, &Missing{fmt.Sprintf("no container engine: %v", err), howToInstall}
	}
	version, err := api.ServerVersion(ctx)
	if err != nil {
		_ = api.Close() // nothing was done over it
		return nil, &Missing{fmt.Sprintf("no container engine answers: %v", firstLine(err)), howToInstall}
	}
	if version.Os != "linux" {
		return nil, &Missing{fmt.Sprintf("the container engine is of %s, expected linux", version.Os), "switch it to Linux containers"}
	}
	provider, err := newProvider()
	if err != nil {
		return nil, &Missing{fmt.Sprintf("the container engine cannot be used: %v", firstLine(err)), howToInstall}
	}
	_ = provider.Client().Close() // only idle connections
	provider.SetClient(api)
	return &Engine{Version: version.Version, API: api.ClientVersion(), api: api, make: provider}, nil
}

// newProvider is testcontainers without its reaper, whose image would have to be pulled, and without its chatter. It panics
// where it finds no engine.
func newProvider() (p *testcontainers.DockerProvider, err error) {
	if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
		return nil, err
	}
	tclog.SetDefault(silent{})
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return testcontainers.NewDockerProvider(testcontainers.WithLogger(silent{}), testcontainers.WithDefaultBridgeNetwork(testcontainers.Bridge))
}

type silent struct{}

// Printf drops what testcontainers has to say.
func (silent) Printf(string, ...any) {}

// Close releases the connection to the engine.
func (e *Engine) Close() error { return e.api.Close() }

func firstLine(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}
