package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/history/keys"
)

// The directories and files of an index.
const (
	runsDir      = "runs"
	campaignsDir = "campaigns"
	campaignFile = "campaign.json"
	junitFile    = "junit.xml"
	summaryFile  = "summary.md"
	pageFile     = "index.html"
)

// Bounds on what is read.
const (
	campaignBytesMax = 32 << 20
	campaignsMax     = 2000 // the newest are read
	runsMax          = 5000 // likewise
	twinsMax         = 1000
)

// ErrFormat is a campaign.json that is not what this package writes.
var ErrFormat = errors.New("no campaign")

// Create makes campaigns/<UTC time>-<label>-<master seed>/ under root. A name that is taken gets a suffix: -2, -3 and so on.
func Create(root string, c Campaign) (name string, err error) {
	parent := filepath.Join(root, campaignsDir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of campaigns: %w", err)
	}
	stem := c.stem()
	name = stem
	for n := 2; ; n++ {
		err := os.Mkdir(filepath.Join(parent, name), 0o755)
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) || n > twinsMax {
			return "", fmt.Errorf("make the campaign's directory: %w", err)
		}
		name = fmt.Sprintf("%s-%d", stem, n)
	}
}

// stem is the name of a campaign's directory, if none has it yet.
func (c *Campaign) stem() string {
	return fmt.Sprintf("%s-%s-%d", c.Started.UTC().Format("20060102T150405Z"), slug(c.Label), c.Master)
}

// slug is a label as part of a directory's name: its first words, in small letters.
func slug(label string) string {
	words := strings.FieldsFunc(strings.ToLower(label), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words, "-")
	if name = strings.TrimRight(name[:min(len(name), 40)], "-"); name == "" {
		return "campaign"
	}
	return name
}

// Encode is campaign.json.
func Encode(c Campaign) ([]byte, error) {
	c.Format = Format
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("campaign cannot be written as JSON: %w", err)
	}
	if len(text) >= campaignBytesMax {
		return nil, fmt.Errorf("%s would have %d bytes, expected fewer than %d", campaignFile, len(text), campaignBytesMax)
	}
	return append(text, '\n'), nil
}

