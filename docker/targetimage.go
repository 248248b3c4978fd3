package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"tidemark/docker/targets"
)

// targetRepo names the images that are made here of other brokers; the tag is the release and the hash of what is inside.
const targetRepo = "tidemark-kafka"

// Labels of such an image.
const (
	labelTarget = "tidemark.target" // the release inside
	labelRecipe = "tidemark.recipe" // hash of how it was made, whatever machine made it
)

// targetBound is how long an image may take to be made: Maven fetches some 60 MB.
const targetBound = 15 * time.Minute

// recipe is what an image of a release is made of.
type recipe struct {
	release targets.Release
	jars    string // a directory of jars to take instead of Maven Central's; "" is Maven
	tools   tools
	parts   []part // what is inside beside the shell
}

// tools are the programs that make an image. Each is looked for when it is needed.
type tools struct {
	maven, jlink, ldd, busybox string
}

// layout is the version of what an image looks like inside; a new one makes every image anew.
const layout = "4"

// javaModules are what brokers of every release need of the machine's JDK.
var javaModules = []string{
	"java.base", "java.logging", "java.management", "java.naming", "java.security.jgss", "java.security.sasl", "java.sql", "java.xml",
	"java.desktop", "java.instrument", "java.net.http", "jdk.unsupported", "jdk.management", "jdk.crypto.ec", "jdk.zipfs", "jdk.jfr",
}

// how tells of every tool where Debian has it.
var how = map[string]string{
	"mvn":     "apt-get install maven, or --from a directory of jars, such as libs/ of an unpacked Kafka release",
	"jlink":   "apt-get install openjdk-17-jdk-headless",
	"ldd":     "apt-get install libc-bin",
	"busybox": "apt-get install busybox-static",
}

// find looks for a tool; the error is a *Missing.
func find(name string, places ...string) (string, error) {
	for _, p := range append(places, name) {
		if path, err := exec.LookPath(p); err == nil {
			return path, nil
		}
	}
	return "", &Missing{fmt.Sprintf("an image of Apache Kafka is made here, and that takes %s, which is not found", name), how[name]}
}

// findTools looks for every tool at once, so that all that lack are named.
func findTools(jars string) (t tools, err error) {
	var errs [4]error
	if jars == "" {
		t.maven, errs[0] = find("mvn")
	}
	t.jlink, errs[1] = find("jlink")
	t.ldd, errs[2] = find("ldd")
	t.busybox, errs[3] = find("busybox", "/bin/busybox", "/usr/bin/busybox", "/bin/busybox-static")
	if t.busybox != "" {
		if data, err := os.ReadFile(t.busybox); err == nil && runsAlone(data) != nil {
			errs[3] = &Missing{t.busybox + " needs a dynamic linker, expected a static one", how["busybox"]}
		}
	}
	return t, errors.Join(errs[:]...)
}

// hash is of how an image is made: the same on every machine.
func (r *recipe) hash() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, layout, strings.Join(javaModules, ","))
	if r.release.Formats() {
		fmt.Fprintln(h, "formatted, as a directory")
	}
	if r.jars == "" {
		fmt.Fprint(h, r.release.POM())
		return hex.EncodeToString(h.Sum(nil)[:6]), nil
	}
	names, err := jarsIn(r.jars)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if err := addFile(h, filepath.Join(r.jars, name)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

// jarsIn lists the jars of a directory.
func jarsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("jars: %w", err)
	}
	var names []string
	kafka := false
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jar") {
			names = append(names, e.Name())
			kafka = kafka || strings.HasPrefix(e.Name(), "kafka_2.")
		}
	}
	if !kafka {
		return nil, fmt.Errorf("jars: %d in %s, expected Kafka's among them (kafka_2.13-….jar), as in libs/ of an unpacked release", len(names), dir)
	}
	return names, nil
}

func addFile(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	_, err = fmt.Fprintln(to, filepath.Base(path))
	if err == nil {
		_, err = io.Copy(to, f)
	}
	return err
}

// tag is of what is inside, this machine's Java and busybox among it.
func (r *recipe) tag(hash string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, hash)
	home, err := javaHome(r.tools.jlink)
	if err == nil {
		err = errors.Join(addFile(h, filepath.Join(home, "release")), addFile(h, r.tools.busybox))
	}
	return r.release.String() + "-" + hex.EncodeToString(h.Sum(nil)[:6]), err
}

