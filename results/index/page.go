package index

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/checker"
	"tidemark/history/plain"
)

//go:embed page/index.html page/index.css page/index.js
var assets embed.FS

var (
	styleText    = asset("page/index.css")
	scriptText   = asset("page/index.js")
	pageTemplate = template.Must(template.New("index.html").Funcs(template.FuncMap{
		"line": plain.Line, "lasted": lasted, "size": size, "counted": counted, "grouped": grouped, "path": url.PathEscape,
		"percent": func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) },
	}).Parse(asset("page/index.html")))
)

func asset(name string) string {
	text, err := assets.ReadFile(name)
	if err != nil {
		panic(err) // embedded at build time
	}
	return string(text)
}

// policy lets a browser run the page's one script and nothing else, and load nothing.
var policy = fmt.Sprintf("default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; script-src %s; style-src 'unsafe-inline'", fingerprint(scriptText))

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// runsShown bounds the runs that a page lists.
const runsShown = 500

// page is all that a page tells.
type page struct {
	Policy    string
	Style     template.CSS
	Script    template.JS
	Title     string
	Up        string // the way to the directory that runs/ and campaigns/ stand in
	One       bool   // the page is that of one campaign
	Served    bool   // by tidemark serve, which makes archives
	Sections  []section
	Runs      []runRow
	RunsLeft  int
	Unread    []unread
	Left      int
	Campaigns bool // there are any
}

// unread is what could not be read, is not to be believed, or is a copy, and why.
type unread struct{ What, Word, Why string }

// section is what a page tells of the campaigns of one label.
type section struct {
	Number     int
	Label      string
	Name       string
	Campaign   Campaign
	Status     Status
	Sum        Part
	Remarks    []string // on what held for all of the campaign
	Sentence   string
	Standings  []standing
	Groups     []group
	Trends     []chart
	Points     []Point // the newest first
	NotCarried []Part
}

// standing is the changes of one standing.
type standing struct {
	Word     Standing
	Slug     string
	Count    int // of changes
	Families []familyRow
}

// familyRow is a family: what stands for it, and the others.
type familyRow struct {
	Family
	changeRow
	Further []changeRow
}

type changeRow struct {
	Change
	Links    []link
	Smallest []link // the run that shrinking left of it
	Left     string // which says so in words
}

type link struct{ Text, Href string }

// group is all runs on the disk that failed alike.
type group struct {
	Signature string
	Count     int
	Newest    runRow
	Others    []link
}

type runRow struct {
	Run
	Word, Href, Archive, Picture string
}

