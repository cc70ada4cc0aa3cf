// Command ratios measures the engine's parts and their peers in one process, interleaved query
// by query, and prints one table of medians and ratios. Every answer of the engine is compared
// with an exhaustive one in the same run; a wrong answer ends the run with status 1.
//
//	go run ./cmd/ratios                     # 100,000 chunks
//	go run ./cmd/ratios -n 1000000 -text=false
//	go run ./cmd/ratios -growth 10000,100000,1000000
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/seed792a4543/assay/bench"
	"github.com/seed792a4543/assay/hybrid"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/dense"
	"github.com/seed792a4543/assay/index/lexical"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

type settings struct {
	n, dim, words, k, depth, queries, rounds, clients int
	data, growth, dir, node, peers                    string
	seed                                              uint64
	text, hnsw                                        bool
	span                                              time.Duration
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	fs := flag.NewFlagSet("ratios", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&s.n, "n", 100_000, "chunks")
	fs.IntVar(&s.dim, "dim", 384, "dimensions of a vector")
	fs.IntVar(&s.words, "words", 100, "words of a text")
	fs.IntVar(&s.k, "k", 10, "hits")
	fs.IntVar(&s.depth, "depth", 100, "hits of each list that are fused")
	fs.IntVar(&s.queries, "queries", 20, "different queries")
	fs.IntVar(&s.rounds, "rounds", 2, "times every query is asked")
	fs.IntVar(&s.clients, "clients", 8, "clients in the throughput test")
	fs.DurationVar(&s.span, "span", 4*time.Second, "length of one throughput test")
	fs.StringVar(&s.data, "data", bench.Topics, "vectors: topics or random")
	fs.StringVar(&s.growth, "growth", "", "only vectors, at these sizes, separated by commas")
	fs.StringVar(&s.dir, "dir", "", "folder for the files; empty makes a temporary one")
	fs.StringVar(&s.node, "node", "", "folder of the Node peers with their packages installed (peers/node); empty leaves them out")
	fs.StringVar(&s.peers, "peers", "sqlite,lance", "which Node peers take part")
	fs.Uint64Var(&s.seed, "seed", 1, "of the data")
	fs.BoolVar(&s.text, "text", true, "measure words and hybrid search too")
	fs.BoolVar(&s.hnsw, "hnsw", false, "measure coder/hnsw too, whose build takes minutes")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "assay-bench-")
		if err != nil {
			fmt.Fprintln(stderr, "ratios:", err)
			return 1
		}
		defer os.RemoveAll(dir)
		s.dir = dir
	}
	r := &report{w: tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0), log: stderr}
	header(stdout, s)
	var err error
	if s.growth != "" {
		err = growth(ctx, s, r)
	} else {
		err = ratios(ctx, s, r)
	}
	if ferr := r.w.Flush(); err == nil {
		err = ferr
	}
	if err != nil {
		fmt.Fprintln(stderr, "ratios:", err)
		return 1
	}
	fmt.Fprintln(stdout, "all answers agree with the exhaustive ones")
	return 0
}

func header(w io.Writer, s settings) {
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\ncpu: %s\ncores: %d\ngo: %s\ncommit: %s\n", runtime.GOOS, runtime.GOARCH, cpuName(), runtime.NumCPU(), runtime.Version(), commit())
	fmt.Fprintf(w, "data: %s, n=%d, dim=%d, words=%d, k=%d, depth=%d, queries=%d×%d, seed=%d\n\n", s.data, s.n, s.dim, s.words, s.k, s.depth, s.queries, s.rounds, s.seed)
}

func cpuName() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	// go run stamps nothing.
	if out, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return "unknown"
}

type report struct {
	w   *tabwriter.Writer
	log io.Writer
}

func (r *report) step(format string, args ...any) { fmt.Fprintf(r.log, format+"\n", args...) }

func (r *report) heads(title string) {
	fmt.Fprintf(r.w, "%s\tmedian\tp95\tratio\ttarget\n", title)
}

// row prints a sample; base is the peer's median, 0 for the peer itself.
func (r *report) row(name string, s sample, base time.Duration, target string) time.Duration {
	m := s.quantile(.5)
	ratio := "1"
	if base > 0 {
		ratio = fmt.Sprintf("%.1f", float64(base)/float64(m))
	}
	fmt.Fprintf(r.w, "%s\t%s\t%s\t%s\t%s\n", name, pretty(m), pretty(s.quantile(.95)), ratio, target)
	return m
}