// javaHome is the JDK that a jlink belongs to.
func javaHome(jlink string) (string, error) {
	real, err := filepath.EvalSymlinks(jlink)
	return filepath.Dir(filepath.Dir(real)), err
}

// Built is an image that was made here of another broker.
type Built struct {
	Name    string    // of the image
	Release string    // inside
	Made    time.Time // when
	Bytes   int64     // with all that it shares
}

// Built lists the images that were made here of other brokers, the newest of a release first.
func (e *Engine) Built(ctx context.Context) ([]Built, error) { return e.built(ctx, labelTarget) }

func (e *Engine) built(ctx context.Context, label ...string) ([]Built, error) {
	ctx, cancel := context.WithTimeout(ctx, engineBound)
	defer cancel()
	by := filters.NewArgs()
	for _, l := range label {
		by.Add("label", l)
	}
	list, err := e.api.ImageList(ctx, image.ListOptions{Filters: by})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var out []Built
	for _, i := range list {
		if len(i.RepoTags) > 0 {
			out = append(out, Built{Name: i.RepoTags[0], Release: i.Labels[labelTarget], Made: time.Unix(i.Created, 0), Bytes: i.Size})
		}
	}
	slices.SortFunc(out, func(a, b Built) int {
		if c := strings.Compare(a.Release, b.Release); c != 0 {
			return c
		}
		return b.Made.Compare(a.Made)
	})
	return out, nil
}

// BuildTarget makes the image of a release of Apache Kafka: its jars from Maven Central, or those of a directory; the machine's JDK, cut to
// what brokers need; a static busybox as the shell. One that was made of the same before is found again. It returns the image's name.
func (e *Engine) BuildTarget(ctx context.Context, release targets.Release, jars string, say func(string)) (string, error) {
	r := &recipe{release: release, jars: jars}
	hash, err := r.hash()
	if err != nil {
		return "", err
	}
	if r.tools, err = findTools(jars); err != nil {
		return "", err
	}
	tag, err := r.tag(hash)
	if err != nil {
		return "", fmt.Errorf("image of Apache Kafka %s: %w", release, err)
	}
	name := targetRepo + ":" + tag
	building.Lock()
	defer building.Unlock()
	switch _, err := e.api.ImageInspect(ctx, name); {
	case err == nil:
		return name, nil
	case !errdefs.IsNotFound(err):
		return "", fmt.Errorf("image %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, targetBound)
	defer cancel()
	if err := e.makeTarget(ctx, r, name, hash, say); err != nil {
		return "", fmt.Errorf("image %s: %w", name, err)
	}
	return name, nil
}

// targetImage finds the image of a target, and makes it if it is not there.
func (e *Engine) targetImage(ctx context.Context, t targets.Target, say func(string)) (string, error) {
	if t.Image != "" {
		return t.Image, e.pull(ctx, t.Image, say)
	}
	hash, err := (&recipe{release: t.Release}).hash()
	if err != nil {
		return "", err
	}
	// Whatever machine made it: there may be no JDK here.
	made, err := e.built(ctx, labelTarget+"="+t.Release.String(), labelRecipe+"="+hash)
	if err != nil || len(made) > 0 {
		return append(made, Built{})[0].Name, err
	}
	return e.BuildTarget(ctx, t.Release, "", say)
}

// pull gets an image from its registry if the engine does not have it.
func (e *Engine) pull(ctx context.Context, name string, say func(string)) error {
	_, err := e.api.ImageInspect(ctx, name)
	if err == nil || !errdefs.IsNotFound(err) {
		return err
	}
	say("pulling image " + name)
	ctx, cancel := context.WithTimeout(ctx, targetBound)
	defer cancel()
	progress, err := e.api.ImagePull(ctx, name, image.PullOptions{})
	if err == nil {
		_, err = io.Copy(io.Discard, progress)
		err = errors.Join(err, progress.Close())
	}
	if err != nil {
		return fmt.Errorf("pulling image %s: %w", name, err)
	}
	return nil
}
