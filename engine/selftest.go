package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed"
)

// The self-test answers whether the gate would notice if something were wrong with a build.
// Each fault is injected into the build as it is searched, never on disk, and must be noticed
// by the integrity checks, by the golden questions, or by both.

// Names of the injected faults.
const (
	FaultDropped   = "chunks dropped"
	FaultShuffled  = "vectors shuffled"
	FaultSwapped   = "document ids swapped"
	FaultForeign   = "foreign embedder"
	FaultStale     = "stale lexical index"
	FaultACL       = "permissions ignored"
	integrityTests = 64 // chunks sampled by each integrity check
)

// injections returns the faults that can occur in this build, each as a changed view, and the
// reason for each that cannot.
func (r *reader) injections(seed uint64) (views map[string]*view, cannot map[string]string) {
	views, cannot = map[string]*view{}, map[string]string{}
	rng := rand.New(rand.NewPCG(seed, 0x5e1f7e57))

	if n := r.nchunks; n < 2 {
		cannot[FaultDropped] = "the build has fewer than two chunks"
	} else {
		views[FaultDropped] = r.withDropped(rng, max(n/10, 1))
	}
	if r.vectors == nil || r.vectors.Present() == 0 {
		cannot[FaultShuffled] = "the build has no vectors"
		cannot[FaultForeign] = "the build has no vectors"
	} else {
		views[FaultShuffled] = r.withShuffledVectors(rng)
		views[FaultForeign] = r.withForeignEmbedder(seed)
	}
	if r.ndocs < 2 {
		cannot[FaultSwapped] = "the build has one document"
	} else {
		views[FaultSwapped] = r.withSwappedDocuments()
	}
	if r.nchunks < 2 {
		cannot[FaultStale] = "the build has fewer than two chunks"
	} else {
		views[FaultStale] = r.withStaleLexical(rng)
	}
	if !slices.ContainsFunc(r.acls, func(acl []string) bool { return len(acl) > 0 }) {
		cannot[FaultACL] = "no document carries a permission label"
	} else {
		v := r.view()
		v.filter = func([]string) *index.Filter { return nil }
		views[FaultACL] = v
	}
	return views, cannot
}

func (r *reader) withDropped(rng *rand.Rand, n int) *view {
	gone := map[uint32]bool{}
	for _, ord := range rng.Perm(r.nchunks)[:n] {
		gone[uint32(ord)] = true
	}
	v := r.view()
	v.dropped = func(ord uint32) bool { return gone[ord] }
	v.filter = func(as []string) *index.Filter {
		base, f := r.filter(as), index.NewFilter(r.nchunks)
		for ord := range uint32(r.nchunks) {
			if base.Has(ord) && !gone[ord] {
				f.Set(ord)
			}
		}
		return f
	}
	return v
}

// permuted maps the ordinals of a retriever's answer, restoring the order of ties.
func permuted(list []index.Candidate, perm []uint32) []index.Candidate {
	for i := range list {
		list[i].Ord = perm[list[i].Ord]
	}
	slices.SortStableFunc(list, func(a, b index.Candidate) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return int(int64(b.Ord) - int64(a.Ord))
	})
	return list
}

// permutation moves every ordinal: it is one cycle (Sattolo 1986).
func (r *reader) permutation(rng *rand.Rand) []uint32 {
	perm := make([]uint32, r.nchunks)
	for i := range perm {
		perm[i] = uint32(i)
	}
	for i := len(perm) - 1; i > 0; i-- {
		j := rng.IntN(i)
		perm[i], perm[j] = perm[j], perm[i]
	}
	return perm
}

