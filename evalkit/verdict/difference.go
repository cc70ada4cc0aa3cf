package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/stats"
)

// difference compares the candidate with another build on the policy's primary measure. Questions
// are joined by id; both evaluations must hold the same questions, which incomparable has checked.
func difference(p *Policy, against string, cand, base *evalkit.Evaluation) *Difference {
	d := &Difference{
		Against: against, Build: base.Build,
		Gained: []string{}, Lost: []string{}, CriticalLost: []string{},
		Identical: identical(cand, base),
	}
	isBinary := binary(p.Primary)
	other := byQuestion(base)
	var diffs []float64
	var sum, baseSum float64
	worse := 0
	for i := range cand.Questions {
		q := &cand.Questions[i]
		b := other[q.ID]
		if b == nil {
			continue
		}
		now, was := q.Measures[p.Primary], b.Measures[p.Primary]
		if !now.OK || !was.OK {
			continue
		}
		sum, baseSum = sum+now.V, baseSum+was.V
		change := now.V - was.V
		if math.Abs(change) <= 1e-12 { // equal values by other routes
			change = 0
		}
		diffs = append(diffs, change)
		lost := false
		switch {
		case isBinary && change > 0:
			d.Gained = append(d.Gained, q.ID)
		case isBinary && change < 0:
			d.Lost = append(d.Lost, q.ID)
			lost = true
		case change > 0:
			d.Improved = append(d.Improved, q.ID)
		case change < 0:
			d.Worsened = append(d.Worsened, q.ID)
			worse++
			lost = -change > p.Tolerance+1e-12
		}
		if lost && (q.Critical || b.Critical) {
			d.CriticalLost = append(d.CriticalLost, q.ID)
		}
	}
	d.N = len(diffs)
	if d.N == 0 {
		return d
	}
	n := float64(d.N)
	d.Mean, d.BaseMean = evalkit.Num(sum/n), evalkit.Num(baseSum/n)
	if isBinary {
		d.flips(p)
	} else {
		d.graded(p, diffs, worse)
	}
	return d
}

// flips fills in the statistics of a measure that is 0 or 1 on every question.
func (d *Difference) flips(p *Policy) {
	g, l := len(d.Gained), len(d.Lost)
	iv, _ := stats.Tango(d.N, g, l, stats.DefaultConf)
	d.Delta = evalkit.Num(float64(g-l) / float64(d.N))
	d.Lower, d.Upper = evalkit.Num(iv.Lo), evalkit.Num(iv.Hi)
	d.Method, d.Test = "tango", "mcnemar, exact"
	d.PReject = evalkit.Num(stats.McNemar(g, l))
	d.Excluded = iv.Lo > -p.MarginFor(d.N)
	d.LossShown = p.reachesEffect(d.N, g, l) && d.PReject.V <= p.Alpha
}

// graded fills in the statistics of any other measure.
func (d *Difference) graded(p *Policy, diffs []float64, worse int) {
	b, _ := stats.BCa(diffs, 0, p.Seed, stats.DefaultConf)
	r, _ := stats.SignFlip(diffs, stats.Less, 0, p.Seed)
	// Not Mean − BaseMean: the mean of the differences does not carry the rounding of two sums.
	d.Delta = evalkit.Num(b.Mean)
	d.Lower, d.Upper = evalkit.Num(b.Lo), evalkit.Num(b.Hi)
	d.Method, d.Test = fmt.Sprintf("bca, %d resamples, seed %d", b.Resamples, b.Seed), "sign-flip, exact"
	if !r.Exact {
		d.Test = fmt.Sprintf("sign-flip, %d draws, seed %d", r.Draws, r.Seed)
	}
	d.PReject = evalkit.Num(r.P)
	d.Descriptive = b.Descriptive || b.Uninformative
	// A question cannot lose more than 1, so the mean loss is at most the rate of questions that
	// get worse; Tango without gains is that rate's one-sided bound.
	iv, _ := stats.Tango(d.N, 0, worse, stats.DefaultConf)
	d.WorstCase = evalkit.Num(iv.Lo)
	margin := p.MarginFor(d.N)
	d.Excluded = iv.Lo > -margin || (!d.Descriptive && b.Lo > -margin)
	d.LossShown = d.Delta.V <= -p.MinEffectFor(d.N)+1e-9 && r.P <= p.Alpha
}

// provable returns the smallest margin that this comparison proves.
func (d *Difference) provable() evalkit.Value {
	if d.N == 0 {
		return evalkit.Value{}
	}
	lower := d.Lower.V
	if d.WorstCase.OK && (d.Descriptive || d.WorstCase.V > lower) {
		lower = d.WorstCase.V
	}
	return evalkit.Num(math.Max(0, math.Ceil(-lower*1e4)/1e4))
}

