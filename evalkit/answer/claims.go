package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Workbook is a recorded fixture of grounded answers: notes, questions with labels, and what
// systems retrieved and claimed.
type Workbook struct {
	Schema string         `json:"schema"` // assay.workbook/v1
	Notes  []string       `json:"notes"`  // ids of the sources
	Cases  []WorkbookCase `json:"cases"`
	// Texts are the sources' texts, by note; nil if they are kept elsewhere. Empty ones are
	// malformed.
	Texts map[string]string `json:"texts,omitempty"`
}

// WorkbookCase is one question with its labels and the recorded outputs of systems.
type WorkbookCase struct {
	ID         string                    `json:"id"`
	Question   string                    `json:"question"`
	Answerable bool                      `json:"answerable"`
	Relevant   []string                  `json:"relevant"`
	Claims     map[string][]string       `json:"claims"` // claim → notes that support it
	Expected   []string                  `json:"expected"`
	Systems    map[string]RecordedOutput `json:"systems"`
}

// RecordedOutput is what one system did.
type RecordedOutput struct {
	Retrieved []string        `json:"retrieved"` // in order
	Claims    []RecordedClaim `json:"claims"`
}

// RecordedClaim is one claim an answer makes, with what it cites for it. Unknown claims and
// citations of documents that do not exist are valid input and count as unsupported.
type RecordedClaim struct {
	ID        string   `json:"id"`
	Citations []string `json:"citations"`
}

// WorkbookSchema is the value of Workbook.Schema.
const WorkbookSchema = "assay.workbook/v1"

// maxIDs is the most ids of one list.
const maxIDs = 100

var fixtureID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })

// ParseWorkbook reads a fixture strictly: unknown keys and anything after the document are
// errors, and Validate must pass.
func ParseWorkbook(data []byte) (*Workbook, error) {
	var w Workbook
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return nil, fmt.Errorf("workbook: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("workbook: something follows the document: keep one object in the file")
	}
	return &w, w.Validate()
}

// Validate refuses malformed fixtures, with every fault found: ids outside
// [a-z][a-z0-9-]{0,31}, duplicates, more than 100 ids, an unknown retrieved document, empty
// source text, support outside the relevant set, relevant notes that support nothing and the
// reverse, expected claims without labels, labels on an unanswerable question.
func (w *Workbook) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("workbook: "+format, args...)) }
	if w.Schema != WorkbookSchema {
		bad("schema is %q, this version reads %q", w.Schema, WorkbookSchema)
	}
	notes := idSet(w.Notes, "notes", bad)
	for _, id := range slices.Sorted(maps.Keys(w.Texts)) {
		if !notes[id] {
			bad("text of unknown note %q", id)
		}
	}
	if w.Texts != nil {
		for _, id := range w.Notes {
			if strings.TrimSpace(w.Texts[id]) == "" {
				bad("note %q has no text", id)
			}
		}
	}
	var ids []string
	for i := range w.Cases {
		ids = append(ids, w.Cases[i].ID)
	}
	idSet(ids, "cases", bad)
	for i := range w.Cases {
		w.Cases[i].validate(notes, bad)
	}
	return errors.Join(errs...)
}

func idSet(ids []string, what string, bad func(string, ...any)) map[string]bool {
	if len(ids) > maxIDs {
		bad("%s: %d ids, the limit is %d", what, len(ids), maxIDs)
	}
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		if !fixtureID().MatchString(id) {
			bad("%s: id %q must match [a-z][a-z0-9-]{0,31}", what, id)
		}
		if set[id] {
			bad("%s: %q stands there twice", what, id)
		}
		set[id] = true
	}
	return set
}

func (c *WorkbookCase) validate(notes map[string]bool, bad func(string, ...any)) {
	in := func(format string, args ...any) { bad("case "+c.ID+": "+format, args...) }
	relevant := idSet(c.Relevant, "relevant", in)
	for _, id := range c.Relevant {
		if !notes[id] {
			in("relevant: unknown note %q", id)
		}
	}
	supports := map[string]bool{}
	claims := slices.Sorted(maps.Keys(c.Claims))
	idSet(claims, "claims", in)
	for _, claim := range claims {
		idSet(c.Claims[claim], "support of "+claim, in)
		for _, id := range c.Claims[claim] {
			supports[id] = true
			if !relevant[id] {
				in("%q supports claim %q but is not relevant: add it to relevant, or take the support away", id, claim)
			}
		}
	}
	for _, id := range c.Relevant {
		if !supports[id] {
			in("%q is relevant but supports no claim: label what it supports", id)
		}
	}
	for id := range idSet(c.Expected, "expected", in) {
		if len(c.Claims[id]) == 0 {
			in("expected claim %q has no support", id)
		}
	}
	switch {
	case c.Answerable && len(c.Relevant) == 0:
		in("answerable, but nothing is relevant")
	case !c.Answerable && (len(c.Relevant) > 0 || len(c.Claims) > 0 || len(c.Expected) > 0):
		in("unanswerable, but it has labels")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Systems)) {
		out := c.Systems[name]
		at := func(format string, args ...any) { in("system "+name+": "+format, args...) }
		idSet(out.Retrieved, "retrieved", at)
		for _, id := range out.Retrieved {
			if !notes[id] {
				at("retrieved: unknown document %q", id)
			}
		}
		var made []string
		for _, cl := range out.Claims {
			made = append(made, cl.ID)
			idSet(cl.Citations, "citations of "+cl.ID, at)
		}
		idSet(made, "claims", at)
	}
}