// Decode reads the campaign.json of a directory of some name. The error says what was expected, also of one that is not to be believed.
func Decode(text []byte, name string, now time.Time) (Campaign, error) {
	var c Campaign
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return Campaign{}, fmt.Errorf("%w: expected one JSON object of format %d: %.300s", ErrFormat, Format, keys.Told(err, "master or a seed"))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Campaign{}, fmt.Errorf("%w: expected the end of the file at byte %d, after the JSON object", ErrFormat, dec.InputOffset())
	}
	if err := keys.Once(text); err != nil {
		return Campaign{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	switch {
	case c.Format != Format:
		return Campaign{}, fmt.Errorf("%w: format is %d, expected %d", ErrFormat, c.Format, Format)
	case len(c.Parts) > partsMax:
		return Campaign{}, fmt.Errorf("%w: %d parts, expected at most %d", ErrFormat, len(c.Parts), partsMax)
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		if len(p.Problems) > problemsMax || len(p.Checks) > checksMax {
			return Campaign{}, fmt.Errorf("%w: part %.80q has %d problems and %d checks, expected at most %d and %d", ErrFormat, p.Name,
				len(p.Problems), len(p.Checks), problemsMax, checksMax)
		}
		for j := range p.Problems {
			if _, known := kindRank[p.Problems[j].Kind]; !known {
				return Campaign{}, fmt.Errorf("%w: part %.80q has a problem of kind %.80q, expected %s, %s, %s or %s", ErrFormat, p.Name, p.Problems[j].Kind, Violation, Missed, Doubt, Broken)
			}
		}
	}
	if err := c.Believable(name, now); err != nil {
		return Campaign{}, err
	}
	return c, nil
}

// Write puts a campaign into its directory, beside those before it: campaign.json, junit.xml, summary.md and its page; and the page of the
// index anew. One that nobody would believe when it is read, at that time, is an error.
func Write(root, name string, c Campaign, now time.Time) (Difference, error) {
	if err := c.Believable(name, now); err != nil {
		return Difference{}, err
	}
	text, err := Encode(c)
	if err != nil {
		return Difference{}, err
	}
	dir := filepath.Join(root, campaignsDir, name)
	if err := put(filepath.Join(dir, campaignFile), text); err != nil {
		return Difference{}, err
	}
	stored, err := Read(root, now)
	if err != nil {
		return Difference{}, err
	}
	d, ok := stored.Difference(name)
	if !ok {
		return Difference{}, fmt.Errorf("%s was written and is not found again", filepath.Join(dir, campaignFile))
	}
	if err := put(filepath.Join(dir, junitFile), JUnit(c)); err != nil {
		return d, err
	}
	if err := put(filepath.Join(dir, summaryFile), []byte(Summary(c, d))); err != nil {
		return d, err
	}
	if err := stored.writePage(filepath.Join(dir, pageFile), name); err != nil {
		return d, err
	}
	return d, stored.writePage(filepath.Join(root, campaignsDir, pageFile), "")
}

// put writes a file whole or not at all.
func put(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // best effort: the first error is the one to tell
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Index is all that stands under one directory.
type Index struct {
	Campaigns []Stored // the oldest first
	Runs      []Run    // the newest first
	Unread    []string // what is there and could not be read, is not to be believed, or is a copy, in words
	Left      int      // runs and campaigns beyond the bounds, the oldest, which were not read
}

// Read reads the campaigns and runs under root. What cannot be read, is not to be believed at that time, or is a copy, is told in Unread, and no error; a directory
// without either is empty.
func Read(root string, now time.Time) (Index, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return Index{}, err
	}
	defer dir.Close() //nolint:errcheck // only read
	return read(dir, now, nil)
}

func read(root *os.Root, now time.Time, seen *digests) (Index, error) {
	var x Index
	names, left, err := x.newest(root, campaignsDir, campaignsMax)
	if err != nil {
		return x, err
	}
	x.Left += left
	for _, name := range names {
		text, err := readFile(root, path.Join(campaignsDir, name, campaignFile), campaignBytesMax)
		if errors.Is(err, fs.ErrNotExist) {
			beside := beside(root, path.Join(campaignsDir, name))
			if beside == "" {
				continue // being made
			}
			err = fmt.Errorf("is gone, expected it beside %s", beside)
		}
		var c Campaign
		if err == nil {
			c, err = Decode(text, name, now)
		}
		if err != nil {
			x.Unread = append(x.Unread, fmt.Sprintf("%s: %v", path.Join(campaignsDir, name, campaignFile), err))
			continue
		}
		x.Campaigns = append(x.Campaigns, Stored{name, c})
	}
	x.leaveCopies()
	slices.SortStableFunc(x.Campaigns, func(a, b Stored) int { return a.Started.Compare(b.Started) })
	if names, left, err = x.newest(root, runsDir, runsMax); err != nil {
		return x, err
	}
	x.Left += left
	for _, name := range names {
		x.Runs = append(x.Runs, readRun(root, name, seen))
	}
	slices.SortStableFunc(x.Runs, func(a, b Run) int { return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Name, b.Name)) })
	return x, nil
}

// beside is a file of a campaign's directory that is written behind campaign.json, "" if there is none.
func beside(root *os.Root, dir string) string {
	for _, name := range []string{junitFile, summaryFile, pageFile} {
		if info, err := root.Lstat(path.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// linksTold bounds the links of one directory that are told of.
const linksTold = 100

// newest lists the last names of a directory's directories, at most so many; their names begin with the time. left is how many more there are. A link is
// not followed, as it may lead anywhere and what it leads to would count twice, but told of.
func (x *Index) newest(root *os.Root, dir string, most int) (names []string, left int, err error) {
	f, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, 0, err
	}
	links := 0
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			if links++; links <= linksTold {
				x.Unread = append(x.Unread, path.Join(dir, e.Name())+": is a symbolic link, expected a directory: links are not followed")
			}
			continue
		}
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	left = max(0, len(names)-most)
	return names[left:], left, nil
}

// readFile reads a file of fewer than limit bytes.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Stat(name) // before it is opened: a pipe would wait for whoever writes to it
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() >= limit:
		return nil, fmt.Errorf("is %v of %d bytes, expected a file of fewer than %d", info.Mode().Type(), info.Size(), limit)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(f, limit))
}

// Difference is that of the campaign of a name.
func (x *Index) Difference(name string) (Difference, bool) {
	for _, of := range Labels(x.Campaigns) {
		for _, d := range Differences(of) {
			if d.Name == name {
				d.Unread = x.unread()
				return d, true
			}
		}
	}
	return Difference{}, false
}

// unread are the campaigns among what was not read.
func (x *Index) unread() []string {
	var out []string
	for _, what := range x.Unread {
		if strings.HasPrefix(what, campaignsDir+"/") {
			out = append(out, what)
		}
	}
	return out
}
