// Package review keeps people's decisions about single questions: that a flip is a real
// regression or improvement, that a label or the metric is wrong, or that two results are equally
// good. Decisions live in a file in the repository, with author and reason, so that they are
// reviewed like code.
//
// A correction never helps one build alone: Rescore applies label and metric corrections to every
// run it is given and returns the scores before and after.
package review

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/internal/suggest"
)

// Schema is the value of a review file's schema key.
const Schema = "assay.review/v1"

// Kind says what a person decided.
type Kind string

// The decisions.
const (
	Regression  Kind = "regression"   // the candidate is worse on this question
	Improvement Kind = "improvement"  // the candidate is better
	Tie         Kind = "tie"          // both are equally good
	LabelWrong  Kind = "label_wrong"  // the golden set is wrong; Add, Remove or Retire says how to mend it
	MetricWrong Kind = "metric_wrong" // the labels are right and the number is not; Values holds the right ones
)

// Kinds returns all decisions.
func Kinds() []Kind { return []Kind{Regression, Improvement, Tie, LabelWrong, MetricWrong} }

// File is a review file: decisions in the order they were made.
type File struct {
	Schema    string     `json:"schema" yaml:"schema"`
	Decisions []Decision `json:"decisions" yaml:"decisions"`

	Path string `json:"-" yaml:"-"`
}

// Decision is what one person decided about one question.
type Decision struct {
	Question string `json:"question" yaml:"question"`
	Decision Kind   `json:"decision" yaml:"decision"`
	Author   string `json:"author" yaml:"author"`
	Reason   string `json:"reason" yaml:"reason"`
	Date     string `json:"date,omitempty" yaml:"date,omitempty"` // 2026-04-01
	// Builds are the live build and the candidate that were looked at; required for metric
	// corrections.
	Builds []string `json:"builds,omitempty" yaml:"builds,omitempty"`
	Golden string   `json:"golden,omitempty" yaml:"golden,omitempty"` // digest of the set that was looked at

	// Of label corrections.
	Add    []Place `json:"add,omitempty" yaml:"add,omitempty"`
	Remove []Place `json:"remove,omitempty" yaml:"remove,omitempty"`
	Retire bool    `json:"retire,omitempty" yaml:"retire,omitempty"` // the question cannot be mended

	// Of metric corrections: the right value of Measure for each of Builds.
	Measure string             `json:"measure,omitempty" yaml:"measure,omitempty"`
	Values  map[string]float64 `json:"values,omitempty" yaml:"values,omitempty"`

	Line int `json:"-" yaml:"-"` // in the file, 0 if it was not read from one
}

// Place is a gold member to add or remove.
type Place struct {
	Doc     corpus.DocumentID `json:"doc" yaml:"doc"`
	Section *string           `json:"section,omitempty" yaml:"section,omitempty"` // nil: the whole document
	Quote   string            `json:"quote,omitempty" yaml:"quote,omitempty"`
	Grade   int               `json:"grade,omitempty" yaml:"grade,omitempty"` // 0 means 1
	// Group is the gold entry, from 1, that an added place is an alternative of. 0 means the only
	// one; a number one above the last adds a further entry that must be found.
	Group int `json:"group,omitempty" yaml:"group,omitempty"`
}

// member returns the place as the golden set writes it.
func (p Place) member() golden.Member {
	return golden.Member{Doc: p.Doc, Section: p.Section, Quote: p.Quote, Grade: max(1, p.Grade)}
}

// problems returns what is wrong with a decision.
func (d *Decision) problems() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if d.Question == "" {
		add("question is missing: name the id")
	}
	if !slices.Contains(Kinds(), d.Decision) {
		var names []string
		for _, k := range Kinds() {
			names = append(names, string(k))
		}
		hint := "one of " + strings.Join(names, ", ")
		if s := suggest.Nearest(strings.ReplaceAll(string(d.Decision), " ", "_"), names); s != "" {
			hint = fmt.Sprintf("did you mean %q?", s)
		}
		add("decision %q is not known; %s", d.Decision, hint)
	}
	if strings.TrimSpace(d.Author) == "" {
		add("author is missing: a decision without a name cannot be asked about")
	}
	if strings.TrimSpace(d.Reason) == "" {
		add("reason is missing: write why in a sentence")
	}
	if d.Date != "" {
		if _, err := time.Parse(time.DateOnly, d.Date); err != nil {
			add("date %q is not of the form 2026-04-01", d.Date)
		}
	}
	isLabel := len(d.Add)+len(d.Remove) > 0 || d.Retire
	if isLabel != (d.Decision == LabelWrong) {
		if isLabel {
			add("add, remove and retire belong to label_wrong, not to %s", d.Decision)
		} else {
			add("label_wrong needs add, remove or retire: say how the label should be")
		}
	}
	for _, p := range slices.Concat(d.Add, d.Remove) {
		if p.Doc == "" {
			add("a place has no doc")
		}
		if p.Group < 0 || p.Grade < 0 {
			add("group %d and grade %d must not be negative", p.Group, p.Grade)
		}
	}
	isMetric := d.Measure != "" || len(d.Values) > 0
	if d.Decision != MetricWrong {
		if isMetric {
			add("measure and values belong to metric_wrong, not to %s", d.Decision)
		}
		return out
	}
	if _, err := measure.Parse(d.Measure); err != nil {
		add("metric_wrong: %v", err)
	}
	if len(d.Builds) != 2 || d.Builds[0] == d.Builds[1] {
		add("metric_wrong needs builds: the live build and the candidate, because a correction re-scores both")
		return out
	}
	for _, b := range d.Builds {
		v, ok := d.Values[b]
		switch {
		case !ok:
			add("metric_wrong has no value for build %s: a correction re-scores both builds", b)
		case math.IsNaN(v) || v < 0 || v > 1:
			add("value %v for build %s is not from 0 to 1", v, b)
		}
	}
	for _, b := range slices.Sorted(maps.Keys(d.Values)) {
		if !slices.Contains(d.Builds, b) {
			add("values name build %s, builds does not", b)
		}
	}
	return out
}

// Counts are the decisions of a file.
type Counts struct {
	Reviewed     int // questions with a decision
	Regressions  int
	Improvements int
	Ties         int
	LabelWrong   int
	MetricWrong  int
}

// Counts counts the last decision on each question. MetricWrong over Reviewed is the measure's own
// error rate.
func (f *File) Counts() (c Counts) {
	last := map[string]Kind{}
	for i := range f.Decisions {
		last[f.Decisions[i].Question] = f.Decisions[i].Decision
	}
	c.Reviewed = len(last)
	for _, k := range last {
		switch k {
		case Regression:
			c.Regressions++
		case Improvement:
			c.Improvements++
		case Tie:
			c.Ties++
		case LabelWrong:
			c.LabelWrong++
		case MetricWrong:
			c.MetricWrong++
		}
	}
	return c
}

// Add appends a decision, or returns what is wrong with it.
func (f *File) Add(d Decision) error {
	if p := d.problems(); len(p) > 0 {
		return fmt.Errorf("decision on %s: %s", d.Question, strings.Join(p, "; "))
	}
	f.Decisions = append(f.Decisions, d)
	return nil
}
