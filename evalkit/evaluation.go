package evalkit

import (
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/measure"
)

// EvaluationSchema is the schema key of an Evaluation.
const EvaluationSchema = "assay.evaluation/v1"

// The rules that make a chunk relevant.
const (
	RuleSection = "section" // the chunk's section is the gold section or below it, or holds all of it
	RuleSpan    = "span"    // chunk and evidence share at least half of the shorter of the two
	RuleFacts   = "facts"   // right document and all facts in the chunk
)

// The views of a ranked list.
const (
	ViewSlots    = "slots"    // positions stay, only the first slot of each gold group earns
	ViewSections = "sections" // collapsed to the first occurrence of each section, then cut
)

// Options of Evaluate. The zero value scores all accepted questions under rule section in the
// view slots at cutoffs 1, 3 and 5.
type Options struct {
	Rule    string // RuleSection if empty
	View    string // ViewSlots if empty
	Cutoffs []int  // each at least 1; 1, 3, 5 if empty
	// Measures are names such as "hit@3"; a family's bare name ("hit") stands for all cutoffs.
	// Empty: the default families at all cutoffs.
	Measures []string
	Split    string // golden.Dev, golden.Holdout or golden.All; All if empty
	Seed     uint64 // of bootstrap and simulation
	Workers  int    // GOMAXPROCS if < 1; the result does not depend on it
	// Resamples of the bootstrap; 0 means 2000, negative leaves intervals out.
	Resamples int
	// Simulate, if positive, computes the random baseline of measures without a closed form
	// from so many seeded random rankings; without it they are n/a.
	Simulate int
}

// Evaluation is one run scored against one golden set. Its JSON encoding is the same bytes for
// the same inputs on any number of workers.
type Evaluation struct {
	Schema   string              `json:"schema"`
	Run      string              `json:"run"` // tag of the run
	Build    string              `json:"build"`
	Golden   GoldenRef           `json:"golden"`
	Corpus   string              `json:"corpus,omitempty"` // digest of the documents
	Rule     string              `json:"rule"`
	View     string              `json:"view"`
	Split    string              `json:"split"`
	Cutoffs  []int               `json:"cutoffs"`
	Seed     uint64              `json:"seed"`
	Counts   Counts              `json:"counts"`
	Measures map[string]*Summary `json:"measures"`
	Random   map[string]Value    `json:"random"`
	// RandomBasis says over what the baseline was drawn: chunks or sections.
	RandomBasis string            `json:"random_basis,omitempty"`
	Slices      map[string]*Slice `json:"slices"`
	Questions   []QuestionResult  `json:"questions"` // in golden order
	Warnings    []string          `json:"warnings,omitempty"`
}

// GoldenRef names the golden set that was scored against.
type GoldenRef struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Digest  string `json:"digest"`
}

// Counts are numbers of questions; Leaks counts hits.
type Counts struct {
	Questions    int      `json:"questions"`
	Answerable   int      `json:"answerable"`
	Unanswerable int      `json:"unanswerable"`
	NoResult     int      `json:"no_result"` // answerable, nothing returned
	Error        int      `json:"error"`     // failed queries; any makes the run invalid
	NoFacts      int      `json:"no_facts"`  // answerable without facts
	Leaks        int      `json:"leaks"`     // hits of documents the caller must not see
	Errors       []string `json:"errors,omitempty"`
	NoResults    []string `json:"no_results,omitempty"`
}

// Summary is the mean of one measure. The mean is macro: every scored question weighs the
// same. Questions that failed or got nothing are scored 0 and are counted in NScored as well
// as in their own number; questions without gold are n/a, left out of the mean and counted in
// NNA.
type Summary struct {
	Mean      Value `json:"mean"`
	NScored   int   `json:"n_scored"`
	NNA       int   `json:"n_na"`
	NNoResult int   `json:"n_no_result"`
	NError    int   `json:"n_error"`
	// CI is the 95 % interval, nil if there is none (nothing scored, or intervals off).
	CI       *[2]float64 `json:"ci"`
	CIMethod string      `json:"ci_method,omitempty"` // wilson or bootstrap; "constant sample" follows where all values are equal
	// Pooled is numerators over denominators summed before dividing, for recall, p and the
	// span measures; n/a for measures without such a form.
	Pooled Value `json:"pooled"`
	// Num and Den are what Pooled divides.
	Num int `json:"pooled_num,omitempty"`
	Den int `json:"pooled_den,omitempty"`
}

// Slice is the part of the questions that carry one tag.
type Slice struct {
	N            int                 `json:"n"`
	Answerable   int                 `json:"answerable"`
	Unanswerable int                 `json:"unanswerable"`
	Measures     map[string]*Summary `json:"measures"`
}

// QuestionResult is one question's values and the evidence they come from.
type QuestionResult struct {
	ID         string              `json:"id"`
	Answerable bool                `json:"answerable"`
	Critical   bool                `json:"critical,omitempty"`
	Slice      []string            `json:"slice"`
	Split      string              `json:"split"`
	Status     string              `json:"status"` // ok, no_result, error, or n/a for a question without gold
	Error      string              `json:"error,omitempty"`
	Measures   map[string]Value    `json:"measures"`
	FirstRank  int                 `json:"first_rank"` // of the first relevant slot, 0 if none
	Hits       []corpus.ChunkID    `json:"hits"`
	Docs       []corpus.DocumentID `json:"docs"`                 // document of each hit
	Sections   []string            `json:"sections"`             // section path of each hit in its document
	TieAt      []int               `json:"tie_at,omitempty"`     // ranks whose score equals that of the rank before
	Leaks      []Leak              `json:"leaks,omitempty"`      // anywhere in the list
	Evidence   measure.Evidence    `json:"evidence"`             // integers from which Measures recompute
	TopScore   Value               `json:"top_score"`            // of the first hit, n/a without one
	Descendant bool                `json:"descendant,omitempty"` // the first relevant slot matched below the gold section
}

// Statuses of a question.
const (
	StatusOK       = "ok"
	StatusNoResult = "no_result"
	StatusError    = "error"
	StatusNA       = "n/a"
)

// Leak is a hit that the caller must not see.
type Leak struct {
	Rank   int               `json:"rank"`
	Doc    corpus.DocumentID `json:"doc"`
	Reason string            `json:"reason"` // forbidden, or acl
}

// Value returns the question's value of the measure, n/a if it has none.
func (e *Evaluation) Value(question, name string) Value {
	for i := range e.Questions {
		if e.Questions[i].ID == question {
			return e.Questions[i].Measures[name]
		}
	}
	return Value{}
}
