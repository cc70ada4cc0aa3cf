package answer

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/seed792a4543/assay/evalkit/golden"
)

// FactStatus is the outcome of looking for a fact.
type FactStatus string

// The outcomes. Only FactFound counts as present.
const (
	FactFound   FactStatus = "found"
	FactNegated FactStatus = "negated" // the words stand there behind a negation: counted as missing
	FactMissing FactStatus = "missing"
)

// FactResult is what became of one fact in one answer.
type FactResult struct {
	Status   FactStatus `json:"status"`
	Phrasing string     `json:"phrasing,omitempty"` // the phrasing that was found or negated
	// Review is true for all that is not plainly found: misses, negations, a number without
	// the unit that was asked for.
	Review bool   `json:"review,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Found reports whether the fact is present.
func (r FactResult) Found() bool { return r.Status == FactFound }

// Limits of regular expressions. RE2 runs in time linear in the text, so a bound on both
// lengths bounds the time.
const (
	maxRegex       = 1 << 10
	maxRegexAnswer = 64 << 10
)

// MatchFact looks for a fact in an answer in any of its phrasings. Case, Unicode form and
// punctuation are folded; numbers and their units are compared as the number rule does, whole
// and in all readings, so "7 days" is not in "17 days" and "5,000,000" is in "5 million". Words
// must stand in order without gap. A phrasing that is only "yes" or "no" must be the whole
// answer or its first clause. Words behind a negation in their clause are negated, unless the
// phrasing has one itself.
func MatchFact(fact golden.Fact, answer string, lang ...string) FactResult {
	text, _ := StripThinking(answer)
	text = StripCitations(text)
	toks := tokenise(text, lang)
	best := FactResult{Status: FactMissing, Review: true}
	for _, p := range fact.Any {
		r := matchPhrasing(p, text, toks, lang)
		switch {
		case r.Status == FactFound && !r.Review:
			return r
		case r.Status == FactFound && best.Status != FactFound,
			r.Status == FactNegated && best.Status == FactMissing:
			best = r
		}
	}
	return best
}

// MatchFacts returns one result for each fact.
func MatchFacts(facts []golden.Fact, answer string, lang ...string) []FactResult {
	out := make([]FactResult, len(facts))
	for i, f := range facts {
		out[i] = MatchFact(f, answer, lang...)
	}
	return out
}

func matchPhrasing(p golden.Phrasing, text string, toks []token, lang []string) FactResult {
	missing := FactResult{Status: FactMissing, Review: true}
	found := FactResult{Status: FactFound, Phrasing: p.String()}
	switch {
	case p.Regex != "":
		if len(p.Regex) > maxRegex {
			missing.Note = "regular expression too long"
			return missing
		}
		re, err := regexp.Compile(p.Regex)
		if err != nil {
			missing.Note = err.Error()
			return missing
		}
		if re.MatchString(norm.NFC.String(text[:min(len(text), maxRegexAnswer)])) {
			return found
		}
		return missing
	case p.Date != "":
		for _, want := range Numbers(p.Date, lang...) {
			for i := range toks {
				if n := toks[i].number; n != nil && n.Kind == Date && slices.Contains(n.Readings, want.Readings[0]) {
					return found
				}
			}
		}
		return missing
	case p.Number != "":
		unit := ""
		spelled := p.Number
		if p.Unit != "" {
			spelled += " " + p.Unit
			unit = units[strings.ToLower(p.Unit)]
		}
		want := Numbers(spelled, lang...)
		if len(want) == 0 {
			missing.Note = "the phrasing holds no number"
			return missing
		}
		best := missing
		for i := range toks {
			n := toks[i].number
			if n == nil {
				continue
			}
			ok, likely, _ := meet(*n, want[0])
			if !ok {
				continue
			}
			switch {
			case p.Unit == "" || unit != "" && n.Unit == unit || unit == "" && n.Noun == strings.ToLower(p.Unit):
				if likely {
					return found
				}
				best = FactResult{Status: FactFound, Phrasing: p.String(), Review: true, Note: "ambiguous number"}
			case n.Unit == "" && (unit == "" || n.Noun == "" || currency(unit)):
				best = FactResult{Status: FactFound, Phrasing: p.String(), Review: true, Note: "without its unit"}
			}
		}
		return best
	}
	want := tokenise(p.Text, lang)
	if len(want) == 0 {
		return missing
	}
	if len(want) == 1 && polar[want[0].word] {
		if opens(toks, want[0].word) {
			return found
		}
		return missing
	}
	hasNegation := slices.ContainsFunc(want, func(t token) bool { return negations[t.word] })
	best := missing
	for i := 0; i+len(want) <= len(toks); i++ {
		if !sequence(toks[i:i+len(want)], want) {
			continue
		}
		if hasNegation || !negated(toks, i, want[0].number != nil) {
			return found
		}
		best = FactResult{Status: FactNegated, Phrasing: p.String(), Review: true}
	}
	return best
}

// token is a word, a number, or the end of a clause.
type token struct {
	word   string // folded; "" for numbers and ends of clauses
	number *Number
	end    bool // , ; : . ! ? or a line end
}

// tokenise cuts a text into tokens. Unit words stand under one name, so that "7 days" equals
// "7 ngày" and "2 %" equals "2 percent"; "to" between two numbers equals a dash.
func tokenise(text string, lang []string) []token {
	nums := Numbers(text, lang...)
	var out []token
	next := 0
	fold := cases.Fold()
	for i := 0; i <= len(text); {
		if next < len(nums) && i >= nums[next].Start {
			n := &nums[next]
			if n.Kind == Identifier {
				out = append(out, token{word: n.Readings[0]})
			} else {
				if n.Range && next > 0 && nums[next-1].Range && joinsRange(text[nums[next-1].End:n.Start]) {
					out = dropRange(out)
				}
				out = append(out, token{number: n})
			}
			i, next = n.End, next+1
			continue
		}
		if i == len(text) {
			break
		}
		limit := len(text)
		if next < len(nums) {
			limit = nums[next].Start
		}
		j := i
		for j < limit {
			r, n := decode(text, j)
			if !isWord(r) && !(digit(r) >= 0) && !(apostrophe(r) && j > i && j+n < limit && startsWord(text, j+n)) {
				break
			}
			j += n
		}
		if j > i {
			w := fold.String(norm.NFKC.String(text[i:j]))
			w = strings.Map(func(r rune) rune {
				if apostrophe(r) {
					return '\''
				}
				return r
			}, w)
			if u := units[w]; u != "" && len(w) > 1 {
				w = u
			}
			out = append(out, token{word: w})
			i = j
			continue
		}
		r, n := decode(text, i)
		switch {
		case strings.ContainsRune(",;:.!?\n。，；：！？", r):
			// Not the full stop of an abbreviation inside a word, nor a hyphen.
			out = append(out, token{end: true})
		case units[string(r)] != "":
			out = append(out, token{word: units[string(r)]})
		case strings.ContainsRune("×&+=/", r):
			out = append(out, token{word: string(r)})
		case (r == '—' || r == '–') && i > 0 && text[i-1] == ' ':
			out = append(out, token{end: true})
		}
		i += n
	}
	return out
}

// dropRange removes the connector between the ends of a range.
func dropRange(toks []token) []token {
	for len(toks) > 0 && toks[len(toks)-1].number == nil {
		toks = toks[:len(toks)-1]
	}
	return toks
}

func decode(s string, i int) (rune, int) {
	if i >= len(s) {
		return 0, 1
	}
	return utf8.DecodeRuneInString(s[i:])
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' || r == 'ʼ' }

func startsWord(s string, i int) bool {
	r, _ := decode(s, i)
	return isWord(r)
}

// sequence reports whether got holds the wanted tokens; ends of clauses are compared as such.
func sequence(got, want []token) bool {
	for i := range want {
		g, w := got[i], want[i]
		switch {
		case (g.number != nil) != (w.number != nil) || g.end != w.end || g.word != w.word:
			return false
		case g.number != nil:
			if ok, _, _ := meet(*g.number, *w.number); !ok || !compatible(*g.number, *w.number) && w.number.Unit != "" {
				return false
			}
		}
	}
	return true
}

var negations = wordSet("not no never cannot without neither nor don't doesn't isn't aren't won't can't wasn't weren't didn't " +
	"hasn't haven't shouldn't couldn't wouldn't mustn't non " + // read only
	"nicht kein keine keinen keiner ohne nie niemals không chưa chẳng chả đừng")

// negated reports whether a negation stands before position i in its clause: within three
// words, or directly before a number ("not 7 days"; "no later than 7 days" is none).
func negated(toks []token, i int, number bool) bool {
	window := 3
	if number {
		window = 1
	}
	for k := i - 1; k >= 0 && i-k <= window && !toks[k].end; k-- {
		if negations[toks[k].word] {
			return true
		}
	}
	return false
}

var polar = wordSet("yes no ja nein có không đúng true false nope yep") // read only

// opens reports whether the word is the whole answer or its first clause.
func opens(toks []token, word string) bool {
	return len(toks) > 0 && toks[0].word == word && (len(toks) == 1 || toks[1].end)
}
