package serve

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed792a4543/assay/engine"
)

// metrics counts what the server does. They are written in the text format that Prometheus
// reads; five families do not justify its client library and the modules that come with it.
// No label comes from a request or a document, so none can name what a caller may not see.
type metrics struct {
	mu       sync.Mutex
	requests map[requestLabels]uint64
	latency  map[string]*histogram // by endpoint
	stages   map[string]*histogram
	refusals uint64
	build    string
	swaps    uint64
}

type requestLabels struct {
	endpoint string
	status   int
}

func newMetrics() *metrics {
	return &metrics{requests: map[requestLabels]uint64{}, latency: map[string]*histogram{}, stages: map[string]*histogram{}}
}

// bounds are the upper bounds of the latency buckets in seconds.
var bounds = [...]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

type histogram struct {
	buckets [len(bounds) + 1]uint64
	sum     float64
}

func observe(m map[string]*histogram, name string, d time.Duration) {
	h := m[name]
	if h == nil {
		h = &histogram{}
		m[name] = h
	}
	s := d.Seconds()
	i, _ := slices.BinarySearch(bounds[:], s)
	h.buckets[i]++
	h.sum += s
}

func (m *metrics) request(endpoint string, status int, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[requestLabels{endpoint, status}]++
	observe(m.latency, endpoint, d)
}

// stage notes how long a stage of a request took.
func (m *metrics) stage(name string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	observe(m.stages, name, d)
}

func (m *metrics) refusal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusals++
}

// text returns everything in the exposition format, in a fixed order.
func (m *metrics) text(build string, inFlight int, caches []engine.CacheUse) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if build != m.build {
		if m.build != "" {
			m.swaps++
		}
		m.build = build
	}
	var b bytes.Buffer
	head := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }

	head("assay_requests_total", "counter", "Requests by endpoint and HTTP status.")
	keys := slices.SortedFunc(maps.Keys(m.requests), func(x, y requestLabels) int {
		return cmp.Or(cmp.Compare(x.endpoint, y.endpoint), x.status-y.status)
	})
	failed := uint64(0)
	for _, k := range keys {
		fmt.Fprintf(&b, "assay_requests_total{endpoint=%q,code=\"%d\"} %d\n", k.endpoint, k.status, m.requests[k])
		if k.status >= 500 {
			failed += m.requests[k]
		}
	}
	head("assay_errors_total", "counter", "Requests that failed with a status of 500 or more.")
	fmt.Fprintf(&b, "assay_errors_total %d\n", failed)
	head("assay_request_duration_seconds", "histogram", "Time to answer a request, by endpoint.")
	histograms(&b, "assay_request_duration_seconds", "endpoint", m.latency)
	head("assay_stage_duration_seconds", "histogram", "Time of a stage of a request, at every door: embed (the query's vector), vector, lexical, fuse, rerank, read, and search as their whole; rewrite and answer (the answerer alone); encode.")
	histograms(&b, "assay_stage_duration_seconds", "stage", m.stages)
	head("assay_cache_hits_total", "counter", "Times that a cache had what was asked of it: permissions, the sets of chunks that callers may see; embeddings, the vectors of queries.")
	for _, c := range caches {
		fmt.Fprintf(&b, "assay_cache_hits_total{cache=%q} %d\n", c.Name, c.Hits)
	}
	head("assay_cache_misses_total", "counter", "Times that it had not.")
	for _, c := range caches {
		fmt.Fprintf(&b, "assay_cache_misses_total{cache=%q} %d\n", c.Name, c.Misses)
	}
	head("assay_refused_answers_total", "counter", "Answers that said the documents hold none.")
	fmt.Fprintf(&b, "assay_refused_answers_total %d\n", m.refusals)
	head("assay_requests_in_flight", "gauge", "Requests at work now.")
	fmt.Fprintf(&b, "assay_requests_in_flight %d\n", inFlight)
	head("assay_ready", "gauge", "1 if a build is live and can be searched.")
	ready := 0
	if build != "" {
		ready = 1
	}
	fmt.Fprintf(&b, "assay_ready %d\n", ready)
	if build != "" {
		head("assay_build_info", "gauge", "The live build.")
		fmt.Fprintf(&b, "assay_build_info{build=%q} 1\n", build)
	}
	head("assay_build_swaps_total", "counter", "Changes of the live build seen by readers of these metrics.")
	fmt.Fprintf(&b, "assay_build_swaps_total %d\n", m.swaps)
	return b.Bytes()
}

func histograms(b *bytes.Buffer, name, label string, m map[string]*histogram) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		h, total := m[key], uint64(0)
		for i, n := range h.buckets {
			total += n
			le := "+Inf"
			if i < len(bounds) {
				le = strconv.FormatFloat(bounds[i], 'g', -1, 64)
			}
			fmt.Fprintf(b, "%s_bucket{%s=%q,le=%q} %d\n", name, label, key, le, total)
		}
		fmt.Fprintf(b, "%s_sum{%s=%q} %g\n%s_count{%s=%q} %d\n", name, label, key, h.sum, name, label, key, total)
	}
}

func (s *Server) writeMetrics(w http.ResponseWriter, _ *http.Request, _ Caller) error {
	send(w, http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", s.metrics.text(s.e.Live(), len(s.slots), s.e.Caches()))
	return nil
}
