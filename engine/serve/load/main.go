// Command load measures serving: clients ask a server over loopback HTTP without pause while
// another writer makes two builds live in turn. Every response is compared with what the build
// that it names answers when asked alone, so a response that mixes builds is found.
//
//	go run ./engine/serve/load -chunks 10000 -clients 32 -for 30s -promote 5s
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/index"
)

type options struct {
	chunks, clients, queries, k int
	duration, promote           time.Duration
	mode                        string
}

func main() {
	var o options
	flag.IntVar(&o.chunks, "chunks", 10_000, "chunks of each build")
	flag.IntVar(&o.clients, "clients", 32, "clients that ask without pause")
	flag.IntVar(&o.queries, "queries", 500, "different queries")
	flag.IntVar(&o.k, "k", 10, "hits of a query")
	flag.DurationVar(&o.duration, "for", 30*time.Second, "how long")
	flag.DurationVar(&o.promote, "promote", 5*time.Second, "time between promotions; 0 promotes none")
	flag.StringVar(&o.mode, "mode", "", "hybrid, vector or lexical; default the build's")
	flag.Parse()
	ok, err := run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(3)
	}
}

// collection makes documents of ten sections; two editions differ in every document.
func collection(o options, edition string) corpus.Source {
	rng := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(rng, 1.07, 8, 49_999)
	files := fstest.MapFS{}
	for d := range (o.chunks + 9) / 10 {
		var b strings.Builder
		for s := range min(10, o.chunks-10*d) {
			fmt.Fprintf(&b, "## Section %d\n\n", s)
			for w := range 60 {
				if w > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(word(zipf.Uint64()))
			}
			// A word of its edition moves every document's version, and some scores.
			fmt.Fprintf(&b, " %s.\n\n", edition)
		}
		files[fmt.Sprintf("doc-%06d.md", d)] = &fstest.MapFile{Data: []byte(b.String())}
	}
	return corpus.FS("load", files, corpus.Options{})
}

// word spells a number so that no stemmer or stop list changes it.
func word(n uint64) string {
	const consonants, vowels = "bdfgklmnprtvz", "aeiou"
	var b []byte
	for n += 65; n > 0; n /= 65 {
		b = append(b, consonants[n%13], vowels[n/13%5])
	}
	return string(b) + "x"
}

func queries(o options) []string {
	rng := rand.New(rand.NewPCG(8, 8))
	zipf := rand.NewZipf(rng, 1.07, 8, 49_999)
	out := make([]string, o.queries)
	for i := range out {
		var q []string
		for range 3 + rng.IntN(4) {
			q = append(q, word(zipf.Uint64()))
		}
		out[i] = strings.Join(q, " ")
	}
	return out
}

func run(ctx context.Context, o options) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "assay-load")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	e, err := engine.Open(dir, engine.Options{})
	if err != nil {
		return false, err
	}
	defer e.Close()
	var ids [2]string
	start := time.Now()
	for i, edition := range []string{"alphaedition", "betaedition"} {
		b, err := e.Build(ctx, collection(o, edition), engine.Settings{})
		if err != nil {
			return false, err
		}
		ids[i] = b.ID
	}
	built := time.Since(start)
	promote := func(e *engine.Engine, id string) error {
		_, err := e.PromoteWith(ctx, id, nil, engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "load", Why: "measure serving"}})
		return err
	}
	qs := queries(o)
	want, err := expected(ctx, e, ids, qs, o, promote)
	if err != nil {
		return false, err
	}
	info, err := e.BuildInfo(ids[0])
	if err != nil {
		return false, err
	}
	fmt.Printf("%s/%s, %d CPUs, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Printf("two builds of %d chunks in %s; %d queries, k %d, mode %s\n", info.Manifest.Counts.Chunks, built.Round(time.Millisecond), len(qs), o.k, cmp.Or(o.mode, "as built (hybrid)"))

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false, err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- serve.New(e, serve.Options{}).Serve(serving, l) }()

	// The writer is another engine on the same store, as another process would be.
	writer, err := engine.OpenStore(dir, engine.Options{})
	if err != nil {
		stop()
		return false, err
	}
	asking, end := context.WithTimeout(ctx, o.duration)
	defer end()
	promotions := 0
	var promoteErr error
	var wg sync.WaitGroup
	if o.promote > 0 {
		wg.Go(func() {
			tick := time.NewTicker(o.promote)
			defer tick.Stop()
			for i := 1; ; i++ {
				select {
				case <-asking.Done():
					return
				case <-tick.C:
				}
				if promoteErr = promote(writer, ids[i%2]); promoteErr != nil {
					return
				}
				promotions++
			}
		})
	}
	clients := make([]client, o.clients)
	begin := time.Now()
	for i := range clients {
		c := &clients[i]
		c.rng = rand.New(rand.NewPCG(uint64(i), 9))
		wg.Go(func() { c.ask(asking, "http://"+l.Addr().String()+"/v1/search", qs, want, o) })
	}
	wg.Wait()
	took := time.Since(begin)
	stop()
	if err := errors.Join(<-served, writer.Close(), promoteErr); err != nil {
		return false, err
	}
	swapped := o.promote == 0 || promotions > 0 // else the run shows nothing
	return report(clients, took, promotions) && swapped, nil
}

