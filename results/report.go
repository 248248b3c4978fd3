package results

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"tidemark/history"
	"tidemark/history/plain"
)

//go:embed page/report.html page/spacetime.html page/report.css page/common.js page/report.js page/operations.js uplot/uplot.js uplot/uplot.css
var assets embed.FS

// The page's own code. Everything else in the page goes through html/template's contextual escaping.
var (
	scriptText = asset("uplot/uplot.js") + "\n" + asset("page/common.js") + asset("page/report.js") + asset("page/operations.js")
	styleText  = asset("uplot/uplot.css") + "\n" + asset("page/report.css")

	reportTemplate = template.Must(template.New("report.html").Funcs(template.FuncMap{"unbroken": unbroken}).Parse(asset("page/report.html") + asset("page/spacetime.html")))
)

func asset(name string) string {
	text, err := assets.ReadFile(name)
	if err != nil {
		panic(err) // embedded at build time
	}
	return string(text)
}

// policy lets the browser run the page's one script and nothing else, and load nothing: should a value of the run ever slip
// through the escaping, it stays text.
var policy = fmt.Sprintf("default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; script-src %s; style-src 'unsafe-inline'",
	fingerprint(scriptText))

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// WriteReport writes the page of a run: one file that needs nothing else. h and logs may be nil, and the verdict any.
func WriteReport(w io.Writer, o Outcome, h *history.History, logs Logs) error {
	if h == nil {
		h = &history.History{}
	}
	err := reportTemplate.Execute(plain.NewWriter(w), struct {
		page
		Policy string
		Style  template.CSS
		Script template.JS
	}{newPage(o, h, logs), policy, template.CSS(styleText), template.JS(scriptText)})
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// unbroken is text as HTML in which no line ends within an arrow of a plan's, which browsers would break behind its hyphen.
func unbroken(text string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(text), "-&gt;", `<span class="whole">-&gt;</span>`)) //nolint:gosec // escaped
}
