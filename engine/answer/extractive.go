package answer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
)

// ExtractiveOptions configure an Extractive. The zero value is valid.
type ExtractiveOptions struct {
	// Terms cuts a text into the terms that are compared, in the way the index does: stems
	// without stop words. nil means lower-case words with English endings cut.
	Terms func(text string) []string
	// IDF weighs a term: rare ones are what a question is about. nil weighs by the passages at
	// hand. It must not be negative; +Inf and NaN count as Unseen.
	IDF func(term string) float64
	// Unseen is the weight of a term that IDF says nothing of; 0 means 4.
	Unseen float64
	// Similarity says in [0,1] how close two words (not stems) are in meaning; nil compares
	// spelling alone. WordSimilarity is one.
	Similarity func(a, b string) float64
	// Sentences is the most units (sentences, list items, table rows) of an answer; 0 means 4.
	Sentences int
	// Runes is the length at which no further unit is added; 0 means 600.
	Runes int
	// Threshold is the confidence below which the answer is a refusal; nil means the tuned
	// default, DefaultThreshold.
	Threshold *float64
	// Refusal is the text of a refusal; "" means an English sentence.
	Refusal string
}

// Extractive answers with sentences of the context, each cited. It uses no model and returns
// the same answer for the same request, options and version of this package.
type Extractive struct {
	o ExtractiveOptions
	w weights
}

// NewExtractive returns an extractive answerer.
func NewExtractive(o ExtractiveOptions) *Extractive {
	if o.Terms == nil {
		o.Terms = plainTerms
	}
	o.Unseen = cmp.Or(o.Unseen, 4)
	o.Sentences = cmp.Or(o.Sentences, 4)
	o.Runes = cmp.Or(o.Runes, 600)
	if o.Threshold == nil {
		o.Threshold = new(DefaultThreshold)
	}
	o.Refusal = cmp.Or(o.Refusal, "The documents hold no answer to this question.")
	return &Extractive{o, tuned}
}

// extractiveRevision is raised with every change of the rules that can change an answer.
const extractiveRevision = "extractive/3"

// Fingerprint implements Answerer.
func (e *Extractive) Fingerprint() Fingerprint {
	return Fingerprint{Kind: "extractive", Model: extractiveRevision, Settings: e.settings()}
}

func (e *Extractive) settings() map[string]string {
	return map[string]string{
		"sentences":  strconv.Itoa(e.o.Sentences),
		"runes":      strconv.Itoa(e.o.Runes),
		"threshold":  strconv.FormatFloat(*e.o.Threshold, 'g', -1, 64),
		"similarity": strconv.FormatBool(e.o.Similarity != nil),
		"idf":        strconv.FormatBool(e.o.IDF != nil),
	}
}

// Answer implements Answerer. Without passages, or when no passage explains enough of the
// question, the answer is a refusal.
func (e *Extractive) Answer(ctx context.Context, r Request) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	a := Answer{Model: extractiveRevision, RefusedField: true, Settings: e.settings(), Citations: []int{}}
	s := e.analyse(r)
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	a.Confidence = confidence(s.mass, s.covered, s.missing)
	if len(s.whole.units) == 0 || a.Confidence < *e.o.Threshold {
		a.Refused, a.Text = true, e.o.Refusal
	} else {
		a.Text, a.Citations = e.write(r, e.choose(s))
	}
	a.Raw = a.Text
	if r.Stream != nil {
		for unit := range strings.Lines(a.Text) {
			r.Stream(unit)
		}
	}
	return a, nil
}

// write renders units as an answer, one a line, each with the marker of its passage, and
// returns the markers.
func (e *Extractive) write(r Request, units []scored) (string, []int) {
	var b strings.Builder
	cited := []int{}
	for _, p := range units {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		marker := r.Passages[p.passage].Marker
		fmt.Fprintf(&b, "%s [%d]", strings.TrimSpace(evalanswer.StripCitations(p.text)), marker)
		cited = append(cited, marker)
	}
	return b.String(), cited
}