// expected asks every query of each build alone.
func expected(ctx context.Context, e *engine.Engine, ids [2]string, qs []string, o options, promote func(*engine.Engine, string) error) (map[string][][]index.Hit, error) {
	want := map[string][][]index.Hit{}
	for _, id := range []string{ids[1], ids[0]} { // the first one is live in the end
		if err := promote(e, id); err != nil {
			return nil, err
		}
		for _, q := range qs {
			r, err := e.Query(ctx, engine.Query{Text: q, K: o.k, Mode: o.mode})
			if err != nil {
				return nil, err
			}
			if r.Build != id {
				return nil, fmt.Errorf("build %s answers, %s is live", r.Build, id)
			}
			want[id] = append(want[id], r.Hits)
		}
	}
	differ := 0
	for i := range qs {
		if !same(want[ids[0]][i], want[ids[1]][i]) {
			differ++
		}
	}
	if differ < len(qs)*9/10 {
		return nil, fmt.Errorf("only %d of %d queries tell the builds apart", differ, len(qs))
	}
	return want, nil
}

func same(a, b []index.Hit) bool {
	return slices.EqualFunc(a, b, func(x, y index.Hit) bool {
		return x.Chunk == y.Chunk && x.DocVersion == y.DocVersion && x.Score == y.Score && x.Text == y.Text
	})
}

// client is one asker and what it saw.
type client struct {
	rng       *rand.Rand
	latencies []time.Duration
	failed    int
	mixed     int
	builds    map[string]int
	first     string // failure
}

func (c *client) ask(ctx context.Context, url string, qs []string, want map[string][][]index.Hit, o options) {
	c.builds = map[string]int{}
	h := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer h.CloseIdleConnections()
	for ctx.Err() == nil {
		i := c.rng.IntN(len(qs))
		body, err := json.Marshal(map[string]any{"query": qs[i], "k": o.k})
		if err == nil && o.mode != "" {
			body, err = json.Marshal(map[string]any{"query": qs[i], "k": o.k, "mode": o.mode})
		}
		var got serve.SearchBody
		start := time.Now()
		if err == nil {
			err = post(h, url, body, &got)
		}
		c.latencies = append(c.latencies, time.Since(start))
		lists, known := want[got.Build]
		switch {
		case err != nil:
			c.failed++
			c.first = cmp.Or(c.first, err.Error())
		case !known || !same(lists[i], got.Hits):
			c.mixed++
		}
		c.builds[got.Build]++
	}
}

func post(h *http.Client, url string, body []byte, to *serve.SearchBody) error {
	r, err := h.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	err = json.NewDecoder(r.Body).Decode(to)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", r.StatusCode)
	}
	return nil
}

func report(clients []client, took time.Duration, promotions int) (ok bool) {
	var all []time.Duration
	failed, mixed, builds, first := 0, 0, map[string]int{}, ""
	for i := range clients {
		c := &clients[i]
		all = append(all, c.latencies...)
		failed, mixed, first = failed+c.failed, mixed+c.mixed, cmp.Or(first, c.first)
		for id, n := range c.builds {
			builds[id] += n
		}
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[(len(all)*percent+99)/100-1].Round(10 * time.Microsecond) }
	fmt.Printf("%d clients, %s: %d requests, %.0f/s\n", len(clients), took.Round(time.Millisecond), len(all), float64(len(all))/took.Seconds())
	fmt.Printf("latency p50 %s, p90 %s, p99 %s, max %s\n", at(50), at(90), at(99), at(100))
	fmt.Printf("%d promotions; answers by build:", promotions)
	for _, n := range builds {
		fmt.Printf(" %d", n)
	}
	fmt.Printf("\nfailed %d, mixed %d\n", failed, mixed)
	if first != "" {
		fmt.Println("first failure:", first)
	}
	return failed == 0 && mixed == 0
}
