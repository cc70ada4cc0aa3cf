package answer

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// Outcome is what became of one question.
type Outcome string

// The outcomes. Only Answered and Refused enter rates of answers and refusals.
const (
	Answered     Outcome = "answered"
	Refused      Outcome = "refused"
	Empty        Outcome = "empty"         // no words, {} or null: neither an answer nor a refusal
	SystemError  Outcome = "error"         // the answerer failed: counts against the system
	HarnessError Outcome = "harness_error" // grading failed: makes the result incomplete
)

// RefusalFinding is how an answer was recognised as refusal or not.
type RefusalFinding struct {
	Outcome Outcome `json:"outcome"`
	// How is "field" for an explicit field, "phrase:<id>" for an entry of the phrase list, ""
	// if nothing spoke for a refusal.
	How string `json:"how,omitempty"`
	// Review is true near the edge: a phrase of refusal stands elsewhere than at the start, or
	// field and text contradict each other. A person should look.
	Review bool `json:"review,omitempty"`
}

//go:embed refusals.json
var refusalData []byte

type refusalPattern struct {
	id        string
	re, needs *regexp.Regexp
}

type refusalList struct {
	version  int
	hash     string
	leads    map[string]*regexp.Regexp
	patterns map[string][]refusalPattern
	near     *regexp.Regexp

	concludes, open map[string]*regexp.Regexp
}

var refusals = sync.OnceValue(func() *refusalList {
	l, err := parseRefusals(refusalData)
	if err != nil {
		panic("evalkit/answer: " + err.Error()) // unreachable: the data is embedded and tested
	}
	return l
})

