package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/image"
)

// Where things lie in an image of Apache Kafka, as in the project's own.
const (
	imageLibs = "opt/kafka/libs"
	imageJava = "opt/java/openjdk"
)

// makeTarget makes an image's files in a directory of its own and hands them to the engine as a stream.
func (e *Engine) makeTarget(ctx context.Context, r *recipe, name, hash string, say func(string)) (err error) {
	dir, err := os.MkdirTemp("", "tidemark-target-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	java, libs := filepath.Join(dir, "java"), r.jars
	if libs == "" {
		say(fmt.Sprintf("fetching Apache Kafka %s from Maven Central", r.release))
		if libs, err = r.fetch(ctx, dir); err != nil {
			return err
		}
	}
	say("linking a Java runtime")
	if err := command(ctx, dir, r.tools.jlink, "--add-modules", strings.Join(javaModules, ","), "--strip-debug", "--no-man-pages", "--no-header-files", "--output", java); err != nil {
		return err
	}
	shared, err := r.sharedLibraries(ctx, java)
	if err != nil {
		return err
	}
	r.parts = append(r.parts, part{tree: java, to: imageJava}, part{tree: libs, to: imageLibs, suffix: ".jar"})
	for _, path := range shared {
		r.parts = append(r.parts, part{file: path, to: strings.TrimPrefix(path, "/")})
	}
	say("making image " + name)
	draft := name + "-draft"
	if err := e.load(ctx, r, draft, hash); err != nil {
		return err
	}
	defer func() {
		_, removed := e.api.ImageRemove(context.WithoutCancel(ctx), draft, image.RemoveOptions{PruneChildren: true})
		err = errors.Join(err, removed)
	}()
	say("starting a broker once, to keep its classes as Java has them in memory")
	if err := e.archive(ctx, r, draft, dir); err != nil {
		say(fmt.Sprintf("brokers will take longer to start, as that went wrong: %v", err))
	}
	return e.load(ctx, r, name, hash)
}

// load hands an image's files to the engine as a stream.
func (e *Engine) load(ctx context.Context, r *recipe, name, hash string) error {
	stream, into := io.Pipe()
	go func() { into.CloseWithError(r.write(into)) }()
	defer stream.Close() //nolint:errcheck // the writer sees it
	answer, err := e.api.ImageImport(ctx, image.ImportSource{Source: stream, SourceName: "-"}, name, image.ImportOptions{Changes: []string{
		"LABEL " + labelTarget + "=" + r.release.String(), "LABEL " + labelRecipe + "=" + hash, "ENV PATH=/" + imageJava + "/bin:/bin",
	}})
	if err != nil {
		return err
	}
	said, err := io.ReadAll(io.LimitReader(answer, wordsBytesMax))
	if err = errors.Join(err, answer.Close()); err == nil && strings.Contains(string(said), `"error"`) {
		err = errors.New(strings.TrimSpace(string(said)))
	}
	return err
}

// fetch gets a release's jars from Maven Central.
func (r *recipe) fetch(ctx context.Context, dir string) (libs string, err error) {
	pom, libs := filepath.Join(dir, "pom.xml"), filepath.Join(dir, "libs")
	if err := os.WriteFile(pom, []byte(r.release.POM()), 0o644); err != nil {
		return "", err
	}
	err = command(ctx, dir, r.tools.maven, "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+libs)
	if err == nil {
		_, err = jarsIn(libs)
	}
	return libs, err
}

// command runs a tool; the error has the end of what it said.
func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	said, err := c.CombinedOutput()
	if err != nil {
		said = said[max(0, len(said)-wordsBytesMax):]
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(name), args[0], err, strings.TrimSpace(string(said)))
	}
	return nil
}

// always are shared libraries that jars bring code for, beside those that Java needs itself: codecs' native parts are C++, and older than the C
// library that has threads and the like in itself (zstd-jni).
var always = []string{"libstdc++.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"}

