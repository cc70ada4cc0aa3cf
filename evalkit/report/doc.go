// Package report writes verdicts, comparisons and evaluations for readers: JUnit XML for test
// dashboards, SARIF for code review (pointing at the question's line in the golden file), a
// Markdown summary of at most 60 lines with the flips first, and plain text tables.
//
// An inconclusive verdict is never written as a pass. Text from questions and documents is
// escaped everywhere, because corpora contain what users wrote.
package report

import (
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// Data is what a report is made from. Only Verdict is required.
type Data struct {
	Verdict    *verdict.Verdict
	Comparison *verdict.Comparison // nil for a first build
	Evaluation *evalkit.Evaluation // of the candidate
	Golden     *golden.Set         // for question texts and lines
	// GoldenPath is the golden file's path relative to the repository, with slashes; "" takes
	// Golden.Path. SARIF viewers find the file by it.
	GoldenPath string
	Version    string // of the tool, "" leaves it out
}

func (d *Data) goldenPath() string {
	if d.GoldenPath == "" && d.Golden != nil {
		return d.Golden.Path
	}
	return d.GoldenPath
}

// text returns the words of a question, "" if they are not known.
func (d *Data) text(id string) string {
	if d.Golden != nil {
		if q := d.Golden.Find(id); q != nil {
			return q.Question
		}
	}
	return ""
}

// line returns the line of a question in the golden file, 1 if it is not known.
func (d *Data) line(id string) int {
	if d.Golden != nil {
		if q := d.Golden.Find(id); q != nil {
			return max(1, q.Line)
		}
	}
	return 1
}

// flips indexes the comparison's flips by question.
func (d *Data) flips() map[string]*verdict.Flip {
	m := map[string]*verdict.Flip{}
	if d.Comparison != nil {
		for i := range d.Comparison.Flips {
			m[d.Comparison.Flips[i].Question] = &d.Comparison.Flips[i]
		}
	}
	return m
}

// worse reports whether a flip is a loss.
func worse(f *verdict.Flip) bool {
	return f != nil && (f.Kind == verdict.Lost || f.Kind == verdict.Worsened)
}
