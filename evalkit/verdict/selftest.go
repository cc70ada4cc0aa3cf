package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/evalkit"
)

// SelfTest reports what the gate did when it was tested on this very candidate: against itself,
// and against copies with injected faults. Whoever runs the queries fills it in.
type SelfTest struct {
	AA     AA          `json:"aa"`
	Faults []FaultTest `json:"faults"`
}

// AA is the candidate evaluated twice and compared with itself.
type AA struct {
	Ran   bool     `json:"ran"`
	Flips []string `json:"flips"` // questions whose ranking or value differed; must be empty
	Note  string   `json:"note,omitempty"`
}

// FaultTest is one injected fault: ten percent of the chunks dropped, vectors shuffled, two
// documents' ids swapped, a foreign embedder, a stale lexical index, permissions ignored.
type FaultTest struct {
	Name   string `json:"name"`
	Caught bool   `json:"caught"`
	// TooSmall says that this golden set has too few questions to notice the fault whatever the
	// gate does. It is named in the warnings and does not make the verdict invalid.
	TooSmall bool   `json:"too_small,omitempty"`
	Note     string `json:"note,omitempty"` // how it was caught, or why not
}

// Summary returns one line such as "A/A without flips; would catch 5/6; too small to tell: two
// documents swapped". A nil SelfTest gives "not run".
func (s *SelfTest) Summary() string {
	if s == nil {
		return "not run"
	}
	var parts []string
	switch {
	case !s.AA.Ran:
		parts = append(parts, "A/A not run")
	case len(s.AA.Flips) == 0:
		parts = append(parts, "A/A without flips")
	default:
		parts = append(parts, fmt.Sprintf("A/A differs on %d (%s)", len(s.AA.Flips), list(s.AA.Flips)))
	}
	if len(s.Faults) > 0 {
		caught := 0
		var small, missed []string
		for _, f := range s.Faults {
			switch {
			case f.Caught:
				caught++
			case f.TooSmall:
				small = append(small, f.Name)
			default:
				missed = append(missed, f.Name)
			}
		}
		parts = append(parts, fmt.Sprintf("would catch %d/%d", caught, len(s.Faults)))
		if len(missed) > 0 {
			parts = append(parts, "missed: "+strings.Join(missed, ", "))
		}
		if len(small) > 0 {
			parts = append(parts, "too small to tell: "+strings.Join(small, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// SelfCompare fills in AA from two evaluations of the same build: every question whose hits or
// whose value of any measure differ is a flip. Question sets that differ are flips too.
func SelfCompare(first, second *evalkit.Evaluation) AA {
	aa := AA{Ran: true, Flips: []string{}}
	byID := byQuestion(second)
	for i := range first.Questions {
		a := &first.Questions[i]
		b := byID[a.ID]
		if b == nil || !slices.Equal(a.Hits, b.Hits) || a.Status != b.Status || !sameValues(a.Measures, b.Measures) {
			aa.Flips = append(aa.Flips, a.ID)
		}
		delete(byID, a.ID)
	}
	for i := range second.Questions {
		if id := second.Questions[i].ID; byID[id] != nil {
			aa.Flips = append(aa.Flips, id)
		}
	}
	return aa
}

func sameValues(a, b map[string]evalkit.Value) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || w != v {
			return false
		}
	}
	return true
}

// byQuestion indexes an evaluation's questions by id.
func byQuestion(e *evalkit.Evaluation) map[string]*evalkit.QuestionResult {
	m := make(map[string]*evalkit.QuestionResult, len(e.Questions))
	for i := range e.Questions {
		m[e.Questions[i].ID] = &e.Questions[i]
	}
	return m
}

// list joins up to eight names and counts the rest.
func list(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}