func parseRefusals(data []byte) (*refusalList, error) {
	var f struct {
		Version   int    `json:"version"`
		Comment   string `json:"comment"`
		Languages map[string]struct {
			Doc       string   `json:"doc"`
			Leads     []string `json:"leads"`
			Concludes string   `json:"concludes"`
			Open      string   `json:"open"`
			Patterns  []struct {
				ID    string `json:"id"`
				Re    string `json:"re"`
				Needs string `json:"needs"`
			} `json:"patterns"`
		} `json:"languages"`
		Near []string `json:"near"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read refusal phrases: %w", err)
	}
	sum := sha256.Sum256(data)
	l := &refusalList{version: f.Version, hash: hex.EncodeToString(sum[:]),
		leads: map[string]*regexp.Regexp{}, patterns: map[string][]refusalPattern{},
		concludes: map[string]*regexp.Regexp{}, open: map[string]*regexp.Regexp{}}
	for _, lang := range slices.Sorted(maps.Keys(f.Languages)) {
		d := f.Languages[lang]
		fill := func(s string) string { return strings.ReplaceAll(s, "{doc}", "(?:"+d.Doc+")") }
		var err error
		if l.leads[lang], err = regexp.Compile(fill(`^(?:(?:` + strings.Join(d.Leads, "|") + `)[\s,.:;!–—-]+)`)); err != nil {
			return nil, fmt.Errorf("refusal phrases: leads of %s: %w", lang, err)
		}
		if l.concludes[lang], err = regexp.Compile(d.Concludes); err != nil {
			return nil, fmt.Errorf("refusal phrases: concludes of %s: %w", lang, err)
		}
		if l.open[lang], err = regexp.Compile(d.Open); err != nil {
			return nil, fmt.Errorf("refusal phrases: open of %s: %w", lang, err)
		}
		for _, p := range d.Patterns {
			re, err := regexp.Compile("^(?:" + fill(p.Re) + ")")
			if err != nil {
				return nil, fmt.Errorf("refusal phrases: %s: %w", p.ID, err)
			}
			out := refusalPattern{id: p.ID, re: re}
			if p.Needs != "" {
				if out.needs, err = regexp.Compile(p.Needs); err != nil {
					return nil, fmt.Errorf("refusal phrases: %s: %w", p.ID, err)
				}
			}
			l.patterns[lang] = append(l.patterns[lang], out)
		}
	}
	var err error
	if l.near, err = regexp.Compile(strings.Join(f.Near, "|")); err != nil {
		return nil, fmt.Errorf("refusal phrases: near: %w", err)
	}
	return l, nil
}

// RefusalRevision returns version and SHA-256 of the phrase list; a run records both.
func RefusalRevision() string {
	l := refusals()
	return fmt.Sprintf("refusals/%d sha256:%s", l.version, l.hash)
}

// Refusal reports whether a text refuses to answer, and how that was recognised. Only
// statements about missing information at the start count: the first sentence, or the next
// one after an apology. Quoted speech does not count. lang limits the phrase list to
// languages; without it all are tried.
func Refusal(text string, lang ...string) (refused bool, how string) {
	f := ClassifyRefusal(nil, text, lang...)
	return f.Outcome == Refused, f.How
}

// ClassifyRefusal decides by an explicit field first (nil if there was none), then by the
// phrase list. An answer without words is Empty, whatever the phrase list says, unless the
// field says that it is a refusal.
func ClassifyRefusal(field *bool, text string, lang ...string) RefusalFinding {
	text, _ = StripThinking(text)
	phrase, near := refusals().match(text, lang)
	switch {
	case field != nil && *field:
		return RefusalFinding{Outcome: Refused, How: "field", Review: phrase == "" && hasWords(text) && len(text) > 200}
	case blankAnswer(text):
		return RefusalFinding{Outcome: Empty}
	case field != nil:
		return RefusalFinding{Outcome: Answered, How: "field", Review: phrase != ""}
	case phrase != "":
		return RefusalFinding{Outcome: Refused, How: "phrase:" + phrase}
	}
	return RefusalFinding{Outcome: Answered, Review: near}
}

func blankAnswer(text string) bool {
	s := strings.TrimSpace(text)
	if s == "{}" || s == "[]" || strings.EqualFold(s, "null") {
		return true
	}
	return !hasWords(StripCitations(s))
}

func hasWords(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return isWord(r) || digit(r) >= 0 })
}

func (l *refusalList) match(text string, lang []string) (id string, near bool) {
	s := foldRefusal(StripCitations(text))
	langs := []string{English, Vietnamese, German}
	if len(lang) > 0 {
		langs = langs[:0]
		for k := range languages(text, lang) {
			langs = append(langs, k)
		}
		slices.Sort(langs)
	}
	for _, lg := range langs {
		rest := s
		for range 6 { // apologies and other openings
			m := l.leads[lg].FindStringIndex(rest)
			if m == nil {
				break
			}
			rest = rest[m[1]:]
		}
		first := firstSentence(rest)
		if m := l.concludes[lg].FindStringSubmatch(first); m != nil && !l.open[lg].MatchString(m[1]) {
			continue // it answers from what is not said
		}
		for _, p := range l.patterns[lg] {
			if p.re.MatchString(first) && (p.needs == nil || p.needs.MatchString(first)) {
				return p.id, false
			}
		}
	}
	return "", l.near.MatchString(s)
}

// firstSentence returns the text up to the first end of a sentence, without it.
func firstSentence(s string) string {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '.', '!', '?', ';':
			if i+1 == len(s) || s[i+1] == ' ' {
				return strings.TrimSpace(s[:i])
			}
		}
	}
	return strings.TrimSpace(s)
}

var quoted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"[^"]*"|«[^»]*»|“[^”]*”|„[^“”]*[“”]`)
})

// foldRefusal folds case, Unicode form, apostrophes and white space, and takes out quotations
// and Markdown's marks of emphasis.
func foldRefusal(s string) string {
	s = quoted().ReplaceAllString(s, "…")
	s = cases.Lower(language.Und).String(norm.NFKC.String(s))
	s = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "`", "'", "*", "", "#", "", "_", "").Replace(s)
	return strings.Join(strings.Fields(s), " ")
}
