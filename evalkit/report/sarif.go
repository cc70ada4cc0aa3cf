package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string       `json:"id"`
	Short sarifMessage `json:"shortDescription"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	Rule         string            `json:"ruleId"`
	Index        int               `json:"ruleIndex"`
	Level        string            `json:"level"` // error, warning or note
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

// sarifRules are in the order of their indices.
func sarifRules() []sarifRule {
	return []sarifRule{
		{"verdict", sarifMessage{"The build does not go live."}},
		{"leak", sarifMessage{"A document that the caller must never see was returned."}},
		{"critical", sarifMessage{"A critical question was lost."}},
		{"lost", sarifMessage{"A question got worse."}},
		{"query", sarifMessage{"A query failed."}},
	}
}

// SARIF writes a SARIF 2.1.0 log with one result for the verdict, unless it accepts, and one for
// each leak, lost question and failed query at the question's line in the golden file. Losses of
// an accepted build are warnings.
func SARIF(w io.Writer, d Data) error {
	v := d.Verdict
	run := sarifRun{
		Tool:    sarifTool{sarifDriver{Name: "assay", Version: d.Version, Rules: sarifRules()}},
		Results: []sarifResult{},
	}
	add := func(rule, level, question, message string) {
		r := sarifResult{Rule: rule, Level: level, Message: sarifMessage{message}}
		for i, known := range run.Tool.Driver.Rules {
			if known.ID == rule {
				r.Index = i
			}
		}
		if path := d.goldenPath(); path != "" {
			line := 1
			if question != "" {
				line = d.line(question)
			}
			r.Locations = []sarifLocation{{sarifPhysical{sarifArtifact{fileURI(path)}, sarifRegion{line}}}}
		}
		if question != "" { // lets a viewer follow a finding when the line moves
			r.Fingerprints = map[string]string{"question/v1": rule + ":" + question}
		}
		run.Results = append(run.Results, r)
	}
	if v.Verdict != verdict.Accept {
		level := "error"
		if v.Verdict == verdict.Inconclusive {
			level = "warning"
		}
		add("verdict", level, "", fmt.Sprintf("%s: %s", v.Verdict, strings.Join(v.Reasons, " ")))
	}
	if d.Evaluation != nil {
		flips, critical := d.flips(), criticalLost(v)
		for i := range d.Evaluation.Questions {
			q := &d.Evaluation.Questions[i]
			for _, l := range q.Leaks {
				add("leak", "error", q.ID, fmt.Sprintf("Question %s shows %s at rank %d, which this caller must never see (%s).", q.ID, l.Doc, l.Rank, l.Reason))
			}
			f := flips[q.ID]
			switch {
			case q.Status == evalkit.StatusError:
				add("query", "error", q.ID, fmt.Sprintf("The query of question %s failed: %s", q.ID, q.Error))
			case worse(f) && critical[q.ID]:
				add("critical", "error", q.ID, sentence(f))
			case worse(f):
				level := "warning"
				if v.Verdict == verdict.Reject {
					level = "error"
				}
				add("lost", level, q.ID, sentence(f))
			}
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}); err != nil {
		return fmt.Errorf("write SARIF: %w", err)
	}
	return nil
}

// sentence words a loss with what stands first now.
func sentence(f *verdict.Flip) string {
	s := fmt.Sprintf("Question %s %s: %s to %s.", f.Question, f.Kind, f.A, f.B)
	if f.Text != "" {
		s += " " + f.Text
	}
	if len(f.ListB) > 0 {
		s += " Now first: " + f.ListB[0].Section + "."
	}
	if f.Tie {
		s += " The flip is within a tie of scores."
	}
	return s
}

// fileURI returns a path as SARIF wants it: slashes, and a URI's escapes.
func fileURI(path string) string {
	return (&url.URL{Path: filepath.ToSlash(strings.ReplaceAll(path, `\`, "/"))}).EscapedPath()
}
