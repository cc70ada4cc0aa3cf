package embed

import (
	"cmp"
	"context"
	"math"
	"slices"
)

const (
	defaultDimensions = 128
	defaultOversample = 20
	defaultPower      = 2
	maxTerms          = 250_000
	maxTermBytes      = 255
)

// latent is a latent-semantic model: Deerwester et al. (JASIS 41, 1990) with sublinear TF-IDF
// weights. A text's vector is its weighted term vector times the right singular vectors of
// the corpus, so documents and queries, old and new, are treated alike (folded in).
type latent struct {
	dims    int
	terms   []string // ascending
	index   map[string]int32
	weight  []float32 // idf of each term
	scale   []float32 // of each term's row
	rows    []int8    // dims per term; component = scale × int8
	texts   int       // fitted on
	tokens  int64     // in those texts
	unknown int64     // of which in no term of the model
}

// logTF is the sublinear term weight 1 + ln(n), n ≥ 1. Rounding to float32 hides the last
// digits of the logarithm, in which processors differ.
func logTF(n int32) float32 { return float32(1 + math.Log(float64(n))) }

// inverseDF is the inverse document frequency x = ln((n+1)/(df+½)) to the power 5/4, always
// > 0. Words in most texts weigh next to nothing, so no list of stop words is needed; the
// power was measured (docs/embedders.md). Square roots round alike everywhere.
func inverseDF(n, df int) float32 {
	x := math.Log(float64(n+1) / (float64(df) + 0.5))
	return float32(x * math.Sqrt(math.Sqrt(x)))
}

type latentOptions struct {
	dims, oversample, power int
	minDF                   int
	scale                   float64 // power of the singular values that multiplies their dimension
	seed                    uint64
	workers                 int
	tokenize                func(string) []string
}

// fitLatent fits a model to texts. It returns nil, nil if no term is left to fit.
func fitLatent(ctx context.Context, texts []string, o latentOptions) (*latent, error) {
	counts, vocabulary, err := countTerms(ctx, texts, o.tokenize, o.workers)
	if err != nil {
		return nil, err
	}
	m := &latent{texts: len(texts)}
	df := make([]int, len(vocabulary))
	entries := 0 // at most
	for _, doc := range counts {
		entries += len(doc)
		for _, c := range doc {
			df[c.term]++
			m.tokens += int64(c.n)
		}
	}
	m.chooseTerms(vocabulary, df, o.minDF)
	if len(m.terms) == 0 {
		return nil, nil
	}
	position := make([]int32, len(vocabulary)) // -1: not in the model
	for i := range position {
		position[i] = -1
	}
	m.weight = make([]float32, len(m.terms))
	for old, term := range vocabulary {
		if i, ok := m.index[term]; ok {
			position[old] = i
			m.weight[i] = inverseDF(len(texts), df[old])
		}
	}
	a := &sparse{rows: len(counts), cols: len(m.terms), ptr: make([]int, 1, len(counts)+1),
		col: make([]uint32, 0, entries), val: make([]float32, 0, entries)}
	for i, doc := range counts {
		kept := doc[:0]
		for _, c := range doc {
			if c.term = position[c.term]; c.term >= 0 {
				kept = append(kept, c)
			} else {
				m.unknown += int64(c.n)
			}
		}
		slices.SortFunc(kept, func(x, y termCount) int { return cmp.Compare(x.term, y.term) })
		norm := 0.0
		for _, c := range kept {
			w := float64(logTF(c.n) * m.weight[c.term])
			norm += float64(w * w)
		}
		norm = math.Sqrt(norm)
		for _, c := range kept {
			w := float64(logTF(c.n) * m.weight[c.term])
			a.col = append(a.col, uint32(c.term))
			a.val = append(a.val, float32(w/norm))
		}
		a.ptr = append(a.ptr, len(a.col))
		counts[i] = nil
	}
	d, err := truncatedSVD(ctx, a, a.transpose(), o.dims, o.oversample, o.power, o.seed, o.workers)
	if err != nil {
		return nil, err
	}
	if len(d.s) == 0 { // unreachable: a kept term has an entry
		return nil, nil
	}
	m.dims = len(d.s)
	m.quantise(d, o.scale)
	return m, nil
}