// WritePage writes the page of the index, or of one campaign if name is not "". served says that it is tidemark serve that asks.
func (x *Index) WritePage(w io.Writer, name string, served bool) error {
	p := page{Up: "../", Policy: policy, Style: template.CSS(styleText), Script: template.JS(scriptText), Title: "Tidemark: runs and campaigns", Served: served, Left: x.Left, Campaigns: len(x.Campaigns) > 0}
	for _, text := range x.Unread {
		what, why, _ := strings.Cut(text, ": ")
		word := "DAMAGED"
		if copiesAmong([]string{text}) > 0 {
			word = "COPY"
		}
		p.Unread = append(p.Unread, unread{plain.Line(what), word, plain.Line(why)})
	}
	if name != "" {
		p.Unread = nil // they stand on the page of all
		p.Up, p.One = "../../", true
		p.Title = "Tidemark: " + plain.Line(name)
	}
	for _, of := range Labels(x.Campaigns) {
		last := len(of) - 1
		if name != "" {
			if last = slices.IndexFunc(of, func(c Stored) bool { return c.Name == name }); last < 0 {
				continue
			}
		}
		s := x.section(of[:last+1], p.Up)
		s.Number = len(p.Sections)
		p.Sections = append(p.Sections, s)
	}
	if name != "" && len(p.Sections) == 0 {
		return fmt.Errorf("there is no campaign %.100q", name)
	}
	if name == "" {
		for _, r := range x.Runs[:min(len(x.Runs), runsShown)] {
			p.Runs = append(p.Runs, row(r, p.Up))
		}
		p.RunsLeft = len(x.Runs) - len(p.Runs)
	}
	if err := pageTemplate.Execute(plain.NewWriter(w), p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// WritePages writes campaigns/index.html and the page of each campaign under root, for a browser without a server.
func (x *Index) WritePages(root string) error {
	for i := range x.Campaigns {
		if err := x.writePage(filepath.Join(root, campaignsDir, x.Campaigns[i].Name, pageFile), x.Campaigns[i].Name); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, campaignsDir), 0o755); err != nil {
		return err
	}
	return x.writePage(filepath.Join(root, campaignsDir, pageFile), "")
}

func (x *Index) writePage(path, name string) error {
	var out bytes.Buffer
	if err := x.WritePage(&out, name, false); err != nil {
		return err
	}
	return put(path, out.Bytes())
}

func (x *Index) section(of []Stored, up string) section {
	c := of[len(of)-1]
	differences := Differences(of)
	d := differences[len(differences)-1]
	d.Unread = x.unread()
	s := section{Label: c.Label, Name: c.Name, Campaign: c.Campaign, Status: c.Campaign.Status(), Sum: c.Sum(), Sentence: d.Sentence(), Trends: charts(Trend(of), up)}
	s.Points = Trend(of)
	slices.Reverse(s.Points)
	for _, text := range []string{bugText(&c.Campaign), c.Busy()} {
		if text != "" {
			s.Remarks = append(s.Remarks, text)
		}
	}
	for i := range c.Parts {
		if p := &c.Parts[i]; !p.Looked() {
			s.NotCarried = append(s.NotCarried, *p)
		}
	}
	for _, word := range Standings {
		st := standing{Word: word, Slug: slug(string(word)), Count: len(d.Of(word))}
		for _, f := range d.Families(word) {
			r := familyRow{Family: f, changeRow: x.changeRow(*f.First(), up)}
			for _, c := range f.Changes[1:] {
				r.Further = append(r.Further, x.changeRow(c, up))
			}
			st.Families = append(st.Families, r)
		}
		if st.Count > 0 {
			s.Standings = append(s.Standings, st)
		}
	}
	s.Groups = x.groups(d, up)
	return s
}

// changeRow is a change with the ways to its runs.
func (x *Index) changeRow(c Change, up string) changeRow {
	return changeRow{c, x.links(c.Runs, up), x.links([]string{c.Problem.Smallest}, up), c.Problem.left()}
}

// groups are the runs on the disk that failed as a problem of the difference did, by signature.
func (x *Index) groups(d Difference, up string) []group {
	var out []group
	for _, c := range d.Changes {
		if c.Problem.Kind != Violation {
			continue
		}
		g := group{Signature: c.Problem.Signature}
		for _, r := range x.Runs {
			if r.Signature != c.Problem.Signature || r.Target != c.Subject {
				continue
			}
			if g.Count++; g.Count == 1 {
				g.Newest = row(r, up)
			} else if len(g.Others) < runsOfChange {
				g.Others = append(g.Others, link{plain.Line(r.Name), runHref(r.Name, up)})
			}
		}
		if g.Count > 0 && !slices.ContainsFunc(out, func(o group) bool { return o.Signature == g.Signature && o.Newest.Target == g.Newest.Target }) {
			out = append(out, g)
		}
	}
	return out
}

// links are those of the named runs that are still there.
func (x *Index) links(names []string, up string) []link {
	var out []link
	for _, name := range names {
		if slices.ContainsFunc(x.Runs, func(r Run) bool { return r.Name == name && r.Report }) {
			out = append(out, link{plain.Line(name), runHref(name, up)})
		}
	}
	return out
}

func runHref(name, up string) string {
	return up + runsDir + "/" + url.PathEscape(name) + "/" + reportFile
}

func row(r Run, up string) runRow {
	out := runRow{Run: r, Word: strings.ToUpper(string(r.Status)), Archive: up + runsDir + "/" + url.PathEscape(r.Name) + ".zip"}
	if r.Report {
		out.Href = runHref(r.Name, up)
	}
	if r.Picture {
		out.Picture = up + runsDir + "/" + url.PathEscape(r.Name) + "/" + pictureFile
	}
	switch r.Status {
	case checker.Valid, checker.Invalid, checker.Unknown, checker.Vacuous:
	default:
		out.Word = "NO VERDICT"
	}
	if r.Damaged {
		out.Word = "DAMAGED"
	}
	return out
}
