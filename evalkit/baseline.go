package evalkit

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
)

// baseline computes what a random ranking of the units would score: of all chunks of the
// build, or of all sections with text of their own where the chunks are not known. A caller
// sees only units it may read.
type baseline struct {
	ev    *evaluator
	basis string
	units []Hit
	byDoc map[corpus.DocumentID][]int // units of each document
	views map[string]*unitView        // by permission labels
}

// unitView is the units one caller may see.
type unitView struct {
	units    []int       // indexes of baseline.units
	sections map[int]int // number of sections by how many units they hold
}

// simulated rankings where the closed form does not apply and the caller asked for none.
const minDraws = 1000

// newBaseline returns nil if there is nothing to draw from.
func newBaseline(ev *evaluator, docs *corpus.Collection) *baseline {
	b := &baseline{ev: ev, basis: "chunks", units: ev.run.Chunks, byDoc: map[corpus.DocumentID][]int{}, views: map[string]*unitView{}}
	if len(b.units) == 0 || ev.o.View == ViewSections {
		b.basis = "sections"
		if docs != nil {
			b.units = sectionUnits(docs)
		} else {
			b.units = firstOfSections(b.units)
		}
	}
	if len(b.units) == 0 {
		return nil
	}
	kept := make([]Hit, 0, len(b.units))
	for _, u := range b.units {
		if _, err := ev.lib.locate(&u); err == nil {
			kept = append(kept, u)
		}
	}
	b.units = kept
	for i := range b.units {
		b.byDoc[b.units[i].Doc] = append(b.byDoc[b.units[i].Doc], i)
	}
	for _, t := range ev.topics {
		if key := viewKey(t.q); b.views[key] == nil {
			b.views[key] = b.view(t.q)
		}
	}
	return b
}

// firstOfSections returns the first unit of each section, for runs without documents.
func firstOfSections(units []Hit) []Hit {
	seen := map[sectionKey]bool{}
	var out []Hit
	for _, u := range units {
		key := sectionKey{doc: u.Doc, section: u.Section}
		if !seen[key] {
			out = append(out, u)
		}
		seen[key] = true
	}
	return out
}

func viewKey(q *golden.Question) string {
	as := slices.Clone(q.As)
	slices.Sort(as)
	return strings.Join(as, "\x00")
}

// sectionUnits returns every section that has text of its own, from its heading to its first
// subsection.
func sectionUnits(docs *corpus.Collection) []Hit {
	var out []Hit
	for i := range docs.Documents {
		d := &docs.Documents[i]
		for k := range d.Sections {
			s := &d.Sections[k]
			end := s.Span.End
			if k+1 < len(d.Sections) && d.Sections[k+1].Parent == k {
				end = d.Sections[k+1].Span.Start
			}
			own := corpus.Span{Start: max(s.Body, s.Span.Start), End: end}
			if own.Start > own.End || trimmed(d.Text, own).Len() == 0 {
				continue
			}
			path := corpus.FormatPath(s.Path)
			out = append(out, Hit{
				Chunk: corpus.ChunkID(string(d.ID) + "#" + path), Doc: d.ID, Section: path,
				Span: corpus.Span{Start: s.Span.Start, End: end},
			})
		}
	}
	return out
}

func (b *baseline) view(q *golden.Question) *unitView {
	v := &unitView{sections: map[int]int{}}
	held := map[sectionKey]int{}
	for i := range b.units {
		u := &b.units[i]
		key := sectionKey{doc: u.Doc, section: u.Section}
		if b.ev.lib != nil {
			at := b.ev.lib.at[u.Doc]
			if !corpus.Visible(b.ev.lib.docs[at].ACL, q.As) {
				continue
			}
			s, _ := b.ev.lib.locate(u) // checked in newBaseline
			key = sectionKey{doc: u.Doc, at: s.section}
		}
		v.units = append(v.units, i)
		held[key]++
	}
	for _, n := range held {
		v.sections[n]++
	}
	return v
}

// odds are the numbers of one question that closed forms need.
type odds struct {
	n        int       // units
	relevant int       // units relevant to any group
	groups   []int     // units relevant to each group
	gains    []float64 // mean grade of a random relevant unit of each group
	gainsExp []float64
	masks    map[uint64]int // units by the groups they satisfy; nil above 64 groups
	disjoint bool
	nonrel   int
	ideal    []int
	sections map[int]int
}

