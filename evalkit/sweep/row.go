package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
)

// Question is one question that the variants were asked.
type Question struct {
	ID     string   `json:"id"`
	Slices []string `json:"slice,omitempty"`
}

// Questions lists the questions of a set's side as rows refer to them, in golden order.
func Questions(set *golden.Set, split string) []Question {
	selected := set.Select(split)
	out := make([]Question, len(selected))
	for i, q := range selected {
		out[i] = Question{q.ID, q.Slice}
	}
	return out
}

// Row is what a sweep keeps of one variant: a few numbers for each question, no ranked lists.
type Row struct {
	Name     string            `json:"name"`
	Settings map[string]string `json:"settings,omitempty"` // dotted keys and values, all of them
	Build    string            `json:"build,omitempty"`    // id of a build with these settings
	// Values are the primary measure's, one for each question in golden order; n/a where the
	// question has no gold.
	Values   []evalkit.Value          `json:"values"`
	Measures map[string]evalkit.Value `json:"measures"`         // means
	Curve    []evalkit.Value          `json:"hit_at,omitempty"` // mean of hit@1, hit@2 and so on
	Errors   int                      `json:"errors,omitempty"` // failed queries: the row decides nothing
	Leaks    int                      `json:"leaks,omitempty"`  // hits that the caller must not see
	Parts    Parts                    `json:"parts"`
	Cost     Cost                     `json:"cost"`
	Note     string                   `json:"note,omitempty"` // what a reader of the number must know
}

// Parts count what has to work for a query to be answered. Fewer parts are simpler; the fields are
// compared in this order.
type Parts struct {
	Chat       int `json:"chat"`       // calls of a chat model for each query
	External   int `json:"external"`   // 1 if queries are embedded outside of this program
	Retrievers int `json:"retrievers"` // lists that are searched, 1 or 2
	Steps      int `json:"steps"`      // steps after fusion, such as a reranker
}

// Compare returns a negative number if p is simpler than o, a positive one if o is, else 0.
func (p Parts) Compare(o Parts) int {
	return cmp.Or(cmp.Compare(p.Chat, o.Chat), cmp.Compare(p.External, o.External),
		cmp.Compare(p.Retrievers, o.Retrievers), cmp.Compare(p.Steps, o.Steps))
}

// Cost is what a variant takes besides time, which differs from run to run; see Times.
type Cost struct {
	Chunks     int   `json:"chunks"`
	IndexBytes int64 `json:"index_bytes"` // of the files that its searches read
	// EmbeddedTokens is a cautious estimate of the tokens embedded for the index, 0 if its searches
	// use no vectors.
	EmbeddedTokens int64 `json:"embedded_tokens"`
}

// Times are the clock readings of one variant. They are no part of a Report, whose bytes are the
// same for the same inputs.
type Times struct {
	Variant string `json:"variant"`
	// BuildNS is the time of cutting, indexing and embedding, in nanoseconds. Variants that share
	// an index carry the time of that index.
	BuildNS int64 `json:"build_ns"`
	P50NS   int64 `json:"query_p50_ns"`
	P95NS   int64 `json:"query_p95_ns"`
}

// TimesReport is the file of all Times of a sweep.
type TimesReport struct {
	Schema   string  `json:"schema"`
	Variants []Times `json:"variants"` // in the order of the report
}

// TimesSchema is the schema key of a TimesReport.
const TimesSchema = "assay.sweep-times/v1"

// CurveDepth is the number of cutoffs of Row.Curve that MeasuresFor asks for.
const CurveDepth = 10

// DefaultMeasures are reported beside the primary measure.
func DefaultMeasures() []string { return []string{"hit@1", "hit@3", "recall@5", "rr@10", "ndcg@10"} }

// MeasuresFor returns the names that an evaluation must hold so that Reduce finds the primary
// measure, the others and the curve. A name without cutoff where one is needed, or that is no
// measure, is an error.
func MeasuresFor(primary string, others []string) ([]string, error) {
	names := append([]string{primary}, others...)
	for k := 1; k <= CurveDepth; k++ {
		names = append(names, fmt.Sprintf("hit@%d", k))
	}
	var out []string
	var errs []error
	for _, name := range names {
		m, err := measure.Parse(name)
		if err == nil && m.Family.NeedsCutoff() && m.Cutoff == 0 {
			err = fmt.Errorf("measure %q has no cutoff: write %s@10", name, name)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !slices.Contains(out, m.String()) {
			out = append(out, m.String())
		}
	}
	return out, errors.Join(errs...)
}

// Reduce keeps of an evaluation what a report needs. Name, Settings, Parts and Cost are the
// caller's to fill in. An evaluation without the primary measure is an error.
func Reduce(ev *evalkit.Evaluation, primary string, others []string) (Row, error) {
	r := Row{
		Build: ev.Build, Errors: ev.Counts.Error, Leaks: ev.Counts.Leaks,
		Values: make([]evalkit.Value, len(ev.Questions)), Measures: map[string]evalkit.Value{},
	}
	if ev.Measures[primary] == nil {
		return r, fmt.Errorf("the evaluation of %s holds no %s: add it to its measures", ev.Run, primary)
	}
	for i, q := range ev.Questions {
		r.Values[i] = q.Measures[primary]
	}
	for _, name := range append([]string{primary}, others...) {
		if s := ev.Measures[name]; s != nil {
			r.Measures[name] = s.Mean
		}
	}
	for k := 1; ; k++ {
		s := ev.Measures[fmt.Sprintf("hit@%d", k)]
		if s == nil {
			return r, nil
		}
		r.Curve = append(r.Curve, s.Mean)
	}
}
