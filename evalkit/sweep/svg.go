package sweep

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Chart is one chart as SVG with the table that holds the same numbers.
type Chart struct {
	Name  string // file name without ending
	Title string
	SVG   string
	Table [][]string // the first row is the heading
}

// Charts returns the charts of a report: intervals, measure against index size, hit@k over k, and
// the heat map of the questions on which variants differ. Charts that would be empty are left out.
// Text is escaped; the SVG needs no script, no font and no network.
func Charts(r *Report) []Chart {
	charts := []Chart{intervalChart(r), paretoChart(r)}
	if rows := r.curveRows(); len(rows[0]) > 1 {
		charts = append(charts, curveChart(r, rows))
	}
	if contested := r.Contested(); len(contested) > 0 {
		charts = append(charts, heatChart(r, contested))
	}
	return charts
}

// svg collects the elements of one picture.
type svg struct {
	b    strings.Builder
	w, h int
}

func newSVG(w, h int, title string) *svg {
	s := &svg{w: w, h: h}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="system-ui,sans-serif" font-size="12">`+"\n", w, h, w, h)
	fmt.Fprintf(&s.b, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&s.b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", w, h)
	return s
}

// Numbers are rounded to a tenth of a pixel, so that the last bits of a platform do not show.
func (s *svg) line(x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(&s.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x1, y1, x2, y2, style)
}

func (s *svg) text(x, y float64, anchor, text string) {
	fmt.Fprintf(&s.b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="#222">%s</text>`+"\n", x, y, anchor, html.EscapeString(text))
}

// dot draws a point that shows title when pointed at.
func (s *svg) dot(x, y, r float64, fill, title string) {
	fmt.Fprintf(&s.b, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s" stroke="#222"><title>%s</title></circle>`+"\n", x, y, r, fill, html.EscapeString(title))
}

func (s *svg) done() string { return s.b.String() + "</svg>\n" }

const (
	axisStyle = `stroke="#888"`
	zeroStyle = `stroke="#888" stroke-dasharray="3 3"`
	barStyle  = `stroke="#222" stroke-width="2"`
)

// colour is a variant's, by its sign.
func colour(sign string) string {
	switch sign {
	case "+":
		return "#1a7f37"
	case "-":
		return "#cf222e"
	case "=":
		return "#0969da"
	}
	return "#9a9a9a"
}

// nameSpace is the width that names of n characters take, at most a third of a page.
func (r *Report) nameSpace() float64 { return float64(min(320, 20+7*r.nameWidth())) }

func intervalChart(r *Report) Chart {
	const row, width = 22, 420
	left := r.nameSpace()
	title := fmt.Sprintf("%s: difference from %s with 95 %% intervals", r.Primary, r.Baseline)
	s := newSVG(int(left)+width+30, row*len(r.Variants)+40, title)
	lo, hi := r.deltaRange()
	x := func(v float64) float64 { return left + (v-lo)/(hi-lo)*width }
	bottom := float64(row*len(r.Variants) + 10)
	s.line(x(0), 5, x(0), bottom, zeroStyle)
	for i, l := range r.Variants {
		y := float64(row*i + 18)
		s.text(left-8, y+4, "end", l.Name)
		if l.CI != nil {
			s.line(x(l.CI[0]), y, x(l.CI[1]), y, barStyle)
		}
		s.dot(x(l.Delta.V), y, 5, colour(l.Sign), fmt.Sprintf("%s: %+.3f %s", l.Name, l.Delta.V, intervalText(l.CI, l.Descriptive)))
	}
	s.line(left, bottom, left+width, bottom, axisStyle)
	for _, v := range []float64{lo, 0, hi} {
		if near := min(x(v)-x(lo), x(hi)-x(v)); v == 0 && near > 0 && near < 50 {
			continue // its label would stand in that of an end
		}
		s.text(x(v), bottom+18, "middle", fmt.Sprintf("%+.3f", v))
	}
	table := [][]string{{"variant", r.Primary, "difference", "95 % interval", "p", "p adj."}}
	for _, l := range r.Variants {
		table = append(table, []string{l.Name, short(l.Mean), fmt.Sprintf("%+.3f", l.Delta.V), intervalText(l.CI, l.Descriptive), pText(l.P), pText(l.PHolm)})
	}
	return Chart{"intervals", title, s.done(), table}
}

func paretoChart(r *Report) Chart {
	const width, height, left, top = 560, 300, 60, 15
	title := fmt.Sprintf("%s against index size; filled in colour: nothing smaller is as good", r.Primary)
	s := newSVG(width+left+int(r.nameSpace()), height+top+45, title)
	lo, hi := r.meanRange()
	small, large := r.sizeRange()
	x := func(v float64) float64 { return left + 10 + (v-small)/(large-small)*(width-20) }
	y := func(v float64) float64 { return top + 10 + (hi-v)/(hi-lo)*(height-20) }
	s.line(left, top, left, top+height, axisStyle)
	s.line(left, top+height, left+width, top+height, axisStyle)
	for _, v := range []float64{lo, (lo + hi) / 2, hi} {
		s.text(left-6, y(v)+4, "end", fmt.Sprintf("%.3f", v))
	}
	s.text(x(small), top+height+18, "start", bytesText(int64(small)))
	s.text(x(large), top+height+18, "end", bytesText(int64(large)))
	s.text(left+width/2, top+height+36, "middle", "bytes of the index that searches read")
	table := [][]string{{"variant", r.Primary, "index bytes", "chunks", "tokens embedded", "on the front"}}
	for _, l := range r.Variants {
		fill, front := "#ddd", "no"
		if l.Pareto {
			fill, front = "#0969da", "yes"
		}
		px, py := x(float64(l.Cost.IndexBytes)), y(l.Mean.V)
		s.dot(px, py, 5, fill, fmt.Sprintf("%s: %.3f, %s", l.Name, l.Mean.V, bytesText(l.Cost.IndexBytes)))
		if l.Pareto || len(r.Variants) <= 12 {
			s.text(px+8, py+4, "start", l.Name)
		}
		table = append(table, []string{l.Name, short(l.Mean), fmt.Sprint(l.Cost.IndexBytes), fmt.Sprint(l.Cost.Chunks), fmt.Sprint(l.Cost.EmbeddedTokens), front})
	}
	return Chart{"pareto", title, s.done(), table}
}

// hue spreads n lines around the colour circle.
func hue(i, n int) string { return fmt.Sprintf("hsl(%d 65%% 42%%)", 360*i/max(1, n)) }

func curveChart(r *Report, rows [][]string) Chart {
	const width, height, left, top = 520, 300, 60, 15
	title := "hit@k over k"
	depth := len(rows[0]) - 1
	s := newSVG(width+left+int(r.nameSpace())+30, max(height+top+45, top+18*len(r.Variants)+30), title)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, l := range r.Variants {
		for _, v := range l.Curve {
			lo, hi = min(lo, v.V), max(hi, v.V)
		}
	}
	if hi-lo < 1e-9 {
		lo, hi = lo-0.01, hi+0.01
	}
	x := func(k int) float64 { return left + 10 + float64(k-1)/float64(max(1, depth-1))*(width-20) }
	y := func(v float64) float64 { return top + 10 + (hi-v)/(hi-lo)*(height-20) }
	s.line(left, top, left, top+height, axisStyle)
	s.line(left, top+height, left+width, top+height, axisStyle)
	for _, v := range []float64{lo, (lo + hi) / 2, hi} {
		s.text(left-6, y(v)+4, "end", fmt.Sprintf("%.3f", v))
	}
	for k := 1; k <= depth; k++ {
		s.text(x(k), top+height+18, "middle", fmt.Sprint(k))
	}
	for i, l := range r.Variants {
		var points []string
		for k, v := range l.Curve {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(k+1), y(v.V)))
		}
		fmt.Fprintf(&s.b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"><title>%s</title></polyline>`+"\n",
			strings.Join(points, " "), hue(i, len(r.Variants)), html.EscapeString(l.Name))
		ly := float64(top + 12 + 18*i)
		s.line(left+width+10, ly-4, left+width+26, ly-4, fmt.Sprintf(`stroke="%s" stroke-width="3"`, hue(i, len(r.Variants))))
		s.text(left+width+32, ly, "start", l.Name)
	}
	return Chart{"hit-at-k", title, s.done(), rows}
}

