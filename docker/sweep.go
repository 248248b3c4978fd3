package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

// thing is a container, network or volume of a run.
type thing struct {
	kind  string
	name  string
	owner owner
}

func (t thing) String() string { return t.kind + " " + t.name }

// The kinds, in the order in which they can be removed.
const (
	aContainer = "container"
	aNetwork   = "network"
	aVolume    = "volume"
)

// things lists everything of every run, or of one, in the order in which it can be removed.
func (e *Engine) things(ctx context.Context, run string) ([]thing, error) {
	label := labelRun
	if run != "" {
		label += "=" + run
	}
	by := filters.NewArgs(filters.Arg("label", label))
	var found []thing
	containers, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: by})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range containers {
		name := c.ID[:min(12, len(c.ID))]
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		found = append(found, thing{aContainer, name, ownerOf(c.Labels)})
	}
	networks, err := e.api.NetworkList(ctx, network.ListOptions{Filters: by})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	for _, n := range networks {
		found = append(found, thing{aNetwork, n.Name, ownerOf(n.Labels)})
	}
	volumes, err := e.api.VolumeList(ctx, volume.ListOptions{Filters: by})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	for _, v := range volumes.Volumes {
		found = append(found, thing{aVolume, v.Name, ownerOf(v.Labels)})
	}
	return found, nil
}

// leftovers lists what runs left whose harness is gone. Clusters that were kept on purpose are among them if kept is true.
func (e *Engine) leftovers(ctx context.Context, kept bool) ([]thing, error) {
	found, err := e.things(ctx, "")
	return slices.DeleteFunc(found, func(t thing) bool { return t.owner.alive() || t.owner.keep && !kept }), err
}

// Cleanup removes what runs left whose harness is gone, clusters that were kept on purpose only if kept is true. It returns what that
// was, a line a run.
func (e *Engine) Cleanup(ctx context.Context, kept bool) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, cleanupBound)
	defer cancel()
	removed, err := e.removeAll(ctx, func() ([]thing, error) { return e.leftovers(ctx, kept) })
	return byRun(removed), err
}

// Removing is tried again while something is left: the engine may still be making what a harness asked for before it died, or another
// harness may be removing the same.
const (
	removeTriesMax = 20
	removePause    = 250 * time.Millisecond
)

// removeAll removes what list finds until it finds nothing, and returns what that was.
func (e *Engine) removeAll(ctx context.Context, list func() ([]thing, error)) (removed []thing, err error) {
	var last error
	for try := 0; ; try++ {
		found, err := list()
		if err != nil || len(found) == 0 {
			return removed, err
		}
		if try == removeTriesMax {
			return removed, fmt.Errorf("left after %d tries: %v: %w", try, words(found), last)
		}
		if try > 0 {
			select {
			case <-time.After(removePause):
			case <-ctx.Done():
				return removed, errors.Join(last, ctx.Err())
			}
		}
		for _, t := range found {
			if !slices.Contains(removed, t) {
				removed = append(removed, t)
			}
		}
		last = e.remove(ctx, found)
	}
}

// CleanupImages removes the images that were built, and returns their names. One that a container still needs stays.
func (e *Engine) CleanupImages(ctx context.Context) ([]string, error) {
	list, err := e.api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelImage))})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var removed []string
	for _, i := range list {
		_, err := e.api.ImageRemove(ctx, i.ID, image.RemoveOptions{PruneChildren: true, Force: len(i.RepoTags) > 1})
		switch {
		case err == nil:
			removed = append(removed, "image "+strings.Join(append(i.RepoTags, i.ID)[:1], ""))
		case !errdefs.IsConflict(err) && !errdefs.IsNotFound(err):
			return removed, fmt.Errorf("remove image %s: %w", i.ID, err)
		}
	}
	return removed, nil
}

// imagesMax is how many images stay: each holds one build of the program.
const imagesMax = 8

// pruneImages removes the oldest images that were built, but for so many and those that a container needs, and what two harnesses that
// built the same at once left without a name. What cannot be removed stays: another harness may be removing it.
func (e *Engine) pruneImages(ctx context.Context) {
	list, err := e.api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelImage))})
	if err != nil {
		return
	}
	slices.SortFunc(list, func(a, b image.Summary) int { return cmp.Compare(b.Created, a.Created) })
	kept := 0
	for _, i := range list {
		if kept++; len(i.RepoTags) > 1 || len(i.RepoTags) == 1 && kept < imagesMax {
			continue // somebody gave it a name of his own, or it is one of the latest
		}
		_, _ = e.api.ImageRemove(ctx, i.ID, image.RemoveOptions{PruneChildren: true})
	}
}

func words(found []thing) []string {
	out := make([]string, len(found))
	for i, t := range found {
		out[i] = t.String()
	}
	return out
}

// byRun tells of things in words, a line a run, in the order in which runs are first met: how many of each kind there are.
func byRun(found []thing) []string {
	var runs []owner
	for _, t := range found {
		if !slices.ContainsFunc(runs, func(o owner) bool { return o.run == t.owner.run }) {
			runs = append(runs, t.owner)
		}
	}
	var out []string
	for _, o := range runs {
		var counts []string
		for _, kind := range []string{aContainer, aNetwork, aVolume} {
			n := 0
			for _, t := range found {
				if t.kind == kind && t.owner.run == o.run {
					n++
				}
			}
			if n > 0 {
				counts = append(counts, numbered(n, kind))
			}
		}
		line := strings.Join(counts, ", ") + " of run " + o.run
		if o.keep {
			line += " (kept on purpose)"
		}
		out = append(out, line)
	}
	return out
}

// numbered is a number of things, in words.
func numbered(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// tellRemoved says what others left that was removed, a line a run.
func tellRemoved(removed []string, say func(string)) {
	for _, what := range removed {
		say("removed " + what + ", whose harness is gone")
	}
}

// remove removes containers, then networks, then volumes; what is gone already is no error.
func (e *Engine) remove(ctx context.Context, found []thing) error {
	var errs []error
	for _, kind := range []string{aContainer, aNetwork, aVolume} {
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, t := range found {
			if t.kind != kind {
				continue
			}
			all.Go(func() {
				if err := e.removeOne(ctx, t); err != nil && !errdefs.IsNotFound(err) {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, fmt.Errorf("remove %s: %w", t, err))
				}
			})
		}
		all.Wait()
	}
	return errors.Join(errs...)
}

func (e *Engine) removeOne(ctx context.Context, t thing) error {
	switch t.kind {
	case aContainer:
		return e.api.ContainerRemove(ctx, t.name, container.RemoveOptions{Force: true, RemoveVolumes: true})
	case aNetwork:
		return e.api.NetworkRemove(ctx, t.name)
	default:
		return e.api.VolumeRemove(ctx, t.name, true)
	}
}
