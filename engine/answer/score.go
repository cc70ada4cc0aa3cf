package answer

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	evalanswer "github.com/seed792a4543/assay/evalkit/answer"
)

// DefaultThreshold is the confidence below which Extractive refuses. It was chosen on the dev
// questions of the bundled collection homestore: there it refuses about two of three
// unanswerable questions and one in nine of the answerable ones, half of these questions whose
// right section was not retrieved. Other collections need their own: draw the answers' table
// and the threshold study first.
const DefaultThreshold = 0.37

// features are what the confidence is computed from.
type features struct {
	missing float64 // share of the question's weight that no passage explains
	vector  float64 // best cosine of a passage, 0 without a vector retriever
	lexical float64 // best BM25 of a passage over the question's weight, 0 without
	mass    float64 // weight of the question's words that the best unit with its headings explains
	matched float64 // number of the question's words that the best passage holds
}

// confidence is a logistic function of the features, in [0,1]; 0.5 is no probability of one
// half, because it was fitted with both classes weighing the same. The amount of evidence (mass,
// matched) counts beside the share that is explained: one common word that occurs proves less
// than five rare ones, so that very short questions are refused more easily. Fitted by logistic
// regression with a penalty on the dev questions of homestore (area under the curve 0.91, 0.90
// in five-fold cross-validation).
func (f features) confidence() float64 {
	z := -3.00 - 1.87*f.missing + 1.87*f.vector - 1.23*f.lexical + 0.30*f.mass + 0.55*f.matched
	return 1 / (1 + math.Exp(-z))
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
	number      float64 // bonus of a unit with a number, where the question asks for one
	whole       float64 // weight of the passage's own coverage in the choice of a passage
	rank        float64 // bonus of rank 1, divided by the rank
	relative    float64 // bonus for the retrieval score relative to the best one
	superseded  float64 // taken off a passage of a replaced document, unless the question looks back
	second      float64 // a second passage is used if its score is at most this much below the best
	of2         int     // units taken of a second passage
}

var tuned = weights{ // read only
	similarFrom: 0.4, similar: 0.9, heading: 0.8, title: 0.7, neighbour: 0.6, passage: 0.5, number: 0.12,
	whole: 0.5, rank: 0.15, relative: 0, superseded: 0.3, second: 0.1, of2: 2,
}