// needed returns about how many questions would decide with a chance of 80 %, and under which
// assumption: that nothing changed on the whole; or, where the flips at hand contradict that, that
// they go on as here. 0 means that no number of questions would.
func (d *Difference) needed(p *Policy) (n int, why string) {
	margin := p.MarginFor(d.N)
	if d.N == 0 || margin <= 0 {
		return 0, "a margin of 0 asks for a proven gain"
	}
	const power = 0.80
	up, down := len(d.Gained)+len(d.Improved), len(d.Lost)+len(d.Worsened)
	// Without a flip so far the next question could still be one.
	rate := math.Min(0.99, math.Max(float64(up+down), 1)/float64(d.N))
	if !(d.Upper.V < 0) {
		if n, ok := stats.NeededQuestions(margin, rate, power, stats.DefaultConf); ok && n > d.N {
			return n, "are needed for the margin if nothing changed"
		}
	}
	gain, loss := float64(up)/float64(d.N), float64(down)/float64(d.N)
	if gain+loss >= 1 {
		return 0, ""
	}
	if n, ok := stats.NeededToAccept(margin, gain, loss, power, stats.DefaultConf); ok && n > d.N {
		return n, "are needed to accept if flips go on as here"
	}
	if n, ok := stats.NeededToReject(p.MinEffectFor(d.N), p.Alpha, gain, loss, power); ok && n > d.N {
		return n, "are needed to reject if flips go on as here"
	}
	return 0, ""
}

// identical reports whether both builds returned the same chunks and sections in the same order
// and got the same values for every question, and returned something for at least one. Chunk ids
// alone do not tell: a document can change under the same spans.
func identical(a, b *evalkit.Evaluation) bool {
	if len(a.Questions) != len(b.Questions) {
		return false
	}
	other := byQuestion(b)
	hits := 0
	for i := range a.Questions {
		q := other[a.Questions[i].ID]
		if q == nil || !slices.Equal(a.Questions[i].Hits, q.Hits) || !slices.Equal(a.Questions[i].Sections, q.Sections) ||
			differ(a.Questions[i].Measures, q.Measures) {
			return false
		}
		hits += len(q.Hits)
	}
	return hits > 0
}

// differ reports whether a measure that both have has two values.
func differ(a, b map[string]evalkit.Value) bool {
	for name, v := range a {
		if w, ok := b[name]; ok && w != v {
			return true
		}
	}
	return false
}

// incomparable returns why b cannot be compared with a, one sentence per cause; names stand for
// the builds in the sentences.
func incomparable(aName string, a *evalkit.Evaluation, bName string, b *evalkit.Evaluation, corpusCause string) (causes []string) {
	add := func(format string, args ...any) { causes = append(causes, fmt.Sprintf(format, args...)) }
	differs := func(what, x, y, next string) {
		if x != y {
			add("%s was scored with %s %s, %s with %s: %s", aName, what, orNone(x), bName, orNone(y), next)
		}
	}
	if a.Golden.Digest != b.Golden.Digest {
		add("the golden set differs: %s was scored against %s version %d (%s), %s against %s version %d (%s): evaluate both with one set",
			aName, a.Golden.Name, a.Golden.Version, short(a.Golden.Digest), bName, b.Golden.Name, b.Golden.Version, short(b.Golden.Digest))
	}
	differs("relevance rule", a.Rule, b.Rule, "evaluate both with one rule")
	differs("view", a.View, b.View, "evaluate both with one view")
	differs("split", a.Split, b.Split, "evaluate both on one side of the set")
	if !slices.Equal(a.Cutoffs, b.Cutoffs) {
		add("%s was scored with cutoffs %v, %s with %v: evaluate both with one list", aName, a.Cutoffs, bName, b.Cutoffs)
	}
	if a.Corpus != b.Corpus && a.Corpus != "" && b.Corpus != "" && corpusCause == "" {
		add("the corpus changed (%s has %s, %s has %s) and no cause was declared: say that the documents are what is under test, or replay both builds on a frozen corpus",
			aName, short(a.Corpus), bName, short(b.Corpus))
	}
	inA, inB := byQuestion(a), byQuestion(b)
	missing := func(name string, in map[string]*evalkit.QuestionResult, of *evalkit.Evaluation) {
		var ids []string
		for i := range of.Questions {
			if in[of.Questions[i].ID] == nil {
				ids = append(ids, of.Questions[i].ID)
			}
		}
		if len(ids) > 0 {
			add("%s lacks %d questions that the other has (%s): evaluate both on the same questions", name, len(ids), list(ids))
		}
	}
	missing(aName, inA, b)
	missing(bName, inB, a)
	return causes
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
