package golden

import (
	"github.com/seed792a4543/assay/corpus"
)

// Schema is the value of a golden file's schema key.
const Schema = "assay.golden/v1"

// The sides of a set. A question without split belongs to Dev.
const (
	Dev     = "dev"     // what tuning may see
	Holdout = "holdout" // every look at it is written to a ledger
	All     = "all"     // both, as an argument of Select; no question carries it
)

// The states of a question. A question without state is Accepted. Only accepted questions are
// scored; the others are kept, linted and counted.
const (
	Draft    = "draft"
	Accepted = "accepted"
	Retired  = "retired"
)

// Set is one golden set. Questions are in file order.
type Set struct {
	Schema    string
	Name      string
	Version   int // from 1
	Notes     string
	Questions []Question
	Path      string // file it was read from, as named by the caller
}

// Question is what a user asks, with its labels.
type Question struct {
	ID         string
	Question   string // NFC
	Answerable bool   // by this corpus
	Slice      []string
	Split      string // Dev or Holdout, never empty after Load
	Critical   bool   // losing it rejects a build
	As         []string
	Forbidden  []corpus.DocumentID // documents this caller must never be shown
	Gold       []Group             // every group must be satisfied
	Facts      []Fact              // every fact must appear in an answer
	Claims     []Claim
	State      string // Draft, Accepted or Retired, never empty after Load
	Labels     []Label
	Notes      string
	Line       int // of the question in its file, from 1; 0 if it was not read from one
}

// Group is satisfied by any one of its members.
type Group []Member

// Grade returns the highest grade of the group's members, at least 1 for a loaded group.
func (g Group) Grade() int {
	best := 0
	for i := range g {
		best = max(best, g[i].Grade)
	}
	return best
}

// Member is a place that holds evidence.
type Member struct {
	Doc     corpus.DocumentID
	Section *string // heading path, "" the document's own section, nil the whole document
	Quote   string  // exact words of the document, "" for all of the section
	Grade   int     // from 1
	Line    int
}

// String returns the member as messages write it: doc, doc > section.
func (m Member) String() string {
	switch {
	case m.Section == nil:
		return string(m.Doc)
	case *m.Section == "":
		return string(m.Doc) + " (own section)"
	}
	return string(m.Doc) + " > " + *m.Section
}

// Fact must appear in an answer in any one of its phrasings.
type Fact struct {
	Any  []Phrasing
	Line int
}

// Phrasing is one form of a fact: exactly one of Text, Number, Date and Regex is set, in its
// spelling in the file.
type Phrasing struct {
	Text   string
	Number string
	Unit   string // with Number only
	Date   string // 2026-04-01
	Regex  string // RE2, as package regexp reads it
}

// String returns the phrasing for messages.
func (p Phrasing) String() string {
	switch {
	case p.Number != "" && p.Unit != "":
		return p.Number + " " + p.Unit
	case p.Number != "":
		return p.Number
	case p.Date != "":
		return p.Date
	case p.Regex != "":
		return "/" + p.Regex + "/"
	}
	return p.Text
}

// Claim is a proposition an answer may assert, with the places that support it; an empty
// Support marks a claim that nothing supports.
type Claim struct {
	ID      string
	Support []Member
	Line    int
}

// Label is one person's judgment. It is about a place if Doc is set, else about whether the
// question is answerable. Disagreeing labels are kept side by side.
type Label struct {
	By         string
	Doc        corpus.DocumentID
	Section    *string
	Grade      int   // from 0; 0 is judged not relevant
	Answerable *bool // only without Doc
	Note       string
	Line       int
}

// Find returns the question with the id, nil if there is none.
func (s *Set) Find(id string) *Question {
	for i := range s.Questions {
		if s.Questions[i].ID == id {
			return &s.Questions[i]
		}
	}
	return nil
}

// Select returns the accepted questions of one side (Dev, Holdout or All; "" is All), in file
// order. Every command reads questions through it, so that tuning on Dev cannot see the rest.
func (s *Set) Select(split string) []*Question {
	var out []*Question
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.State != Draft && q.State != Retired && (split == All || split == "" || split == q.side()) {
			out = append(out, q)
		}
	}
	return out
}

func (q *Question) side() string {
	if q.Split == Holdout {
		return Holdout
	}
	return Dev
}
