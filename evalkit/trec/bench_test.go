package trec

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/seed792a4543/assay/evalkit/measure"
)

// allMeasures are all that TREC files can be scored by, at the usual cutoffs.
func allMeasures(b *testing.B) []measure.Measure {
	b.Helper()
	ms, err := measure.Expand([]string{"hit", "p", "recall", "rr", "ap", "ndcg", "ndcg_exp", "all_hit", "judged"}, []int{1, 3, 5, 10, 100, 1000})
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range DefaultMeasures() {
		if m.Cutoff == 0 {
			ms = append(ms, m)
		}
	}
	return ms
}

// returned is the document at a rank of a topic's ranking.
func returned(topic, rank, pool int) int { return (topic*131 + rank*7) % pool }

// benchQrels judges perTopic documents for each topic, two in five relevant, most of which a
// ranking 1,000 deep returns.
func benchQrels(b *testing.B, topics, perTopic, pool int, docs []string) *Qrels {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var js []Judgment
	for t := range topics {
		seen := map[int]bool{}
		for len(seen) < perTopic {
			d := returned(t, rng.IntN(1500), pool)
			if seen[d] {
				continue
			}
			seen[d] = true
			js = append(js, Judgment{strconv.Itoa(t), docs[d], max(rng.IntN(5)-2, 0)})
		}
	}
	q, err := NewQrels(js)
	if err != nil {
		b.Fatal(err)
	}
	return q
}

func docIDs(n int) []string {
	docs := make([]string, n)
	for i := range docs {
		docs[i] = fmt.Sprintf("doc%06d", i)
	}
	return docs
}

// BenchmarkScore scores parsed runs.
func BenchmarkScore(b *testing.B) {
	const topics, depth, pool = 10_000, 1000, 20_000
	docs := docIDs(pool)
	q := benchQrels(b, topics, 60, pool, docs)
	rankings := make([]Ranking, topics)
	for t := range rankings {
		list := make([]Scored, depth)
		for i := range list {
			list[i] = Scored{docs[returned(t, i, pool)], float64(depth-i) / depth}
		}
		rankings[t] = Ranking{Topic: strconv.Itoa(t), Docs: list}
	}
	run, err := NewRun("bench", rankings)
	if err != nil {
		b.Fatal(err)
	}
	ms := allMeasures(b)
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		b.Run(fmt.Sprintf("topics=10k/hits=1000/measures=%d/workers=%d", len(ms), workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Score(q, run, ms, ScoreOptions{Workers: workers}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(topics*depth)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mhits/s")
		})
	}
}

// generator makes run lines as they are read, so that the file takes no memory.
type generator struct {
	docs         []string
	topic, rank  int
	topics       int
	buf          []byte
	linesWritten int64
}

func (g *generator) Read(p []byte) (int, error) {
	for len(g.buf) < len(p) && g.topic < g.topics {
		g.buf = strconv.AppendInt(g.buf, int64(g.topic), 10)
		g.buf = append(g.buf, " Q0 "...)
		g.buf = append(g.buf, g.docs[returned(g.topic, g.rank, len(g.docs))]...)
		g.buf = append(g.buf, ' ')
		g.buf = strconv.AppendInt(g.buf, int64(g.rank+1), 10)
		g.buf = append(g.buf, ' ')
		g.buf = strconv.AppendInt(g.buf, int64(1000-g.rank), 10)
		g.buf = append(g.buf, ".25 bench\n"...)
		g.linesWritten++
		if g.rank++; g.rank == 1000 {
			g.rank = 0
			g.topic++
		}
	}
	if len(g.buf) == 0 {
		return 0, io.EOF
	}
	n := copy(p, g.buf)
	g.buf = g.buf[:copy(g.buf, g.buf[n:])]
	return n, nil
}

// BenchmarkScoreStream reads and scores a run of ten million lines. Memory is what the heap
// holds beside the judgments when all is scored, after a collection: the values and evidence of
// 10,000 topics.
func BenchmarkScoreStream(b *testing.B) {
	docs := docIDs(20_000)
	q := benchQrels(b, 10_000, 60, 20_000, docs)
	ms, err := measure.Expand([]string{"ndcg@10", "map", "recip_rank", "recall@100"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("lines=10M", func(b *testing.B) {
		b.ReportAllocs()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		lines := int64(0)
		for b.Loop() {
			g := &generator{docs: docs, topics: 10_000}
			s, err := ScoreStream(q, "bench", g, ms, ScoreOptions{})
			if err != nil {
				b.Fatal(err)
			}
			lines += g.linesWritten
			b.StopTimer()
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(s)
			b.StartTimer()
		}
		b.ReportMetric(float64(lines)/b.Elapsed().Seconds()/1e6, "Mlines/s")
		b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6, "MB-kept")
	})
	// The generator alone, to be subtracted.
	b.Run("generator", func(b *testing.B) {
		for b.Loop() {
			if _, err := io.Copy(io.Discard, onlyReader{&generator{docs: docs, topics: 10_000}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

type onlyReader struct{ io.Reader }