// sharedLibraries lists the machine's libraries that a Java runtime and the jars' native parts need, dynamic linker among them. Windows and
// sound, which brokers do not have, are left out.
func (r *recipe) sharedLibraries(ctx context.Context, java string) ([]string, error) {
	var objects []string
	err := filepath.WalkDir(java, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && (strings.HasSuffix(path, ".so") && !windowing(filepath.Base(path)) || path == filepath.Join(java, "bin", "java")) {
			objects = append(objects, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	said, err := exec.CommandContext(ctx, r.tools.ldd, objects...).Output()
	if err != nil {
		return nil, fmt.Errorf("ldd of %d objects: %w", len(objects), err)
	}
	found := librariesIn(string(said), java)
	for _, name := range always {
		for _, dir := range dirsOf(found) {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				found = append(found, filepath.Join(dir, name))
				break
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// windowing tells Java's libraries of windows, fonts and sound.
func windowing(name string) bool {
	for _, part := range []string{"awt", "font", "splash", "sound", "lcms", "mlib", "javajpeg", "jawt", "j2gss", "j2pcsc"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// librariesIn reads the paths that ldd names, outside of a directory.
func librariesIn(said, outside string) []string {
	var out []string
	for line := range strings.Lines(said) {
		for _, field := range strings.Fields(line) {
			if strings.HasPrefix(field, "/") && !strings.HasSuffix(field, ":") && !strings.HasPrefix(field, outside) && !slices.Contains(out, field) {
				out = append(out, field)
			}
		}
	}
	return out
}

func dirsOf(paths []string) []string {
	var out []string
	for _, p := range paths {
		if dir := filepath.Dir(p); !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// part is a file, or the files of a directory, in an image.
type part struct {
	file, tree string // of this machine; one of them
	suffix     string // of the files of a directory
	to         string
}

// write writes an image's files as a tar.
func (r *recipe) write(to io.Writer) error {
	w := &imageWriter{tar: tar.NewWriter(to)}
	w.dir("tmp", 0o1777)
	w.text("etc/passwd", "root:x:0:0:root:/:/bin/sh\n")
	w.file("bin/busybox", r.tools.busybox, 0o755)
	for _, applet := range []string{"sh", "ls", "cat", "ps", "grep", "kill", "sleep", "df"} {
		w.link("bin/"+applet, "busybox")
	}
	for _, p := range r.parts {
		if p.tree != "" {
			w.tree(p)
		} else {
			w.file(p.to, p.file, 0o755)
		}
	}
	return errors.Join(w.err, w.tar.Close())
}

// imageWriter writes files to a tar; after an error it does nothing more.
type imageWriter struct {
	tar *tar.Writer
	err error
}

func (w *imageWriter) header(h *tar.Header) {
	if w.err == nil {
		w.err = w.tar.WriteHeader(h)
	}
}

func (w *imageWriter) dir(name string, mode int64) {
	w.header(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode})
}

func (w *imageWriter) link(name, to string) {
	w.header(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777})
}

func (w *imageWriter) text(name, text string) {
	w.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))})
	if w.err == nil {
		_, w.err = io.WriteString(w.tar, text)
	}
}

// file copies a file, following symbolic links.
func (w *imageWriter) file(name, from string, mode int64) {
	if w.err != nil {
		return
	}
	f, err := os.Open(from)
	if err != nil {
		w.err = err
		return
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		w.err = err
		return
	}
	w.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: info.Size()})
	if w.err == nil {
		_, w.err = io.Copy(w.tar, f)
	}
}

// tree copies a directory.
func (w *imageWriter) tree(p part) {
	err := filepath.WalkDir(p.tree, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || w.err != nil || !strings.HasSuffix(path, p.suffix) {
			return err
		}
		info, err := os.Stat(path)
		if err == nil {
			rel, _ := filepath.Rel(p.tree, path) // below it by the walk
			w.file(p.to+"/"+filepath.ToSlash(rel), path, int64(info.Mode().Perm()))
		}
		return err
	})
	w.err = errors.Join(w.err, err)
}
