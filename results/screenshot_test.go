package results

import (
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark/results/browser"
)

var (
	screenshotOf = flag.String("screenshot-of", "", "run directory whose report TestScreenshot takes a picture of; a made-up run if empty")
	screenshotTo = flag.String("screenshot-to", "", "where TestScreenshot puts the picture; thrown away if empty")
	scheme       = flag.String("scheme", "light", "colour scheme of the picture, light or dark")
	wholePage    = flag.Bool("whole-page", false, "take the picture of the whole page")
	parts        = flag.String("parts", "", "directory into which TestScreenshotOfParts puts a picture of each section; thrown away if empty")
)

// TestScreenshotOfParts takes a picture of each section of a report, so that somebody can look at them.
func TestScreenshotOfParts(t *testing.T) {
	report, to := filepath.Join(*screenshotOf, reportFile), *parts
	if *screenshotOf == "" {
		report = finished(t, "").ReportPath()
	}
	if to == "" {
		to = t.TempDir()
	}
	b := browser.Open(t, *scheme)
	b.OpenReport(t, report)
	for _, id := range browser.Eval[[]string](t, b, `[...document.querySelectorAll("section[id]")].map((e) => e.id)`) {
		b.See(t, "#"+id)
		browser.Eval[bool](t, b, `scrollTo(0, 0); true`) // the navigation sticks to the top of what is in sight
		png := browser.Run(t, b, chromedp.Screenshot(chromedp.ID(id)))
		if len(png) < 2000 {
			t.Errorf("the picture of section %s has %d bytes, expected more", id, len(png))
		}
		name := id + ".png"
		if *scheme != "light" {
			name = id + "-" + *scheme + ".png"
		}
		if err := os.WriteFile(filepath.Join(to, name), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEverySectionIsShown: the page on how to read a report has a picture of each of its sections, and no other pictures lie beside it.
func TestEverySectionIsShown(t *testing.T) {
	report, err := assets.ReadFile("page/report.html")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, m := range regexp.MustCompile(`<section id="(\w+)">`).FindAllSubmatch(report, -1) {
		name := string(m[1]) + ".png"
		shown[name] = true
		if _, err := os.Stat(filepath.Join("../docs/report", name)); err != nil || !strings.Contains(string(page), "](report/"+name+")") {
			t.Errorf("docs/report.md does not show the section %s: %v", m[1], err)
		}
	}
	files, err := os.ReadDir("../docs/report")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !shown[f.Name()] {
			t.Errorf("docs/report/%s is of no section of a report", f.Name())
		}
	}
}

// TestTourOfAReport goes through a report as a reader does.
func TestTourOfAReport(t *testing.T) {
	d := Dir{*screenshotOf}
	if *screenshotOf == "" {
		d = finished(t, hostile)
	}
	o, err := d.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	browser.Open(t, *scheme).Tour(t, d.ReportPath(), headline(o.Verdict))
}

// TestScreenshot takes the picture that the README shows, see `make screenshot`.
func TestScreenshot(t *testing.T) {
	report, to := filepath.Join(*screenshotOf, reportFile), *screenshotTo
	if *screenshotOf == "" {
		report = finished(t, "").ReportPath()
	}
	if to == "" {
		to = filepath.Join(t.TempDir(), "report.png")
	}
	b := browser.Open(t, *scheme)
	b.OpenReport(t, report)
	browser.Eval[bool](t, b, `dispatchEvent(new Event("beforeprint")); true`) // draws all charts
	height := int64(1720)
	if *wholePage {
		height = 0
	}
	b.Picture(t, to, height)
	f, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	colours := map[[3]uint32]bool{}
	for y := 0; y < img.Bounds().Dy(); y += 5 {
		for x := 0; x < img.Bounds().Dx(); x += 5 {
			r, g, b, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if len(colours) < 20 {
		t.Errorf("the picture has %d colours, expected a page that is not blank", len(colours))
	}
}

// finished makes a run directory with the report of a made-up invalid run.
func finished(t *testing.T, odd string) Dir {
	t.Helper()
	o, h := invalidRunWith(odd)
	d, err := Create(t.TempDir(), o.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Finish(o, h); err != nil {
		t.Fatal(err)
	}
	return d
}
