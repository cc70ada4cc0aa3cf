package answer

import (
	"fmt"
	"slices"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// CitationVerdict is how an answer's citations stand to the gold sections, under the strict
// rule: one wrong source beside a right one makes it wrong.
type CitationVerdict string

// The verdicts.
const (
	CitationRight   CitationVerdict = "right"
	CitationPartial CitationVerdict = "partial" // right ones and others: wrong under the strict rule
	CitationWrong   CitationVerdict = "wrong"
	CitationMissing CitationVerdict = "missing"
	CitationNA      CitationVerdict = "n/a" // a refusal, an unanswerable question, an error
)

// Graded is one recorded answer with everything the rules say of it.
type Graded struct {
	Question   string          `json:"question"`
	Repeat     int             `json:"repeat"`
	Answerable bool            `json:"answerable"`
	Outcome    Outcome         `json:"outcome"`
	How        string          `json:"how,omitempty"` // how a refusal was recognised
	Review     bool            `json:"review,omitempty"`
	Groups     int             `json:"groups"` // gold groups
	Held       int             `json:"held"`   // of them, held by the delivered passages
	Facts      []FactResult    `json:"facts,omitempty"`
	Cited      Cited           `json:"cited"`
	Citation   CitationVerdict `json:"citation"`
	RightCited int             `json:"right_cited"` // of the set of cited passages, those on a gold section
	Numbers    []NumberFinding `json:"numbers,omitempty"`
	Leaks      int             `json:"leaks"` // delivered passages of documents the caller must not see

	reviewed bool // a person has judged this very answer; set by Report
}

// Retrieved reports whether a right section was delivered.
func (g *Graded) Retrieved() bool { return g.Held > 0 }

// AllFacts reports whether every fact is present; false for a question without facts.
func (g *Graded) AllFacts() bool {
	for _, f := range g.Facts {
		if !f.Found() {
			return false
		}
	}
	return len(g.Facts) > 0
}

// Say returns what each rule says of the answer, one line each, for a person who checks them.
func (g *Graded) Say(q *golden.Question) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	label := "answerable"
	if !g.Answerable {
		label = "unanswerable"
	}
	how := ""
	if g.How != "" {
		how = " (" + g.How + ")"
	}
	say("outcome: %s%s; the question is labelled %s", g.Outcome, how, label)
	if g.Answerable {
		say("gold sections delivered: %d of %d", g.Held, g.Groups)
	}
	if g.Outcome != Answered {
		return out
	}
	for i, f := range g.Facts {
		if i < len(q.Facts) && len(q.Facts[i].Any) > 0 {
			say("fact %q: %s", q.Facts[i].Any[0], f.Status)
		}
	}
	say("citations: %s", g.Citation)
	bad := 0
	for _, f := range g.Numbers {
		if !f.OK() {
			bad++
			say("number %q: %s %s", f.Number.Text, f.Source, f.Note)
		}
	}
	say("number rule: %d numbers, %d not accounted for", len(g.Numbers), bad)
	return out
}

// Ungrounded returns the numbers of the answer that are nowhere in context and question.
func (g *Graded) Ungrounded() (out []NumberFinding) {
	for _, f := range g.Numbers {
		if f.Source == Invented {
			out = append(out, f)
		}
	}
	return out
}

// Grade applies all rules to one recorded answer. docs may be nil; then gold sections are
// compared by their paths. Reasoning is taken out of the answer before anything is read.
func Grade(q *golden.Question, rec *Record, docs *corpus.Collection, lang ...string) (Graded, error) {
	g := Graded{Question: q.ID, Repeat: rec.Repeat, Answerable: q.Answerable, Citation: CitationNA, Groups: len(q.Gold)}
	gold, err := goldOf(q, docs)
	if err != nil {
		return g, err
	}
	g.Held = groupsHeld(gold, rec.Passages, docs)
	for i := range rec.Passages {
		if slices.Contains(q.Forbidden, rec.Passages[i].Doc) {
			g.Leaks++
		}
	}
	switch {
	case rec.Harness != "":
		g.Outcome = HarnessError
		return g, nil
	case rec.Error != "":
		g.Outcome = SystemError
		g.Facts = missingFacts(q)
		return g, nil
	}
	text, _ := StripThinking(rec.Answer)
	f := ClassifyRefusal(rec.Refused, text, lang...)
	g.Outcome, g.How, g.Review = f.Outcome, f.How, f.Review
	if rec.Citations != nil {
		g.Cited = CitedNumbers(rec.Citations, len(rec.Passages))
	} else {
		g.Cited = Citations(text, len(rec.Passages))
	}
	if g.Outcome != Answered {
		g.Facts = missingFacts(q)
		return g, nil
	}
	g.Facts = MatchFacts(q.Facts, text, lang...)
	asked := rec.Asked
	if asked == "" {
		asked = q.Question
	}
	g.Numbers = Grounded(text, rec.Context(), asked, lang...)
	if q.Answerable && len(gold) > 0 {
		for _, m := range g.Cited.Valid {
			for i := range rec.Passages {
				if rec.Passages[i].Marker == m && right(gold, &rec.Passages[i], docs) {
					g.RightCited++
				}
			}
		}
		total := len(g.Cited.Valid) + len(g.Cited.Invalid)
		switch {
		case total == 0:
			g.Citation = CitationMissing
		case g.RightCited == total:
			g.Citation = CitationRight
		case g.RightCited > 0:
			g.Citation = CitationPartial
		default:
			g.Citation = CitationWrong
		}
	}
	return g, nil
}

// missingFacts lists the facts of an answer that was not given. They need no review: there is
// no text in which a person could find them.
func missingFacts(q *golden.Question) []FactResult {
	out := make([]FactResult, len(q.Facts))
	for i := range out {
		out[i] = FactResult{Status: FactMissing}
	}
	return out
}
