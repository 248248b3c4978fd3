package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/testcontainers/testcontainers-go"
)

// Bounds of the broker that is started while its image is made.
const (
	archiveBound    = 5 * time.Minute
	archiveMemory   = 2 << 30
	archiveBytesMax = 512 << 20
)

// archive starts a broker of a draft of an image and adds the archives of classes that it leaves to the image's parts.
func (e *Engine) archive(ctx context.Context, r *recipe, draft, dir string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, archiveBound)
	defer cancel()
	own, err := thisOwner(false)
	if err != nil {
		return err
	}
	name := "tidemark-" + own.run + "-archive"
	p := r.release.Archiving()
	c := &Cluster{engine: e, env: NewEnv(ctx, 0)}
	made, err := c.make(testcontainers.ContainerRequest{
		Name: name, Image: draft, Labels: own.labels(), Entrypoint: p.Command[:1], Cmd: p.Command[1:], Env: p.Env, User: "0",
		Files: filesOf(p), NetworkMode: "none",
		HostConfigModifier: func(h *container.HostConfig) {
			h.CapDrop = []string{"ALL"}
			h.Mounts = []mount.Mount{{Type: mount.TypeTmpfs, Target: dataPath}, {Type: mount.TypeTmpfs, Target: metadataPath}}
			confine(h)
			h.Memory, h.MemorySwap = archiveMemory, archiveMemory
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, e.api.ContainerRemove(context.WithoutCancel(ctx), name, container.RemoveOptions{Force: true, RemoveVolumes: true}))
	}()
	if err := made.Start(ctx); err != nil {
		return err
	}
	ended, failed := e.api.ContainerWait(ctx, name, container.WaitConditionNotRunning)
	select {
	case err := <-failed:
		return errors.Join(err, c.lastWords(name))
	case code := <-ended:
		if code.StatusCode != 0 {
			return errors.Join(fmt.Errorf("it exited with code %d", code.StatusCode), c.lastWords(name))
		}
	}
	for i, path := range r.release.Archives() {
		kept := filepath.Join(dir, "archive-"+strconv.Itoa(i))
		if err := e.copyOut(ctx, name, path, kept); err != nil {
			return err
		}
		r.parts = append(r.parts, part{file: kept, to: strings.TrimPrefix(path, "/")})
	}
	return nil
}

// copyOut copies a file of a container to this machine.
func (e *Engine) copyOut(ctx context.Context, name, from, to string) error {
	stream, _, err := e.api.CopyFromContainer(ctx, name, from)
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // only read
	r := tar.NewReader(stream)
	if _, err := r.Next(); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.LimitReader(r, archiveBytesMax))
	return errors.Join(err, f.Close())
}