// score rates every unit of every passage.
func (e *Extractive) score(r Request) scoring {
	texts := make([]string, len(r.Passages))
	for i := range r.Passages {
		texts[i] = r.Passages[i].Text
	}
	terms := e.terms(r, texts)
	m := &matcher{e, map[[2]string]float64{}}
	total := 0.0
	for _, t := range terms {
		total += t.weight
	}
	var s scoring
	if total == 0 || len(r.Passages) == 0 {
		return s
	}
	wantsNumber, back := asksNumber(r.Question), looksBack(r.Question)
	sentence := 0.0
	anywhere := make([]float64, len(terms))
	s.best = make([]float64, len(r.Passages))
	for p := range r.Passages {
		ps := &r.Passages[p]
		title := e.vocabulary(path(ps.Hit.Section, ps.Hit.Title))
		units := cut(ps.Text)
		vocab := make([]vocabulary, len(units))
		matches := make([][]float64, len(units))
		whole := make([]float64, len(terms))
		titles := make([]float64, len(terms))
		for i, t := range terms {
			titles[i] = m.match(t, title)
			whole[i] = titles[i] * e.w.title
		}
		for u := range units {
			vocab[u] = e.vocabulary(units[u].text)
			matches[u] = make([]float64, len(terms))
			for i, t := range terms {
				matches[u][i] = m.match(t, vocab[u])
				whole[i] = max(whole[i], matches[u][i])
			}
		}
		covered := 0.0
		for i, t := range terms {
			covered += t.weight * whole[i]
			anywhere[i] = max(anywhere[i], whole[i])
		}
		passage := covered / total
		n := 0.0
		for i := range terms {
			if whole[i] >= 0.6 {
				n++
			}
		}
		s.features.matched = max(s.features.matched, n)
		headings := map[string][]float64{}
		bestUnit := 0.0
		for u := range units {
			h, ok := headings[units[u].heading]
			if !ok {
				h = make([]float64, len(terms))
				v := e.vocabulary(units[u].heading)
				for i, t := range terms {
					h[i] = m.match(t, v)
				}
				headings[units[u].heading] = h
			}
			sum := 0.0
			for i, t := range terms {
				c := max(matches[u][i], e.w.heading*h[i], e.w.title*titles[i])
				if u > 0 && units[u-1].block == units[u].block && !units[u].row {
					c = max(c, e.w.neighbour*matches[u-1][i])
				}
				if u+1 < len(units) && units[u+1].block == units[u].block && !units[u].row {
					c = max(c, e.w.neighbour*matches[u+1][i])
				}
				c = max(c, e.w.passage*whole[i])
				sum += t.weight * c
			}
			score := sum / total
			sentence = max(sentence, score)
			if wantsNumber && len(evalanswer.Numbers(units[u].text)) > 0 {
				score += e.w.number
			}
			bestUnit = max(bestUnit, score)
			s.units = append(s.units, scored{unit: units[u], passage: p, at: u, score: score})
		}
		s.best[p] = bestUnit + e.w.whole*passage + e.w.rank/float64(p+1)
		if top := r.Passages[0].Hit.Score; top > 0 {
			s.best[p] += e.w.relative * ps.Hit.Score / top
		}
		if ps.Hit.SupersededBy != "" && !back {
			s.best[p] -= e.w.superseded
		}
		if c := ps.Hit.Vector; c != nil {
			s.features.vector = max(s.features.vector, c.Score)
		}
		if c := ps.Hit.Lexical; c != nil {
			s.features.lexical = max(s.features.lexical, c.Score/total)
		}
	}
	s.features.mass = sentence * total
	for i, t := range terms {
		s.features.missing += t.weight * (1 - anywhere[i]) / total
	}
	s.order = make([]int, len(r.Passages))
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.best[b], s.best[a]) })
	s.confidence = s.features.confidence()
	return s
}

// asksNumber reports whether a question asks for an amount, a time or a date.
func asksNumber(q string) bool {
	q = " " + strings.Join(words(q), " ") + " "
	for _, w := range []string{" how much ", " how many ", " how long ", " how soon ", " how fast ", " how quick", " how often ", " when ", " how far ", " what time ",
		" price ", " cost", " fee ", " fees ", " pay ", " charge ", " percent", " share ", " how big ", " how hot ", " how late ", " how old ", " until ", " how mutch ",
		" bao nhiêu ", " bao lâu ", " khi nào ", " mấy ", " wie viel ", " wie lange ", " wann ", " wie oft ", " wie teuer "} {
		if strings.Contains(q, w) {
			return true
		}
	}
	return false
}

// looksBack reports whether a question is about an earlier time, in which a document that was
// replaced since may be the right one: it names a year or says so.
func looksBack(q string) bool {
	for _, w := range words(q) {
		switch w {
		case "old", "older", "former", "formerly", "previous", "previously", "earlier", "alt", "alten", "früher", "cũ", "trước":
			return true
		}
		if len(w) == 4 && (strings.HasPrefix(w, "19") || strings.HasPrefix(w, "20")) && strings.Trim(w, "0123456789") == "" {
			return true
		}
	}
	return false
}

// choose picks the units of the answer: the best ones of the best passage in the order of the
// text, then, if a second passage is about as good, some of that.
func (e *Extractive) choose(s scoring) []scored {
	out := e.pick(s, s.order[0], e.o.Sentences, e.o.Runes)
	if len(s.order) > 1 && s.best[s.order[0]]-s.best[s.order[1]] <= e.w.second && e.w.of2 > 0 {
		out = append(out, e.pick(s, s.order[1], e.w.of2, e.o.Runes/2)...)
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
	ranked := slices.Clone(of)
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	taken := map[int]bool{}
	runes := 0
	for _, u := range ranked {
		if len(taken) == most {
			break
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