func (r *reader) withShuffledVectors(rng *rand.Rand) *view {
	v, perm := r.view(), r.permutation(rng)
	inverse := make([]uint32, len(perm))
	for i, p := range perm {
		inverse[p] = uint32(i)
	}
	search := v.vector
	v.vector = func(ctx context.Context, q []float32, k int, f *index.Filter) ([]index.Candidate, error) {
		// The filter is applied to the shuffled rows: only the vectors are wrong.
		moved := f
		if f != nil {
			moved = index.NewFilter(r.nchunks)
			for ord := range uint32(r.nchunks) {
				if f.Has(perm[ord]) {
					moved.Set(ord)
				}
			}
		}
		list, err := search(ctx, q, k, moved)
		return permuted(list, perm), err
	}
	v.row = func(ord uint32) []float32 { return r.vectors.Row(inverse[ord]) }
	return v
}

// withForeignEmbedder embeds queries with a model of the same dimension that knows nothing of
// the build's: the true vector turned by a random rotation (here: components permuted and
// their signs changed).
func (r *reader) withForeignEmbedder(seed uint64) *view {
	v := r.view()
	rng := rand.New(rand.NewPCG(seed, 0xf0e1))
	perm := rng.Perm(r.vectors.Dim())
	signs := make([]float32, len(perm))
	for i := range signs {
		signs[i] = float32(1 - 2*rng.IntN(2))
	}
	embed := v.embed
	v.embed = func(ctx context.Context, text string, f *index.Filter) ([]float32, error) {
		row, err := embed(ctx, text, f)
		if err != nil || row == nil {
			return row, err
		}
		out := make([]float32, len(row))
		for i, p := range perm {
			out[i] = row[p] * signs[i]
		}
		return out, nil
	}
	return v
}

// withSwappedDocuments gives the hits of the two documents with the most chunks each other's
// names.
func (r *reader) withSwappedDocuments() *view {
	count := make([]int, r.ndocs)
	for ord := range uint32(r.nchunks) {
		count[r.chunkDoc(ord)]++
	}
	order := make([]int, r.ndocs)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return count[b] - count[a] })
	a, b := order[0], order[1]
	v := r.view()
	v.hit = func(mem *arena, ord uint32) index.Hit {
		h := r.hit(mem, ord)
		other := -1
		switch r.chunkDoc(ord) {
		case a:
			other = b
		case b:
			other = a
		}
		if other >= 0 {
			h.Doc = docIDOf(r, other)
			h.Chunk = chunkIDOf(h)
		}
		return h
	}
	return v
}

// withStaleLexical answers from a lexical index that a third of the chunks have moved away
// from, as after a rebuild that forgot it.
func (r *reader) withStaleLexical(rng *rand.Rand) *view {
	v := r.view()
	perm := make([]uint32, r.nchunks)
	for i := range perm {
		perm[i] = uint32(i)
	}
	moved := rng.Perm(r.nchunks)[:max(r.nchunks/3, 2)]
	for i, m := range moved {
		perm[m] = uint32(moved[(i+1)%len(moved)])
	}
	search := v.text
	v.text = func(ctx context.Context, q string, k int, f *index.Filter) ([]index.Candidate, error) {
		list, err := search(ctx, q, r.nchunks, nil)
		if err != nil {
			return nil, err
		}
		list = permuted(list, perm)
		list = slices.DeleteFunc(list, func(c index.Candidate) bool { return !f.Has(c.Ord) })
		return list[:min(k, len(list))], nil
	}
	return v
}

// integrity checks what a sound build must satisfy and returns what it does not.
func (v *view) integrity(ctx context.Context, seed uint64) ([]string, error) {
	var out []string
	sample := v.sample(seed, nil)
	embedded := sample
	if v.r.vectors != nil && v.r.vectors.Present() < v.chunks/2 {
		embedded = v.sample(seed, func(ord uint32) bool { return v.r.vectors.Row(ord) != nil })
	}
	for _, c := range []struct {
		check  func(context.Context, []uint32) (string, error)
		sample []uint32
	}{
		{v.checkCoverage, sample}, {v.checkIdentity, sample}, {v.checkRows, embedded}, {v.checkVectorSearch, embedded},
		{v.checkTextSearch, sample}, {v.checkPermissions, sample}, {v.checkExternal, sample},
	} {
		msg, err := c.check(ctx, c.sample)
		if err != nil {
			return nil, err
		}
		if msg != "" {
			out = append(out, msg)
		}
	}
	return out, nil
}