// values returns the baseline of each measure for one question, which must have gold.
func (b *baseline) values(w *worker, t *topic, seq int) []Value {
	view := b.views[viewKey(t.q)]
	o := b.odds(w, t, view)
	out := make([]Value, len(b.ev.measures))
	var rest []int
	for i, m := range b.ev.measures {
		if v, ok := o.closed(m); ok {
			out[i] = Num(v)
			continue
		}
		overlap := (m.Family == measure.NDCG || m.Family == measure.NDCGExp || m.Family == measure.AP) && !o.disjoint
		if b.ev.o.Simulate > 0 || overlap {
			rest = append(rest, i)
		}
	}
	if len(rest) > 0 {
		b.simulate(w, t, view, uint64(seq), rest, out)
	}
	return out
}

func (b *baseline) odds(w *worker, t *topic, view *unitView) *odds {
	o := &odds{n: len(view.units), groups: make([]int, len(t.groups)), gains: make([]float64, len(t.groups)),
		gainsExp: make([]float64, len(t.groups)), disjoint: true, ideal: slices.Clone(t.ideal), sections: view.sections}
	slices.SortFunc(o.ideal, func(a, b int) int { return b - a })
	if len(t.groups) <= 64 {
		o.masks = map[uint64]int{}
	}
	seen := map[corpus.DocumentID]bool{}
	visit := func(doc corpus.DocumentID) {
		if seen[doc] {
			return
		}
		seen[doc] = true
		if b.ev.lib != nil {
			if at, ok := b.ev.lib.at[doc]; !ok || !corpus.Visible(b.ev.lib.docs[at].ACL, t.q.As) {
				return
			}
		}
		for _, i := range b.byDoc[doc] {
			o.add(w.builder, t, &b.units[i])
		}
	}
	for _, g := range t.groups {
		for k := range g {
			visit(g[k].doc)
		}
	}
	for k := range t.nonrel {
		visit(t.nonrel[k].doc)
	}
	for g := range o.groups {
		if o.groups[g] > 0 {
			o.gains[g] /= float64(o.groups[g])
			o.gainsExp[g] /= float64(o.groups[g])
		}
	}
	return o
}

func (o *odds) add(b *builder, t *topic, u *Hit) {
	s, err := b.lib.locate(u)
	if err != nil {
		return // unreachable: newBaseline kept only units that can be found
	}
	mask, n := uint64(0), 0
	for g := range t.groups {
		gain := 0
		for k := range t.groups[g] {
			if ok, _ := b.relevant(&s, &t.groups[g][k], t); ok {
				gain = max(gain, t.groups[g][k].grade)
			}
		}
		if gain == 0 {
			continue
		}
		n++
		o.groups[g]++
		o.gains[g] += float64(gain)
		o.gainsExp[g] += exp2(gain)
		if g < 64 {
			mask |= 1 << g
		}
	}
	switch {
	case n > 0:
		o.relevant++
		o.disjoint = o.disjoint && n == 1
		if o.masks != nil {
			o.masks[mask]++
		}
	case b.judgedNonrel(&s, t):
		o.nonrel++
	}
}

// simulate fills in the measures numbered rest from seeded random rankings of the units.
func (b *baseline) simulate(w *worker, t *topic, view *unitView, seq uint64, rest []int, out []Value) {
	draws := max(b.ev.o.Simulate, minDraws)
	depth := 0
	for _, i := range rest {
		if k := b.ev.measures[i].Cutoff; k > 0 {
			depth = max(depth, k)
		} else {
			depth = len(view.units)
		}
	}
	depth = min(depth, len(view.units))
	rng := rand.New(rand.NewPCG(b.ev.o.Seed, seq))
	perm := slices.Clone(view.units)
	sums := make([]float64, len(rest))
	slots := make([]slot, depth)
	for range draws {
		for i := range depth {
			j := i + rng.IntN(len(perm)-i)
			perm[i], perm[j] = perm[j], perm[i]
			slots[i], _ = b.ev.lib.locate(&b.units[perm[i]]) // checked in newBaseline
		}
		e, _ := w.builder.build(t, slots)
		for k, i := range rest {
			sums[k] += w.scorer.Value(&e, b.ev.measures[i]).V
		}
	}
	for k, i := range rest {
		out[i] = Num(sums[k] / float64(draws))
	}
}
