package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/history/plain"
)

// Server serves the index of one directory over HTTP, to be read on the same machine:
//
//	/campaigns/                   the page of the index, to which / leads
//	/index.json                   the same as JSON, see Listing
//	/campaigns/NAME/              the page of a campaign, and its campaign.json, junit.xml and summary.md
//	/runs/NAME/FILE               a file of a run
//	/runs/NAME.zip                the whole run as one archive
//
// It opens nothing outside of that directory: not by dots in a path, and not by a symbolic link either, as every file is opened below an
// os.Root. It only reads, answers GET and HEAD alone, and only who asks for this machine by name, so that no page of another site can read it
// through the browser.
type Server struct {
	root *os.Root
	now  func() time.Time
	seen digests
}

// NewServer serves the index under a directory, as it is to be believed at the times that now tells.
func NewServer(dir string, now func() time.Time) (*Server, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Server{root: root, now: now}, nil
}

// Close ends the use of the directory.
func (s *Server) Close() error { return s.root.Close() }

// Listing is /index.json, and what tidemark index --json prints.
type Listing struct {
	Format      int          `json:"format"`      // 1
	Differences []Difference `json:"differences"` // the newest campaign of each label beside those before it
	Campaigns   []Listed     `json:"campaigns"`   // the newest first
	Runs        []Run        `json:"runs"`        // the newest first
	Unread      []string     `json:"unread"`      // what could not be read, in words
	Left        int          `json:"left"`        // older directories that were not read
}

// Listed is a campaign in a listing, without its parts.
type Listed struct {
	Label string `json:"label"`
	Point
}

// Listing is the index as one value.
func (x *Index) Listing() Listing {
	l := Listing{Format: Format, Differences: []Difference{}, Campaigns: []Listed{}, Runs: append([]Run{}, x.Runs...), Unread: append([]string{}, x.Unread...), Left: x.Left}
	for _, of := range Labels(x.Campaigns) {
		all := Differences(of)
		last := all[len(all)-1]
		last.Unread = x.unread()
		l.Differences = append(l.Differences, last)
		points := Trend(of)
		slices.Reverse(points)
		for _, p := range points {
			l.Campaigns = append(l.Campaigns, Listed{of[0].Label, p})
		}
	}
	return l
}

// campaignFiles lists the files of a campaign that are served, with their types.
var campaignFiles = map[string]string{
	campaignFile: "application/json", junitFile: "text/xml; charset=utf-8", summaryFile: "text/plain; charset=utf-8",
}

// runName matches the files of a run that are served.
var runName = regexp.MustCompile(`^(run\.json|plan\.txt|history\.ndjson\.zst|trace\.hashes|broker--?[0-9]{1,10}\.log|results\.json|report\.html|porcupine\.html|shrink\.json)$`)

// pagePolicy is what a page that a run left may do: its own script, and nothing that reaches out, whoever wrote it.
const pagePolicy = "default-src 'none'; img-src data:; font-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	switch {
	case !thisMachine(r.Host):
		refuse(w, http.StatusForbidden, fmt.Sprintf("host %.100q, expected 127.0.0.1 or localhost", r.Host))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("method %.20q, expected GET or HEAD", r.Method))
	default:
		s.get(w, r)
	}
}

// thisMachine reports whether a request asks for this machine by a name that no other site can have.
func thisMachine(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return ip != nil && ip.IsLoopback()
}

// refuse answers with a sentence, as text: it may name what was asked for.
func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, "tidemark: "+plain.Line(why)+"\n") // the other side may be gone
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	switch asked := parse(r.URL.Path); {
	case asked.kind == askHome:
		w.Header().Set("Location", "/"+campaignsDir+"/")
		refuse(w, http.StatusFound, "see /"+campaignsDir+"/")
	case asked.kind == askIndex || asked.kind == askListing || asked.kind == askCampaign:
		s.page(w, r, asked)
	case asked.kind == askArchive:
		s.archive(w, r, asked.name)
	case asked.kind == askFile:
		s.file(w, r, asked)
	default:
		refuse(w, http.StatusNotFound, fmt.Sprintf("there is no %.200q here", r.URL.Path))
	}
}

// asked is what a path asks for.
type asked struct {
	kind       int
	name       string // of the run or campaign
	file, mime string // of askFile: below the directory
}

const (
	askNothing = iota
	askHome
	askIndex
	askListing
	askCampaign // its page
	askArchive
	askFile
)