// chooseTerms keeps the terms in at least minDF texts, at most maxTerms of them, those in the
// most texts first.
func (m *latent) chooseTerms(vocabulary []string, df []int, minDF int) {
	var keep []int32
	for i := range vocabulary {
		if df[i] >= minDF {
			keep = append(keep, int32(i))
		}
	}
	if len(keep) > maxTerms {
		slices.SortFunc(keep, func(i, j int32) int {
			return cmp.Or(cmp.Compare(df[j], df[i]), cmp.Compare(vocabulary[i], vocabulary[j]))
		})
		keep = keep[:maxTerms]
	}
	for _, i := range keep {
		m.terms = append(m.terms, vocabulary[i])
	}
	slices.Sort(m.terms)
	m.buildIndex()
}

func (m *latent) buildIndex() {
	m.index = make(map[string]int32, len(m.terms))
	for i, t := range m.terms {
		m.index[t] = int32(i)
	}
}

// quantise stores the term vectors, each dimension multiplied by its singular value to the
// power p, as int8 with one scale per term.
func (m *latent) quantise(d svd, p float64) {
	stretch := make([]float64, m.dims)
	for j, s := range d.s {
		stretch[j] = 1
		if p != 0 {
			stretch[j] = math.Pow(s/d.s[0], p)
		}
	}
	m.scale = make([]float32, len(m.terms))
	m.rows = make([]int8, len(m.terms)*m.dims)
	for i := range m.terms {
		row, big := d.v.row(i), 0.0
		for j := range row {
			row[j] *= stretch[j]
			big = max(big, math.Abs(row[j]))
		}
		if big == 0 {
			continue
		}
		m.scale[i] = float32(big / 127)
		for j, x := range row {
			m.rows[i*m.dims+j] = int8(math.Round(x / big * 127))
		}
	}
}

// vector returns the sum of the weighted term vectors of tokens and whether any term is known
// and not zero.
func (m *latent) vector(tokens []string) ([]float64, bool) {
	terms := make([]int32, 0, len(tokens))
	for _, t := range tokens {
		if i, ok := m.index[t]; ok {
			terms = append(terms, i)
		}
	}
	slices.Sort(terms)
	sum, known := make([]float64, m.dims), false
	for len(terms) > 0 {
		i, n := terms[0], int32(1)
		for int(n) < len(terms) && terms[n] == i {
			n++
		}
		terms = terms[n:]
		if m.scale[i] == 0 {
			continue
		}
		known = true
		w := float64(logTF(n) * m.weight[i] * m.scale[i])
		for j, c := range m.rows[int(i)*m.dims : int(i+1)*m.dims] {
			sum[j] += float64(w * float64(c))
		}
	}
	return sum, known
}

type termCount struct {
	term int32
	n    int32
}

// countTerms returns, for each text, its distinct terms with their counts, and the terms in
// order of first appearance.
func countTerms(ctx context.Context, texts []string, tokenize func(string) []string, workers int) ([][]termCount, []string, error) {
	counts := make([][]termCount, len(texts))
	var vocabulary []string
	index := map[string]int32{}
	const round = 4096 // texts whose tokens are held at a time
	for from := 0; from < len(texts); from += round {
		part := texts[from:min(from+round, len(texts))]
		tokens := make([][]string, len(part))
		err := parallel(ctx, len(part), 64, workers, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				tokens[i] = tokenize(part[i])
			}
		})
		if err != nil {
			return nil, nil, err
		}
		for i, ts := range tokens {
			n := make(map[int32]int32, len(ts))
			var order []int32
			for _, t := range ts {
				if t == "" || len(t) > maxTermBytes {
					continue
				}
				id, ok := index[t]
				if !ok {
					id = int32(len(vocabulary))
					t = string([]byte(t)) // do not keep the whole text alive
					index[t] = id
					vocabulary = append(vocabulary, t)
				}
				if n[id]++; n[id] == 1 {
					order = append(order, id)
				}
			}
			doc := make([]termCount, len(order))
			for j, id := range order {
				doc[j] = termCount{id, n[id]}
			}
			counts[from+i] = doc
		}
	}
	return counts, vocabulary, nil
}
