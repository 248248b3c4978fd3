package index

import (
	"fmt"
	"math"
	"net/url"
	"strings"

	"tidemark/history/plain"
)

// The size of a chart, in units of its picture.
const (
	chartWidth  = 300.0
	chartHeight = 72.0
	chartMargin = 6.0
)

// chart is one figure over campaigns, drawn without a script.
type chart struct {
	Title   string
	Newest  string // the figure of the newest campaign, in words
	Largest string
	Line    string // the points of the line
	Dots    []dot
	Width   float64
	Height  float64
}

type dot struct {
	X, Y   float64
	Status Status
	Told   string
	Href   string
}

// charts draws a trend: seeds, failures, the vacuous share and the speed, over nights.
func charts(points []Point, up string) []chart {
	if len(points) == 0 {
		return nil
	}
	whole := func(x float64) string { return grouped(int(x)) }
	return []chart{
		draw("Runs", points, up, func(p Point) float64 { return float64(p.Runs) }, whole),
		draw("Failures", points, up, func(p Point) float64 { return float64(p.Failures) }, whole),
		draw("Vacuous share", points, up, func(p Point) float64 { return p.Vacuous }, func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }),
		draw("Speed, run seconds a second", points, up, func(p Point) float64 { return p.Speed }, func(x float64) string { return fmt.Sprintf("%.1f", x) }),
	}
}

func draw(title string, points []Point, up string, figure func(Point) float64, word func(float64) string) chart {
	top := 0.0
	for _, p := range points {
		if x := figure(p); !math.IsNaN(x) && !math.IsInf(x, 0) {
			top = max(top, x)
		}
	}
	c := chart{Title: title, Newest: word(figure(points[len(points)-1])), Largest: word(top), Width: chartWidth, Height: chartHeight}
	var path strings.Builder
	for i, p := range points {
		x, y := chartMargin, chartHeight-chartMargin
		if len(points) > 1 {
			x += (chartWidth - 2*chartMargin) * float64(i) / float64(len(points)-1)
		}
		if value := figure(p); top > 0 && value > 0 && value <= top {
			y -= (chartHeight - 2*chartMargin) * value / top
		}
		fmt.Fprintf(&path, "%.1f,%.1f ", x, y)
		c.Dots = append(c.Dots, dot{math.Round(10*x) / 10, math.Round(10*y) / 10, p.Status, plain.Line(fmt.Sprintf("%s: %s, %s", p.Name, word(figure(p)), p.Status)),
			up + campaignsDir + "/" + url.PathEscape(p.Name) + "/" + pageFile})
	}
	c.Line = strings.TrimSpace(path.String())
	return c
}