// sample picks chunks evenly over those of the build that among admits, nil admitting all, the same
// for the same seed.
func (v *view) sample(seed uint64, among func(ord uint32) bool) []uint32 {
	rng := rand.New(rand.NewPCG(seed, 0x5a3b1e))
	var out []uint32
	for _, p := range rng.Perm(v.chunks) {
		if ord := uint32(p); among == nil || among(ord) {
			if out = append(out, ord); len(out) == integrityTests {
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// checkCoverage: the chunks of a document hold all of its text but blank space.
func (v *view) checkCoverage(context.Context, []uint32) (string, error) {
	spans := make([][][2]int, v.r.ndocs)
	for ord := range uint32(v.r.nchunks) {
		if v.dropped != nil && v.dropped(ord) {
			continue
		}
		s := v.r.chunkSpan(ord)
		d := v.r.chunkDoc(ord)
		spans[d] = append(spans[d], [2]int{s.Start, s.End})
	}
	var short []string
	for d := range spans {
		slices.SortFunc(spans[d], func(a, b [2]int) int { return a[0] - b[0] })
		text, at := v.r.docText(d), int(le.Uint64(v.r.doc(d)[96:]))
		lost := false
		for _, s := range spans[d] {
			if s[0] > at && strings.TrimSpace(text[at:s[0]]) != "" {
				lost = true
			}
			at = max(at, s[1])
		}
		if lost || strings.TrimSpace(text[at:]) != "" {
			short = append(short, v.r.docID(d))
		}
	}
	if len(short) > 0 {
		return fmt.Sprintf("text of %d documents is in no chunk, the first is %s", len(short), short[0]), nil
	}
	return "", nil
}

// checkIdentity: a hit's text is the slice of the document it names.
func (v *view) checkIdentity(context.Context, []uint32) (string, error) {
	for ord := range uint32(v.r.nchunks) {
		h := v.hit(new(arena), ord)
		d := v.r.findDoc(h.Doc)
		if d < 0 {
			return fmt.Sprintf("chunk %s names a document that does not exist", h.Chunk), nil
		}
		text := v.r.docText(d)
		if h.End > len(text) || text[h.Start:h.End] != h.Text || h.Chunk != chunkIDOf(h) {
			return fmt.Sprintf("chunk %s does not hold the text of %s at its span", h.Chunk, h.Doc), nil
		}
	}
	return "", nil
}

// checkRows: embedding a chunk again gives the vector that is stored for it.
func (v *view) checkRows(ctx context.Context, sample []uint32) (string, error) {
	if v.row == nil {
		return "", nil
	}
	texts := make([]string, len(sample))
	for i, ord := range sample {
		texts[i] = embeddedText(v.r.chunkIndexed(ord))
	}
	rows, err := v.r.embedder.Embed(ctx, texts, index.KindDocument)
	if err != nil {
		return "", fmt.Errorf("self-test: embed again: %w", err)
	}
	bad := 0
	for i, ord := range sample {
		if cosine(rows[i], v.row(ord)) < 0.99 {
			bad++
		}
	}
	if bad > len(sample)/20 {
		return fmt.Sprintf("%d of %d sampled chunks have another vector than embedding them again gives", bad, len(sample)), nil
	}
	return "", nil
}

// selfShare is the share of sampled chunks that must find themselves.
const selfShare = 0.9

// tied is the difference up to which two cosines count as equal: chunks that differ only in words
// the model does not know have one vector.
const tied = 1e-5

// checkVectorSearch: the vector of a chunk's own text finds it, among the best and those level with
// them.
func (v *view) checkVectorSearch(ctx context.Context, sample []uint32) (string, error) {
	if v.vector == nil {
		return "", nil
	}
	// Models that embed queries otherwise than documents may rank another chunk higher.
	_, exact := v.r.embedder.(*embed.Builtin)
	better := min(2, v.chunks/8)
	if exact {
		better = 0
	}
	found, tried := 0, 0
	for _, ord := range sample {
		row, err := v.embed(ctx, embeddedText(v.r.chunkIndexed(ord)), nil)
		if err != nil {
			return "", fmt.Errorf("self-test: %w", err)
		}
		if row == nil {
			continue
		}
		list, err := v.vector(ctx, row, min(10, v.chunks), nil)
		if err != nil {
			return "", err
		}
		tried++
		own := cosine(row, v.row(ord))
		if exact && own < 0.99 || len(list) == 0 || own < list[min(better, len(list)-1)].Score-tied {
			continue
		}
		// One that is level with the last of the list may have been cut off.
		if own <= list[len(list)-1].Score+tied || slices.ContainsFunc(list, func(c index.Candidate) bool { return c.Ord == ord }) {
			found++
		}
	}
	return selfResult(found, tried, "their own text in the vector index"), nil
}

// textMost is the most hits that are looked at for a word; one that has more tells nothing.
const textMost = 1000

// checkTextSearch: the rarest word of a chunk finds it.
func (v *view) checkTextSearch(ctx context.Context, sample []uint32) (string, error) {
	found, tried := 0, 0
	for _, ord := range sample {
		word := v.r.rarest(v.r.chunkText(ord))
		if v.r.chunkIsBare(ord) || word == "" {
			continue
		}
		list, err := v.text(ctx, word, min(textMost, v.chunks), nil)
		if err != nil {
			return "", err
		}
		tried++
		if len(list) == textMost || slices.ContainsFunc(list, func(c index.Candidate) bool { return c.Ord == ord }) {
			found++
		}
	}
	return selfResult(found, tried, "the rarest of their words in the lexical index"), nil
}

// rarest returns the word of text, as it stands there, that the fewest chunks hold; "" if it has
// none that is indexed.
func (r *reader) rarest(text string) string {
	held := map[string]bool{}
	for _, term := range r.lexical.Terms(text) {
		held[term] = true
	}
	word, most := "", 0.0
	for f := range strings.FieldsSeq(text) {
		runes := []rune(f)
		for part := range slices.Chunk(runes, rarestRunes) {
			for _, term := range r.lexical.Terms(string(part)) {
				// A part of a word may be a term that this text does not hold.
				if idf := r.lexical.IDF(term); held[term] && idf > most {
					word, most = string(part), idf
				}
			}
		}
	}
	return word
}

// rarestRunes is where rarest cuts what stands without a space, as sentences do in Chinese.
const rarestRunes = 40

func selfResult(found, tried int, by string) string {
	if float64(found) >= selfShare*float64(tried) {
		return ""
	}
	return fmt.Sprintf("only %d of %d sampled chunks are found by %s", found, tried, by)
}

// checkPermissions: a caller without labels finds no document that carries some.
func (v *view) checkPermissions(ctx context.Context, _ []uint32) (string, error) {
	tried := 0
	for ord := range uint32(v.r.nchunks) {
		d := v.r.chunkDoc(ord)
		if v.r.docVisible(d, nil) || tried >= integrityTests {
			continue
		}
		tried++
		q := Query{Text: clip(v.r.chunkText(ord), 1000), K: min(10, v.r.settings.Hybrid.Depth)}
		q, err := v.r.prepare(q)
		if err != nil {
			continue // a blank chunk has no words to look for
		}
		resp, err := v.search(ctx, q, false)
		if err != nil {
			return "", err
		}
		for _, h := range resp.Hits {
			if hd := v.r.findDoc(h.Doc); hd >= 0 && !v.r.docVisible(hd, nil) {
				return fmt.Sprintf("a caller without labels finds %s", h.Doc), nil
			}
		}
	}
	return "", nil
}

func cosine(a, b []float32) float64 {
	if a == nil && b == nil {
		return 1
	}
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
