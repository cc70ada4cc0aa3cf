package answer

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultThreshold is the confidence below which Extractive refuses: where the evidence is just
// enoughEvidence.
const DefaultThreshold = 0.5

// Evidence that a question can be answered from its passages is the weight of its words that one
// passage explains, plus forShare times the share of the question's weight which that is, less
// forNames of the weight of the names that no passage explains. The share lets a short question be
// answered, such as one word that a passage holds; without it a long question would be answered
// for a few of its many words. The amount was chosen on the dev questions of the bundled collection
// homestore, so that one answerable question in twelve is refused there; the two factors also with
// an eye on texts of other kinds, see docs/answers.md. A word that is in the index nowhere or once
// weighs 4.
const (
	enoughEvidence = 8.4
	forShare       = 6
	forNames       = 1.0 / 3
	foundName      = 0.6 // what explains a name: not a word of similar meaning, which is another name
)

// confidence of the weight that a passage explains, of its share of the question's weight and of
// the weight of the names that nothing explains, in [0,1): half where the evidence is just enough.
func confidence(mass, covered, missing float64) float64 {
	evidence := max(0, mass+forShare*covered-forNames*missing)
	return evidence / (evidence + enoughEvidence)
}

// vocabulary is one text as it is compared with the question.
type vocabulary struct {
	stems map[string]bool
	words []string
}

func (e *Extractive) vocabulary(text string) vocabulary {
	v := vocabulary{stems: map[string]bool{}}
	for _, s := range e.o.Terms(text) {
		v.stems[s] = true
	}
	seen := map[string]bool{}
	for _, w := range words(text) {
		if !seen[w] && !stopWords[w] && utf8.RuneCountInString(w) > 1 {
			seen[w] = true
			v.words = append(v.words, w)
		}
	}
	return v
}

// matcher compares the question's words with texts and remembers pairs of words.
type matcher struct {
	e     *Extractive
	cache map[[2]string]float64
}

// match says in [0,1] how well a text explains one word of the question: 1 for its stem, less
// for a near spelling, less again for a word of similar meaning.
func (m *matcher) match(t term, v vocabulary) float64 {
	if v.stems[t.stem] {
		return 1
	}
	best := 0.0
	for _, w := range v.words {
		best = max(best, m.pair(t.word, w))
	}
	return best
}

func (m *matcher) pair(a, b string) float64 {
	key := [2]string{a, b}
	if s, ok := m.cache[key]; ok {
		return s
	}
	s := 0.0
	letters := !strings.ContainsFunc(a+b, unicode.IsDigit)
	n := min(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	if letters && n >= 4 {
		limit := 1
		if n >= 8 {
			limit = 2
		}
		if d := distance(a, b, limit); d <= limit {
			s = 0.9 - 0.15*float64(d-1)
			if n == 4 {
				s = 0.6
			}
		} else if n >= 5 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
			s = 0.7
		}
	}
	if letters && s == 0 && m.e.o.Similarity != nil {
		if v := m.e.o.Similarity(a, b); v > m.e.w.similarFrom {
			s = m.e.w.similar * (v - m.e.w.similarFrom) / (1 - m.e.w.similarFrom)
		}
	}
	m.cache[key] = s
	return s
}

// weights are the numbers of the scoring rule. The values of tuned were chosen on the dev
// questions of the bundled collection homestore, and are part of extractiveRevision.
type weights struct {
	similarFrom float64 // similarity below which two words have nothing to do with each other
	similar     float64 // most that a word of similar meaning counts, where the same word counts 1
	heading     float64 // a word found in the headings above a unit
	title       float64 // in the heading path or title of the passage
	neighbour   float64 // in the sentence before or after
	passage     float64 // elsewhere in the passage
	number      float64 // bonus of a unit with a number of the kind asked for
	passages    signals // of the choice of a passage
	scene       float64 // weight of a word outside the part of a question that is answered
	second      float64 // share of the best passage's probability that a second one needs to be used
	of2         int     // units taken of a second passage
	drop        float64 // a unit this much below the best of its passage is left out
	rows        float64 // a row this much below the best row of its table is left out
	after       float64 // bonus of the unit behind the best one
}

var tuned = weights{ // read only
	similarFrom: 0.4, similar: 0.9, heading: 0.8, title: 0.7, neighbour: 0.6, passage: 0.5, number: 0.12,
	passages: signals{
		signalUnit: 2.7, signalWhole: 2.3, signalExact: 1.8, signalTitle: 3.1, signalHit: 2.1, signalLexical: 2.3, signalFits: 1.6, signalOld: -2.2,
	},
	scene: 0.1, second: 0.35, of2: 3, drop: 0.2, rows: 0.1, after: 0.05,
}