// Ratio is a count with its denominator; N 0 is n/a.
type Ratio struct {
	Count int `json:"count"`
	N     int `json:"n"`
}

// Value is Count/N; ok is false when N is 0.
func (r Ratio) Value() (v float64, ok bool) {
	if r.N == 0 {
		return 0, false
	}
	return float64(r.Count) / float64(r.N), true
}

func (r Ratio) String() string {
	if v, ok := r.Value(); ok {
		return fmt.Sprintf("%.2f", v)
	}
	return "n/a"
}

// ClaimScore is one case of one system under the grounded answer contract.
type ClaimScore struct {
	Case   string `json:"case"`
	System string `json:"system"`
	// Precision divides by k, Recall by the relevant notes; n/a without relevant notes.
	Precision Ratio `json:"precision"`
	Recall    Ratio `json:"recall"`
	FirstRank int   `json:"first_rank"` // of a relevant note within k, 0 if none; RR is its inverse
	HasGold   bool  `json:"has_gold"`
	Support   Ratio `json:"support"`  // supported / generated claims
	Coverage  Ratio `json:"coverage"` // supported expected / expected claims
	// Abstained is set for unanswerable questions: no claim was made.
	Abstained *bool `json:"abstained,omitempty"`
}

// RR is the reciprocal rank of the first relevant note within k; ok is false without gold.
func (s ClaimScore) RR() (v float64, ok bool) {
	if !s.HasGold {
		return 0, false
	}
	if s.FirstRank == 0 {
		return 0, true
	}
	return 1 / float64(s.FirstRank), true
}

// String returns the line of the table: "launch A | 0.50 1.00 1.00 1.00 1.00 n/a".
func (s ClaimScore) String() string {
	rr := "n/a"
	if v, ok := s.RR(); ok {
		rr = fmt.Sprintf("%.2f", v)
	}
	abstained := "n/a"
	if s.Abstained != nil {
		abstained = "no"
		if *s.Abstained {
			abstained = "yes"
		}
	}
	return fmt.Sprintf("%s %s | %s %s %s %s %s %s", s.Case, s.System, s.Precision, s.Recall, rr, s.Support, s.Coverage, abstained)
}

// claimRules are the points of the contract that its mutation tests take away one by one.
type claimRules struct {
	perReturned bool // wrong: P@k divides by what was returned
	anyCitation bool // wrong: one supporting citation is enough
	unseen      bool // wrong: citations need not be among the first k delivered
}

// ScoreClaims scores one recorded output at cutoff k, which must be within 1 and 100. A claim
// is supported if it has at least one citation and every cited document supports that claim
// and is among the first k retrieved.
func ScoreClaims(c *WorkbookCase, system string, out RecordedOutput, k int) (ClaimScore, error) {
	return scoreClaims(c, system, out, k, claimRules{})
}

func scoreClaims(c *WorkbookCase, system string, out RecordedOutput, k int, rules claimRules) (ClaimScore, error) {
	if k < 1 || k > 100 {
		return ClaimScore{}, fmt.Errorf("workbook: cutoff %d is outside 1 to 100", k)
	}
	s := ClaimScore{Case: c.ID, System: system, HasGold: len(c.Relevant) > 0}
	shown := out.Retrieved[:min(k, len(out.Retrieved))]
	if s.HasGold {
		found := 0
		for i, id := range shown {
			if slices.Contains(c.Relevant, id) {
				found++
				if s.FirstRank == 0 {
					s.FirstRank = i + 1
				}
			}
		}
		s.Precision, s.Recall = Ratio{found, k}, Ratio{found, len(c.Relevant)}
		if rules.perReturned {
			s.Precision.N = len(shown)
		}
	}
	supported := map[string]bool{}
	for _, cl := range out.Claims {
		good := 0
		for _, id := range cl.Citations {
			if slices.Contains(c.Claims[cl.ID], id) && (rules.unseen || slices.Contains(shown, id)) {
				good++
			}
		}
		if ok := good > 0 && (rules.anyCitation || good == len(cl.Citations)); ok {
			supported[cl.ID] = true
			s.Support.Count++
		}
	}
	s.Support.N = len(out.Claims)
	s.Coverage.N = len(c.Expected)
	for _, id := range c.Expected {
		if supported[id] {
			s.Coverage.Count++
		}
	}
	if !c.Answerable {
		s.Abstained = new(len(out.Claims) == 0)
	}
	return s, nil
}
