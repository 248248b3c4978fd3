package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/testcontainers/testcontainers-go"
)

// imageRepo names the images; the tag is the hash of what is inside.
const imageRepo = "tidemark"

// binaryBytesMax bounds the binary that goes into the image.
const binaryBytesMax = 512 << 20

// dockerfile is the whole image: the binary needs nothing else.
const dockerfile = "FROM scratch\nCOPY tidemark " + binaryPath + "\nENTRYPOINT [\"" + binaryPath + "\"]\n"

// building lets the runs of this process that need the same image make it once.
var building sync.Mutex

// image makes the image of a static binary, once: it is found again by its content. It returns the image's name.
func (e *Engine) image(ctx context.Context, binary string, say func(string)) (string, error) {
	binary, err := binaryPathOf(binary)
	if err != nil {
		return "", err
	}
	data, err := readBinary(binary)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(dockerfile), data...))
	tag := hex.EncodeToString(sum[:8])
	name := imageRepo + ":" + tag
	building.Lock()
	defer building.Unlock()
	_, err = e.api.ImageInspect(ctx, name)
	switch {
	case err == nil:
		return name, nil
	case !errdefs.IsNotFound(err):
		return "", fmt.Errorf("image %s: %w", name, err)
	}
	say("building image " + name + " from " + binary)
	ctx, cancel := context.WithTimeout(ctx, buildBound)
	defer cancel()
	archive, err := buildContext(data)
	if err != nil {
		return "", fmt.Errorf("image %s: %w", name, err)
	}
	e.pruneImages(ctx)
	_, err = e.make.BuildImage(ctx, &testcontainers.ContainerRequest{FromDockerfile: testcontainers.FromDockerfile{
		ContextArchive: bytes.NewReader(archive), Repo: imageRepo, Tag: tag, KeepImage: true,
		BuildOptionsModifier: func(o *build.ImageBuildOptions) { o.Labels = map[string]string{labelImage: tag} },
	}})
	if err != nil {
		return "", fmt.Errorf("image %s: %w", name, err)
	}
	return name, nil
}

// binaryPathOf is the path of a binary, this program's own where none is named.
func binaryPathOf(binary string) (string, error) {
	if binary != "" {
		return binary, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("image: the program's own file: %w", err)
	}
	return self, nil
}

// labelImage is on every image that a tidemark built.
const labelImage = "tidemark.image"

// readBinary reads a binary that runs in an empty image: ELF, for this machine, without an interpreter.
func readBinary(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, binaryBytesMax))
	if err != nil {
		return nil, fmt.Errorf("image: %s: %w", path, err)
	}
	if err := runsAlone(data); err != nil {
		return nil, fmt.Errorf("image: %s: %w", path, err)
	}
	return data, nil
}

// errNotStatic says how to get a binary that runs in an empty image.
var errNotStatic = errors.New("expected a static Linux binary: build tidemark with CGO_ENABLED=0, as make build does")

func runsAlone(data []byte) error {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%w (%w)", errNotStatic, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%w (it needs a dynamic linker)", errNotStatic)
		}
	}
	return nil
}

func buildContext(binary []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, file := range []struct {
		name string
		mode int64
		data []byte
	}{{"Dockerfile", 0o644, []byte(dockerfile)}, {"tidemark", 0o755, binary}} {
		if err := w.WriteHeader(&tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