// Signals by which a passage is chosen.
const (
	signalUnit    = iota // share of the question's weight that the best unit explains with its surroundings
	signalWhole          // that the whole passage explains
	signalExact          // that the passage explains by the very words
	signalTitle          // that heading path and title explain
	signalHit            // retrieval score, relative to the best one
	signalVector         // cosine
	signalLexical        // BM25, relative to the best one
	signalFirst          // 1 divided by the rank
	signalFits           // a good unit has a number of the kind asked for
	signalOwn            // share that the best unit explains alone
	signalOld            // the document was replaced, and the question does not look back
	signalPairs          // share of the neighbouring words of the question that stand in one unit
	signalCount
)

type signals [signalCount]float64

func (s signals) dot(w signals) (sum float64) {
	for i := range s {
		sum += s[i] * w[i]
	}
	return sum
}

// evidence is how one passage meets the words of a question.
type evidence struct {
	units []unit
	own   [][]float64 // by unit and term
	head  [][]float64 // headings inside the passage, by unit and term
	title []float64   // by term
	whole []float64   // best of all
	exact []bool
	fits  []float64 // by unit
	named []bool    // by unit: it holds an identifier of the question, such as E-04
}

func (e *Extractive) look(p *Passage, terms []term, m *matcher, want amount, names []string) evidence {
	v := evidence{units: cut(p.Text), title: make([]float64, len(terms)), whole: make([]float64, len(terms)), exact: make([]bool, len(terms))}
	row := func(of vocabulary) []float64 {
		out := make([]float64, len(terms))
		for i, t := range terms {
			out[i] = m.match(t, of)
			v.exact[i] = v.exact[i] || out[i] == 1
		}
		return out
	}
	v.title = row(e.vocabulary(path(p.Hit.Section, p.Hit.Title)))
	for i := range terms {
		v.whole[i] = e.w.title * v.title[i]
	}
	headings := map[string][]float64{}
	for _, u := range v.units {
		own := row(e.vocabulary(u.text))
		h, ok := headings[u.heading]
		if !ok {
			h = row(e.vocabulary(u.heading))
			headings[u.heading] = h
		}
		for i := range terms {
			v.whole[i] = max(v.whole[i], own[i], e.w.heading*h[i])
		}
		v.own, v.head, v.fits = append(v.own, own), append(v.head, h), append(v.fits, want.fits(u.text))
		v.named = append(v.named, len(names) > 0 && slices.ContainsFunc(identifiers(u.text), func(s string) bool { return slices.Contains(names, s) }))
	}
	return v
}

// explained is how well unit u explains term i, with what its surroundings lend it.
func (e *Extractive) explained(v *evidence, u, i int) float64 {
	c := max(v.own[u][i], e.w.heading*v.head[u][i], e.w.title*v.title[i], e.w.passage*v.whole[i])
	for _, n := range [2]int{u - 1, u + 1} {
		if n >= 0 && n < len(v.units) && v.units[n].block == v.units[u].block && !v.units[u].row {
			c = max(c, e.w.neighbour*v.own[n][i])
		}
	}
	return c
}

// rate scores the units of the passages for terms that weigh as given, and orders the passages.
func (e *Extractive) rate(r Request, ev []evidence, weigh []float64, back bool) scoring {
	var s scoring
	total := 0.0
	for _, w := range weigh {
		total += w
	}
	if total == 0 {
		return s
	}
	topHit, topLexical := 0.0, 0.0
	for p := range r.Passages {
		topHit = max(topHit, r.Passages[p].Hit.Score)
		if c := r.Passages[p].Hit.Lexical; c != nil {
			topLexical = max(topLexical, c.Score)
		}
	}
	s.signals = make([]signals, len(r.Passages))
	s.best = make([]float64, len(r.Passages))
	for p := range r.Passages {
		hit, v, sig := &r.Passages[p].Hit, &ev[p], &s.signals[p]
		from := len(s.units)
		for u := range v.units {
			sum, own, pairs := 0.0, 0.0, 0.0
			for i, w := range weigh {
				sum += w * e.explained(v, u, i)
				own += w * v.own[u][i]
				if i > 0 && v.own[u][i] >= 0.7 && v.own[u][i-1] >= 0.7 {
					pairs++
				}
			}
			score := sum / total
			sig[signalUnit] = max(sig[signalUnit], score)
			sig[signalOwn] = max(sig[signalOwn], own/total)
			if len(weigh) > 1 {
				sig[signalPairs] = max(sig[signalPairs], pairs/float64(len(weigh)-1))
			}
			s.units = append(s.units, scored{unit: v.units[u], passage: p, at: u, score: score + e.w.number*v.fits[u], named: v.named[u]})
		}
		for _, u := range s.units[from:] {
			if u.score-e.w.number*v.fits[u.at] >= sig[signalUnit]-0.15 {
				sig[signalFits] = max(sig[signalFits], v.fits[u.at])
			}
		}
		for i, w := range weigh {
			sig[signalWhole] += w * v.whole[i] / total
			sig[signalTitle] += w * v.title[i] / total
			if v.exact[i] {
				sig[signalExact] += w / total
			}
		}
		if topHit > 0 {
			sig[signalHit] = hit.Score / topHit
		}
		if hit.Vector != nil {
			sig[signalVector] = hit.Vector.Score
		}
		if hit.Lexical != nil && topLexical > 0 {
			sig[signalLexical] = hit.Lexical.Score / topLexical
		}
		sig[signalFirst] = 1 / float64(p+1)
		if hit.SupersededBy != "" && !back {
			sig[signalOld] = 1
		}
		s.best[p] = sig.dot(e.w.passages)
	}
	s.order = make([]int, len(r.Passages))
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.best[b], s.best[a]) })
	return s
}

