package sweep

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed report.tmpl.html
var page string

// HTML writes the report as one page without scripts and without anything from a network: tables,
// sentences, and each chart with its numbers as a table below. Times may be nil.
func HTML(w io.Writer, r *Report, times []Times) error {
	t, err := template.New("report").Parse(page)
	if err != nil {
		return err
	}
	type chart struct {
		Chart
		Picture template.HTML
	}
	data := struct {
		*Report
		Table, Slices, Times [][]string
		Says                 []string
		Charts               []chart
	}{Report: r, Table: r.Table(), Slices: r.SliceTable(true), Says: r.Sentences()}
	for _, c := range Charts(r) {
		// The pictures escape what they show; see svg.
		data.Charts = append(data.Charts, chart{c, template.HTML(c.SVG)})
	}
	if len(times) > 0 {
		data.Times = TimesTable(times)
	}
	return t.Execute(w, data)
}