// parse says what a path, which is decoded, asks for. Names are those of entries of one directory: never dots, nothing with a separator.
func parse(p string) asked {
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	if !strings.HasPrefix(p, "/") || len(parts) > 3 {
		return asked{}
	}
	switch {
	case p == "/":
		return asked{kind: askHome}
	case p == "/"+campaignsDir+"/" || p == "/"+campaignsDir+"/"+pageFile:
		return asked{kind: askIndex}
	case p == "/index.json":
		return asked{kind: askListing}
	case len(parts) == 2 && parts[0] == runsDir:
		if name, ok := strings.CutSuffix(parts[1], ".zip"); ok && entryName(name) {
			return asked{kind: askArchive, name: name}
		}
	case len(parts) == 3 && parts[0] == runsDir && entryName(parts[1]) && runName.MatchString(parts[2]):
		return asked{kind: askFile, name: parts[1], file: path.Join(runsDir, parts[1], parts[2]), mime: mimeOf(parts[2])}
	case len(parts) == 3 && parts[0] == campaignsDir && entryName(parts[1]):
		if parts[2] == "" || parts[2] == pageFile {
			return asked{kind: askCampaign, name: parts[1]}
		}
		if mime, ok := campaignFiles[parts[2]]; ok {
			return asked{kind: askFile, name: parts[1], file: path.Join(campaignsDir, parts[1], parts[2]), mime: mime}
		}
	}
	return asked{}
}

// entryName reports whether a name can be that of an entry in a directory of runs or campaigns.
func entryName(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "/\\\x00") && len(name) <= 255
}

func mimeOf(file string) string {
	switch path.Ext(file) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".json":
		return "application/json"
	case ".zst":
		return "application/zstd"
	case ".hashes":
		return "application/octet-stream"
	default:
		return "text/plain; charset=utf-8"
	}
}

// page makes a page of what stands on the disk now.
func (s *Server) page(w http.ResponseWriter, r *http.Request, a asked) {
	x, err := read(s.root, s.now(), &s.seen)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	var out bytes.Buffer
	mime := "text/html; charset=utf-8"
	switch a.kind {
	case askListing:
		mime = "application/json"
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		err = enc.Encode(x.Listing())
	case askCampaign:
		if !slices.ContainsFunc(x.Campaigns, func(c Stored) bool { return c.Name == a.name }) {
			why := fmt.Sprintf("there is no campaign %.200q here", a.name)
			if i := slices.IndexFunc(x.Unread, func(what string) bool { return strings.HasPrefix(what, path.Join(campaignsDir, a.name)+"/") }); i >= 0 {
				why = x.Unread[i]
			}
			refuse(w, http.StatusNotFound, why)
			return
		}
		err = x.WritePage(&out, a.name, true)
	default:
		err = x.WritePage(&out, "", true)
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", mime)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(out.Bytes()))
}

// file serves one file as it is.
func (s *Server) file(w http.ResponseWriter, r *http.Request, a asked) {
	f, info, err := s.open(a.file)
	if err != nil {
		refuse(w, http.StatusNotFound, fmt.Sprintf("there is no %.200q here", r.URL.Path))
		return
	}
	defer f.Close() //nolint:errcheck // only read
	w.Header().Set("Content-Type", a.mime)
	w.Header().Set("Content-Security-Policy", pagePolicy)
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// open opens a regular file below the directory.
func (s *Server) open(name string) (*os.File, fs.FileInfo, error) {
	before, err := s.root.Stat(name) // a pipe would hold whoever opens it
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errors.New("no regular file")
	}
	f, err := s.root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("no regular file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// archive sends a whole run.
func (s *Server) archive(w http.ResponseWriter, r *http.Request, name string) {
	files := filesOf(s.root, path.Join(runsDir, name))
	if len(files) == 0 {
		refuse(w, http.StatusNotFound, fmt.Sprintf("there is no run %.200q here", name))
		return
	}
	if _, err := packed(s.root, path.Join(runsDir, name)); err != nil {
		refuse(w, http.StatusUnprocessableEntity, fmt.Sprintf("the run %.200q is not sent: %v", name, err))
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", "attachment; filename=\""+slugFile(name)+".zip\"")
	if r.Method == http.MethodHead {
		return
	}
	_ = archive(w, s.root, path.Join(runsDir, name), name) // what was sent cannot be taken back: a broken archive is refused by who reads it
}

// slugFile is a name as a header holds it.
func slugFile(name string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && !strings.ContainsRune("\"\\/;%", r) {
			return r
		}
		return '-'
	}, name)
}