// analysis is a question read against its passages.
type analysis struct {
	terms    []term
	evidence []evidence
	whole    scoring
	parts    []scoring
	covered  float64 // share of the question's weight that the passage which explains most explains
	mass     float64 // that weight
	missing  float64 // weight of the names that no passage explains
}

// analyse rates every unit of every passage, for the question as a whole and for each of its
// parts. Without words to look for or without passages the result holds no units.
func (e *Extractive) analyse(r Request) analysis {
	texts := make([]string, len(r.Passages))
	for i := range r.Passages {
		texts[i] = r.Passages[i].Text
	}
	a := analysis{terms: e.terms(r, texts)}
	total := 0.0
	weigh := make([]float64, len(a.terms))
	for i, t := range a.terms {
		weigh[i] = t.weight
		total += t.weight
	}
	if total == 0 || len(r.Passages) == 0 {
		return a
	}
	m := &matcher{e, map[[2]string]float64{}}
	want, back, names := asksFor(r.Question), looksBack(r.Question), identifiers(r.Question)
	for p := range r.Passages {
		a.evidence = append(a.evidence, e.look(&r.Passages[p], a.terms, m, want, names))
	}
	a.whole = e.rate(r, a.evidence, weigh, back)
	for _, sig := range a.whole.signals {
		a.covered = max(a.covered, sig[signalWhole])
	}
	a.mass = a.covered * total
	for i, t := range a.terms {
		best := 0.0
		for _, v := range a.evidence {
			best = max(best, v.whole[i])
		}
		if t.name && best < foundName {
			a.missing += t.weight * (1 - best)
		}
	}
	for _, part := range parts(r.Question) {
		w := make([]float64, len(a.terms))
		here := words(part)
		any := false
		for i, t := range a.terms {
			if w[i] = e.w.scene * t.weight; slices.Contains(here, t.word) {
				w[i], any = t.weight, true
			}
		}
		if any {
			a.parts = append(a.parts, e.rate(r, a.evidence, w, back))
		}
	}
	return a
}

// choose picks the units of the answer: the best ones of the best passage in the order of the
// text, then, if a second passage is about as good, some of that.
func (e *Extractive) choose(a analysis) []scored {
	s := a.whole
	out := e.pick(s, s.order[0], e.o.Sentences, e.o.Runes)
	add := func(s scoring, p, most, limit int) {
		for _, u := range e.pick(s, p, most, limit) {
			if !slices.ContainsFunc(out, func(o scored) bool { return o.passage == u.passage && o.at == u.at }) {
				out = append(out, u)
			}
		}
	}
	if len(a.parts) > 1 {
		out = nil
		for _, part := range a.parts {
			add(part, part.order[0], max(2, e.o.Sentences-1), e.o.Runes*2/3)
		}
		return out
	}
	if len(s.order) > 1 && math.Exp(s.best[s.order[1]]-s.best[s.order[0]]) >= e.w.second && e.w.of2 > 0 {
		add(s, s.order[1], e.w.of2, e.o.Runes/2)
	}
	return out
}

// pick returns the best units of one passage in the order of the text.
func (e *Extractive) pick(s scoring, passage, most, limit int) []scored {
	var of []scored
	for _, u := range s.units {
		if u.passage == passage {
			of = append(of, u)
		}
	}
	if len(of) == 0 {
		return nil
	}
	top := slices.MaxFunc(of, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	for i := range of {
		if of[i].at == top.at+1 && of[i].block == top.block && !top.row {
			of[i].score = min(of[i].score+e.w.after, top.score)
		}
	}
	ranked := slices.Clone(of)
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	taken := map[int]bool{}
	runes := 0
	for _, u := range ranked {
		if len(taken) == most || u.score < ranked[0].score-e.w.drop {
			break
		}
		if u.row && slices.ContainsFunc(of, func(o scored) bool {
			return o.row && o.block == u.block && (o.score > u.score+e.w.rows || o.named && !u.named)
		}) {
			continue
		}
		n := utf8.RuneCountInString(u.text)
		if len(taken) > 0 && runes+n > limit {
			continue
		}
		taken[u.at] = true
		runes += n
	}
	var out []scored
	for _, u := range of {
		if taken[u.at] {
			out = append(out, u)
		}
	}
	return out
}