// maxHeatSVG bounds the questions that the picture shows; its table has all.
const maxHeatSVG = 400

func heatChart(r *Report, contested []int) Chart {
	const cell = 12
	shown := contested[:min(len(contested), maxHeatSVG)]
	left := r.nameSpace()
	title := fmt.Sprintf("%s by question and variant: %d questions on which variants differ", r.Primary, len(contested))
	if len(shown) < len(contested) {
		title += fmt.Sprintf(", the first %d", len(shown))
	}
	s := newSVG(int(left)+cell*len(shown)+10, cell*len(r.Matrix)+20, title)
	table := [][]string{{"question", "slice"}}
	for i, m := range r.Matrix {
		table[0] = append(table[0], m.Variant)
		s.text(left-6, float64(cell*i+20), "end", m.Variant)
		for k, q := range shown {
			v := min(1, max(0, m.Values[q].V))
			fmt.Fprintf(&s.b, `<rect x="%.0f" y="%d" width="%d" height="%d" fill="hsl(212 80%% %.0f%%)"><title>%s, %s: %.3f</title></rect>`+"\n",
				left+float64(cell*k), cell*i+10, cell-1, cell-1, 95-60*v, html.EscapeString(r.Questions[q].ID), html.EscapeString(m.Variant), m.Values[q].V)
		}
	}
	for _, q := range contested {
		row := []string{r.Questions[q].ID, strings.Join(r.Questions[q].Slices, ", ")}
		for _, m := range r.Matrix {
			row = append(row, short(m.Values[q]))
		}
		table = append(table, row)
	}
	return Chart{"questions", title, s.done(), table}
}