// plainTerms is the analyzer used when none is given: words of two letters and more in lower
// case, plural and possessive endings cut.
func plainTerms(text string) []string {
	var out []string
	for _, w := range words(text) {
		if len(w) > 1 && !stopWords[w] {
			out = append(out, plainStem(w))
		}
	}
	return out
}

func plainStem(w string) string {
	w = strings.TrimSuffix(w, "'s")
	for _, end := range []string{"ing", "ies", "es", "ed", "s"} {
		if len(w) > len(end)+3 && strings.HasSuffix(w, end) {
			return strings.TrimSuffix(w, end)
		}
	}
	return w
}

// words returns the words of a text in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\''
	})
}

var stopWords = func() map[string]bool { // read only
	out := map[string]bool{}
	for w := range strings.FieldsSeq(`a an the and or but if then than that this these those there here it its it's
i i'm i've i'd i'll me my mine we us our ours you your yours he she they them their his her who whom whose which what when where why how
is are was were be been being am do does did done doing have has had having will would shall should can could may might must
of in on at by for from to into onto with without about as up out off over under again so too very just only also not no nor
yes please any some all each every both more most much many few other another such own same get got let there's what's
now still yet ever already please thanks hello don't doesn't didn't isn't aren't can't won't wat wen whats im ive`) {
		out[w] = true
	}
	return out
}()

// distance is the Damerau-Levenshtein distance (with transposition of neighbours) of two
// words, limit+1 if it is larger than limit.
func distance(a, b string, limit int) int {
	ra, rb := []rune(a), []rune(b)
	if len(ra)-len(rb) > limit || len(rb)-len(ra) > limit {
		return limit + 1
	}
	before, row, next := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		next[0] = i
		best := i
		for j := 1; j <= len(rb); j++ {
			c := 1
			if ra[i-1] == rb[j-1] {
				c = 0
			}
			d := min(row[j-1]+c, row[j]+1, next[j-1]+1)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				d = min(d, before[j-2]+1)
			}
			next[j] = d
			best = min(best, d)
		}
		if best > limit {
			return limit + 1
		}
		before, row, next = row, next, before
	}
	return row[len(rb)]
}

// term is an informative word of the question.
type term struct {
	word, stem string
	weight     float64
	name       bool // of a name: a passage about something else of the same kind has all words but this
}

// scored is a unit with how well it explains the question.
type scored struct {
	unit
	passage int // index of the passage
	at      int // index of the unit in its passage
	score   float64
	named   bool // holds an identifier of the question
}

// scoring rates units and passages for one set of weights of the question's words.
type scoring struct {
	units   []scored
	signals []signals
	best    []float64 // of each passage
	order   []int     // passages, best first
}

// terms returns the informative words of the question, each once.
func (e *Extractive) terms(r Request, texts []string) []term {
	idf := e.o.IDF
	if idf == nil {
		idf = e.localIDF(texts)
	}
	var out []term
	named := names(r.Question)
	for _, w := range words(r.Question) {
		if stopWords[w] || len([]rune(w)) < 2 {
			continue
		}
		for _, stem := range e.o.Terms(w) {
			if slices.ContainsFunc(out, func(t term) bool { return t.stem == stem }) {
				continue
			}
			v := idf(stem)
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				v = e.o.Unseen
			}
			out = append(out, term{w, stem, min(v, e.o.Unseen), slices.Contains(named, w)})
		}
	}
	return out
}

// localIDF weighs terms by the passages at hand, as if a hundred other units held none of them:
// a few passages alone cannot tell which words are rare.
func (e *Extractive) localIDF(texts []string) func(string) float64 {
	df := map[string]int{}
	n := 100
	for _, t := range texts {
		for _, u := range cut(t) {
			n++
			seen := map[string]bool{}
			for _, s := range e.o.Terms(u.text) {
				if !seen[s] {
					seen[s] = true
					df[s]++
				}
			}
		}
	}
	return func(s string) float64 {
		return math.Log(1 + (float64(n)-float64(df[s])+0.5)/(float64(df[s])+0.5))
	}
}
