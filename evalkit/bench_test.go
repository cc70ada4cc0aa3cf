package evalkit

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// BenchmarkEvaluate evaluates 10,000 questions of two gold groups and 1,000 hits each, which
// share one list of hits, under all default measures. Intervals are a benchmark of their own:
// 2,000 resamples of 10,000 values for every measure that is not a rate.
func BenchmarkEvaluate(b *testing.B) {
	const questions, depth = 10_000, 1000
	hits := make([]Hit, depth)
	for i := range hits {
		hits[i] = Hit{Chunk: corpus.ChunkID(fmt.Sprintf("d%03d#%06d", i%97, i)), Doc: corpus.DocumentID(fmt.Sprintf("d%03d", i%97)), Section: fmt.Sprintf("S > s%d", i/3), Score: float64(depth - i)}
	}
	set, run := &golden.Set{Name: "bench", Version: 1}, &Run{Tag: "bench"}
	for i := range questions {
		id := fmt.Sprintf("q%05d", i)
		q := golden.Question{ID: id, Question: id, Answerable: true, Slice: []string{"a"}}
		for g := range 2 {
			h := &hits[(i*13+g*211)%depth]
			q.Gold = append(q.Gold, golden.Group{{Doc: h.Doc, Section: &h.Section, Grade: g + 1}})
		}
		set.Questions = append(set.Questions, q)
		run.Results = append(run.Results, Result{Question: id, Hits: hits})
	}
	for _, o := range []Options{{Workers: 1, Resamples: -1}, {Workers: runtime.GOMAXPROCS(0), Resamples: -1}, {Workers: 1, Resamples: -1, View: ViewSections}} {
		view := o.View
		if view == "" {
			view = ViewSlots
		}
		b.Run(fmt.Sprintf("questions=10k/hits=1000/view=%s/workers=%d", view, o.Workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Evaluate(set, nil, run, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(questions*depth)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mhits/s")
		})
	}
	b.Run("questions=1k/hits=10/intervals", func(b *testing.B) {
		small := &golden.Set{Questions: set.Questions[:1000]}
		shallow := &Run{}
		for _, q := range small.Questions {
			shallow.Results = append(shallow.Results, Result{Question: q.ID, Hits: hits[:10]})
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Evaluate(small, nil, shallow, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