func (r *report) note(format string, args ...any) { fmt.Fprintf(r.w, format+"\n", args...) }

func pretty(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d)/1e6) }

type sample []time.Duration

func (s sample) quantile(q float64) time.Duration {
	c := slices.Sorted(slices.Values(s))
	return c[min(int(q*float64(len(c))), len(c)-1)]
}

// contender is one way to answer query i; it keeps its answer.
type contender struct {
	name   string
	repeat int // asks per round; fast ones can be asked more often
	ask    func(i int) error
	timed  func(i int) (time.Duration, error) // in place of ask, for one that takes its own time
	times  sample
}

// interleave asks every contender every query in turn, so that whatever else the machine does
// falls on all of them. The garbage of the one before is collected first, so that each pays for its
// own alone.
func interleave(s settings, cs []*contender) error {
	for _, c := range cs { // warm
		if c.timed == nil {
			c.timed = func(i int) (time.Duration, error) {
				start := time.Now()
				err := c.ask(i)
				return time.Since(start), err
			}
		}
		for i := range min(3, s.queries) {
			if _, err := c.timed(i); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	for range s.rounds {
		for i := range s.queries {
			for _, c := range cs {
				runtime.GC()
				for range max(c.repeat, 1) {
					took, err := c.timed(i)
					c.times = append(c.times, took)
					if err != nil {
						return fmt.Errorf("%s: query %d: %w", c.name, i, err)
					}
				}
			}
		}
	}
	return nil
}

func ranked(list []index.Candidate) []bench.Ranked {
	out := make([]bench.Ranked, len(list))
	for i, c := range list {
		out[i] = bench.Ranked{Ord: int(c.Ord), Score: c.Score}
	}
	return out
}

// vectors measures vector search on one core and returns the file and the peer.
func vectors(ctx context.Context, s settings, r *report, rows, queries [][]float32) (string, *bench.Chromem, error) {
	path := filepath.Join(s.dir, fmt.Sprintf("vectors-%d", len(rows)))
	start := time.Now()
	if err := dense.Write(ctx, nil, path, s.dim, rows); err != nil {
		return "", nil, err
	}
	r.step("wrote %d vectors in %.1f s", len(rows), time.Since(start).Seconds())
	size := len(rows) * s.dim
	st, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	peer, err := bench.NewChromem(ctx, rows)
	if err != nil {
		return "", nil, err
	}

	open := func(o dense.Options) (*dense.Index, error) { return dense.Open(path, o) }
	exact, err := open(dense.Options{Workers: 1})
	if err != nil {
		return "", nil, err
	}
	defer exact.Close()
	portable, err := open(dense.Options{Workers: 1, Portable: true})
	if err != nil {
		return "", nil, err
	}
	defer portable.Close()
	rough, err := open(dense.Options{Workers: 1, Approximate: true})
	if err != nil {
		return "", nil, err
	}
	defer rough.Close()
	// The exhaustive answer, with ties at the cut in the total order.
	ref, err := exact.Reference(ctx, nil)
	if err != nil {
		return "", nil, err
	}
	want := make([][]index.Candidate, len(queries))
	for i, q := range queries {
		if want[i], err = ref.Query(ctx, q, s.k, nil, nil); err != nil {
			return "", nil, err
		}
	}
	tolerance := 0.0
	if runtime.GOARCH != "amd64" {
		tolerance = 1e-5 // the peer's additions are fused there
	}
	same := func(x *dense.Index) func(i int) error {
		return func(i int) error {
			got, err := x.SearchVector(ctx, queries[i], s.k, nil)
			if err != nil {
				return err
			}
			return bench.SameList(ranked(got), ranked(want[i]), tolerance)
		}
	}
	found, asked := 0, 0
	plane := make([]byte, exact.ScanBytes())
	for i := range plane {
		plane[i] = byte(i)
	}
	zeros := 0
	cs := []*contender{
		{name: "chromem-go QueryEmbedding", ask: func(i int) error {
			_, err := peer.Query(ctx, queries[i], s.k)
			return err
		}},
		{name: fmt.Sprintf("assay dense, exact (%s)", exact.Kernels()), repeat: 5, ask: same(exact)},
		{name: "assay dense, exact (Go alone)", ask: same(portable)},
		{name: "assay dense, approximate", repeat: 5, ask: func(i int) error {
			got, err := rough.SearchVector(ctx, queries[i], s.k, nil)
			for _, c := range got {
				asked++
				if slices.ContainsFunc(want[i], func(w index.Candidate) bool { return w.Ord == c.Ord }) {
					found++
				}
			}
			return err
		}},
		{name: fmt.Sprintf("reading the scanned plane once (%.1f MB)", float64(len(plane))/1e6), repeat: 5, ask: func(int) error {
			zeros += bytes.Count(plane, []byte{0})
			return nil
		}},
	}
	if s.hnsw {
		start := time.Now()
		g := bench.NewHNSW(rows)
		build := time.Since(start)
		hits, all := 0, 0
		cs = append(cs, &contender{name: fmt.Sprintf("coder/hnsw, built in %.0f s", build.Seconds()), repeat: 5, ask: func(i int) error {
			for _, ord := range g.Query(queries[i], s.k) {
				if slices.ContainsFunc(want[i], func(w index.Candidate) bool { return int(w.Ord) == ord }) {
					hits++
				}
			}
			all += s.k
			return nil
		}})
		defer func() { r.step("coder/hnsw recall@%d %.4f", s.k, float64(hits)/float64(all)) }()
	}
	procs := runtime.GOMAXPROCS(1)
	err = interleave(s, cs)
	runtime.GOMAXPROCS(procs)
	if err != nil {
		return "", nil, err
	}
	r.heads(fmt.Sprintf("vector top-%d, %d × %d, 1 core", s.k, len(rows), s.dim))
	base := r.row(cs[0].name, cs[0].times, 0, "")
	m := r.row(cs[1].name, cs[1].times, base, "≥ 100")
	r.row(cs[2].name, cs[2].times, base, "")
	target := ""
	if len(rows) >= 1_000_000 {
		target = "≥ 400"
	}
	r.row(cs[3].name, cs[3].times, base, target)
	read := r.row(cs[4].name, cs[4].times, base, "")
	for _, c := range cs[5:] {
		r.row(c.name, c.times, base, "")
	}
	r.note("exact search against reading its plane once: %.2f × (target ≤ 2)", float64(m)/float64(read))
	r.note("approximate: recall@%d %.4f of %d queries (target ≥ .99)", s.k, float64(found)/float64(asked), len(queries))
	r.note("bytes per value beyond the float32 rows: %.3f (target ≤ 1.3)\n", float64(st.Size()-int64(4*size))/float64(size))
	return path, peer, nil
}

func ratios(ctx context.Context, s settings, r *report) error {
	rows, queries := bench.Vectors(s.data, s.seed, s.n, s.dim, s.queries)
	path, peer, err := vectors(ctx, s, r, rows, queries)
	if err != nil {
		return fmt.Errorf("vectors: %w", err)
	}
	if !s.text {
		return nil
	}
	texts, words := bench.Texts(s.seed, s.n, s.words, s.queries)

	// Build: the peer's index alone against everything here.
	start := time.Now()
	lean, err := bench.NewBleve(filepath.Join(s.dir, "bleve-lean"), texts, true)
	if err != nil {
		return fmt.Errorf("bleve: %w", err)
	}
	leanBuild := time.Since(start)
	defer lean.Close()
	start = time.Now()
	full, err := bench.NewBleve(filepath.Join(s.dir, "bleve"), texts, false)
	if err != nil {
		return fmt.Errorf("bleve: %w", err)
	}
	fullBuild := time.Since(start)
	defer full.Close()
	start = time.Now()
	fork, err := bench.NewBluge(filepath.Join(s.dir, "bluge"), texts)
	if err != nil {
		return fmt.Errorf("bluge: %w", err)
	}
	forkBuild := time.Since(start)
	defer fork.Close()
	heap := watchHeap()
	start = time.Now()
	if err := dense.Write(ctx, nil, filepath.Join(s.dir, "vectors-again"), s.dim, rows); err != nil {
		return err
	}
	settings := lexical.Settings{Analyzer: "standard"}
	dir := filepath.Join(s.dir, "lexical")
	stats, err := lexical.Build(ctx, nil, dir, func(yield func(lexical.Doc) bool) {
		for i, t := range texts {
			if !yield(lexical.Doc{ID: bench.ID(i), Body: t}) {
				return
			}
		}
	}, settings)
	if err != nil {
		return err
	}
	ours := time.Since(start)
	live, grown := heap()
	r.heads(fmt.Sprintf("build, %d chunks, vectors given", s.n))
	r.row("bleve, default mapping", sample{fullBuild}, 0, "")
	r.row("bleve, lean mapping", sample{leanBuild}, fullBuild, "")
	r.row("bluge, offline writer", sample{forkBuild}, fullBuild, "")
	r.row("assay dense + lexical", sample{ours}, fullBuild, "≥ 0.77")
	data := float64(4*s.n*s.dim + totalLen(texts))
	r.note("data given: %.0f MB; peak of the heap in use: %.2f × (target ≤ 1.5), with garbage not yet freed at GOGC=100: %.2f ×\n", data/1e6, 1+float64(live)/data, 1+float64(grown)/data)

	lex, err := lexical.Open(dir, settings, stats)
	if err != nil {
		return err
	}
	defer lex.Close()
	terms := make([][]string, len(texts))
	for i, t := range texts {
		terms[i] = lex.Terms(t)
	}
	d := stats.Settings.WithDefaults()
	brute := bench.NewBM25(terms, *d.K1, *d.B)
	for _, q := range words[:min(10, len(words))] {
		got, err := lex.SearchText(ctx, q, s.k, nil)
		if err != nil {
			return err
		}
		if err := bench.SameList(ranked(got), brute.Query(lex.Analyzer().QueryTerms(q), s.k), 1e-5); err != nil {
			return fmt.Errorf("words: query %q against brute force: %w", q, err)
		}
	}
	terms, brute = nil, nil
	runtime.GC()
	cs := []*contender{
		{name: "bleve search, default mapping", ask: func(i int) error { _, err := full.Query(ctx, words[i], s.k); return err }},
		{name: "bleve search, lean mapping", ask: func(i int) error { _, err := lean.Query(ctx, words[i], s.k); return err }},
		{name: "assay lexical, exact BM25", repeat: 5, ask: func(i int) error { _, err := lex.SearchText(ctx, words[i], s.k, nil); return err }},
		{name: "bluge search", ask: func(i int) error { _, err := fork.Query(ctx, words[i], s.k); return err }},
	}
	if err := interleave(s, cs); err != nil {
		return err
	}
	r.heads(fmt.Sprintf("BM25 top-%d, %d × %d words", s.k, s.n, s.words))
	base := r.row(cs[0].name, cs[0].times, 0, "")
	r.row(cs[1].name, cs[1].times, base, "")
	r.row(cs[3].name, cs[3].times, base, "")
	r.row(cs[2].name, cs[2].times, base, "≥ 30")
	r.note("")

	exact, err := dense.Open(path, dense.Options{})
	if err != nil {
		return err
	}
	defer exact.Close()
	engine := func(v []float32, text string) ([]hybrid.Fused, error) {
		type answer struct {
			list []index.Candidate
			err  error
		}
		ch := make(chan answer, 1)
		go func() {
			list, err := lex.SearchText(ctx, text, s.depth, nil)
			ch <- answer{list, err}
		}()
		near, err := exact.SearchVector(ctx, v, s.depth, nil)
		a := <-ch
		if err != nil {
			return nil, err
		}
		if a.err != nil {
			return nil, a.err
		}
		return hybrid.Fuse(near, a.list, hybrid.Settings{Depth: s.depth}), nil
	}
	pair := bench.Pair{C: peer, B: full}
	cs = []*contender{
		{name: "chromem-go + bleve + RRF", ask: func(i int) error { _, err := pair.Query(ctx, queries[i], words[i], s.k, s.depth); return err }},
		{name: "assay dense + lexical + fusion, exact", repeat: 5, ask: func(i int) error { _, err := engine(queries[i], words[i]); return err }},
	}
	if s.node != "" {
		names := strings.Split(s.peers, ",")
		node, err := bench.StartNode(ctx, s.node, filepath.Join(s.dir, "node"), rows, queries, texts, words, s.k, s.depth, names...)
		if err != nil {
			return err
		}
		defer node.Close()
		for _, p := range names {
			cs = append(cs, &contender{name: nodePeers(p), timed: func(i int) (time.Duration, error) {
				_, took, err := node.Query(p, i)
				return took, err
			}})
		}
	}
	if err := interleave(s, cs); err != nil {
		return err
	}
	r.heads(fmt.Sprintf("hybrid top-%d, %d chunks, %d cores", s.k, s.n, runtime.GOMAXPROCS(0)))
	base = r.row(cs[0].name, cs[0].times, 0, "")
	mine := r.row(cs[1].name, cs[1].times, base, "≥ 60")
	var against []string
	for _, c := range cs[2:] {
		m := r.row(c.name, c.times, base, "")
		against = append(against, fmt.Sprintf("assay against %s: %.1f ×", c.name, float64(m)/float64(mine)))
	}
	for _, a := range against {
		r.note("%s", a)
	}
	r.note("")

	// Throughput, in turns.
	var peerRate, ourRate []float64
	for range 3 {
		rate, err := throughput(s, cs[0].ask)
		if err != nil {
			return err
		}
		peerRate = append(peerRate, rate)
		if rate, err = throughput(s, cs[1].ask); err != nil {
			return err
		}
		ourRate = append(ourRate, rate)
	}
	slices.Sort(peerRate)
	slices.Sort(ourRate)
	r.note("hybrid throughput, %d clients\tqueries/s\t\tratio\ttarget", s.clients)
	r.note("chromem-go + bleve + RRF\t%.1f\t\t1\t", peerRate[1])
	r.note("assay dense + lexical + fusion, exact\t%.1f\t\t%.1f\t≥ 40\n", ourRate[1], ourRate[1]/peerRate[1])
	return nil
}

// nodePeers names a Node peer with the target of the engine's ratio to it.
func nodePeers(name string) string {
	switch name {
	case "sqlite":
		return "sqlite-vec + FTS5 + RRF in Node (target ≥ 50)"
	case "lance":
		return "LanceDB hybrid, IVF-PQ, in Node (target ≥ 6)"
	}
	return name
}

func totalLen(texts []string) int {
	n := 0
	for _, t := range texts {
		n += len(t)
	}
	return n
}

// watchHeap samples the heap until the function it returns is called, which gives the growth
// at its peak in bytes: of what the collector found in use, and of all it had not yet freed.
func watchHeap() func() (live, all uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	runtime.GC()
	metrics.Read(samples)
	var before, peak [2]uint64
	for i, s := range samples {
		before[i] = s.Value.Uint64()
	}
	peak = before
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			metrics.Read(samples)
			for i, s := range samples {
				peak[i] = max(peak[i], s.Value.Uint64())
			}
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() (live, all uint64) {
		close(stop)
		<-done
		return peak[0] - before[0], peak[1] - before[1]
	}
}

// throughput returns queries per second of clients that each ask one query after the other.
func throughput(s settings, ask func(i int) error) (float64, error) {
	var wg sync.WaitGroup
	counts := make([]int, s.clients)
	errs := make([]error, s.clients)
	start := time.Now()
	for c := range s.clients {
		wg.Go(func() {
			for i := c; time.Since(start) < s.span; i++ {
				if errs[c] = ask(i % s.queries); errs[c] != nil {
					return
				}
				counts[c]++
			}
		})
	}
	wg.Wait()
	took := time.Since(start).Seconds()
	total := 0
	for c := range counts {
		if errs[c] != nil {
			return 0, errs[c]
		}
		total += counts[c]
	}
	return float64(total) / took, nil
}

// growth measures vectors at several sizes.
func growth(ctx context.Context, s settings, r *report) error {
	for _, f := range strings.Split(s.growth, ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 {
			return fmt.Errorf("-growth: %q is no size", f)
		}
		s.n = n
		rows, queries := bench.Vectors(s.data, s.seed, n, s.dim, s.queries)
		path, _, err := vectors(ctx, s, r, rows, queries)
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
