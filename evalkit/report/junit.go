package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Failure *junitDetail `xml:"failure,omitempty"`
	Error   *junitDetail `xml:"error,omitempty"`
	Skipped *junitDetail `xml:"skipped,omitempty"`
	Out     *junitText   `xml:"system-out,omitempty"`
}

type junitDetail struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

type junitText struct {
	Text string `xml:",chardata"`
}

// JUnit writes one test case for the verdict and one for each question. The verdict's case passes
// only on accept: reject and inconclusive are failures of that type, invalid is an error. A
// question fails when it leaks, when it is critical and lost, or when it is lost and the verdict
// is not accept; losses that an accepted build may have are in its output. Failed queries are
// errors, questions that cannot be scored are skipped.
func JUnit(w io.Writer, d Data) error {
	v := d.Verdict
	suite := junitSuite{Name: "assay " + v.Primary}
	first := junitCase{Class: "assay.verdict", Name: fmt.Sprintf("build %s", v.Build)}
	detail := &junitDetail{Message: printable(v.Reasons[0]), Type: string(v.Verdict), Text: printable(v.Text())}
	switch v.Verdict {
	case verdict.Accept:
		first.Out = &junitText{detail.Text}
	case verdict.Invalid:
		first.Error = detail
	default:
		first.Failure = detail
	}
	suite.add(first)
	if d.Evaluation != nil {
		flips, critical := d.flips(), criticalLost(v)
		for i := range d.Evaluation.Questions {
			suite.add(d.question(&d.Evaluation.Questions[i], flips, critical))
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Error != nil:
		s.Errors++
	case c.Failure != nil:
		s.Failures++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func (d *Data) question(q *evalkit.QuestionResult, flips map[string]*verdict.Flip, critical map[string]bool) junitCase {
	c := junitCase{Class: "assay.question", Name: q.ID}
	if t := d.text(q.ID); t != "" {
		c.Name += ": " + printable(t)
	}
	value := q.Measures[d.Verdict.Primary]
	f := flips[q.ID]
	switch {
	case q.Status == evalkit.StatusError:
		c.Error = &junitDetail{Message: "the query failed", Type: "query", Text: printable(q.Error)}
	case len(q.Leaks) > 0:
		var lines []string
		for _, l := range q.Leaks {
			lines = append(lines, fmt.Sprintf("rank %d: %s (%s)", l.Rank, l.Doc, l.Reason))
		}
		c.Failure = &junitDetail{Message: "shows documents the caller must never see", Type: "leak", Text: printable(strings.Join(lines, "\n"))}
	case worse(f) && (critical[q.ID] || d.Verdict.Verdict != verdict.Accept):
		kind := f.Kind
		if critical[q.ID] {
			kind = "critical"
		}
		c.Failure = &junitDetail{Message: printable(f.Headline()), Type: kind, Text: printable(lists(f))}
	case !value.OK:
		c.Skipped = &junitDetail{Message: d.Verdict.Primary + " is not defined for this question"}
	case f != nil:
		c.Out = &junitText{printable(f.Headline() + "\n" + lists(f))}
	default:
		c.Out = &junitText{fmt.Sprintf("%s %s, first relevant rank %d", d.Verdict.Primary, value, q.FirstRank)}
	}
	return c
}

// lists writes both ranked lists of a flip.
func lists(f *verdict.Flip) string {
	c := verdict.Comparison{A: "live", B: "candidate", Flips: []verdict.Flip{*f}}
	return c.FlipText()
}

func criticalLost(v *verdict.Verdict) map[string]bool {
	m := map[string]bool{}
	for _, diff := range []*verdict.Difference{v.AgainstLive, v.AgainstRef} {
		if diff != nil {
			for _, id := range diff.CriticalLost {
				m[id] = true
			}
		}
	}
	return m
}

// printable drops what XML 1.0 cannot hold and replaces invalid UTF-8, so that a control character
// in a question does not cost the whole report.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case r < 0x20, r == 0x7f, r == 0xFFFE, r == 0xFFFF:
			return -1
		case r == utf8.RuneError:
			return '\uFFFD'
		}
		return r
	}, s)
}
