package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

var _ index.Embedder = (*Embedder)(nil)

// server is a scripted embeddings server. reply gets the inputs of each request and its number
// from 0; what it returns is sent.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	inputs [][]string
	bodies []string
	auth   []string
}

func (s *server) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inputs)
}

func serve(t *testing.T, reply func(w http.ResponseWriter, n int, inputs []string)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/embeddings" {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var q struct {
			Input []string `json:"input"`
		}
		if err := json.Unmarshal(body, &q); err != nil {
			t.Errorf("request body %q: %v", body, err)
		}
		s.mu.Lock()
		n := len(s.inputs)
		s.inputs, s.bodies, s.auth = append(s.inputs, q.Input), append(s.bodies, string(body)), append(s.auth, r.Header.Get("Authorization"))
		s.mu.Unlock()
		reply(w, n, q.Input)
	}))
	t.Cleanup(s.Close)
	return s
}

// good answers every input with a vector that depends on its length.
func good(w http.ResponseWriter, inputs []string) {
	var items []string
	for i, in := range inputs {
		items = append(items, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(in)))
	}
	fmt.Fprintf(w, `{"data":[%s],"model":"m"}`, strings.Join(items, ","))
}

func text(body string) func(http.ResponseWriter, int, []string) {
	return func(w http.ResponseWriter, _ int, _ []string) { _, _ = io.WriteString(w, body) }
}

// fast makes waiting instantaneous and records it.
func fast(o Options) (Options, *[]time.Duration) {
	var mu sync.Mutex
	waits, clock := &[]time.Duration{}, time.Unix(1_700_000_000, 0)
	o.Sleep = func(ctx context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		*waits = append(*waits, d)
		clock = clock.Add(d)
		return ctx.Err()
	}
	o.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return clock
	}
	o.Jitter = func() float64 { return 0.5 }
	return o, waits
}

func client(t *testing.T, s *server, o Options) *Embedder {
	t.Helper()
	if o.URL == "" {
		o.URL = s.URL + "/v1"
	}
	if o.Model == "" {
		o.Model = "m"
	}
	if o.Sleep == nil {
		o, _ = fast(o)
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

func TestOpenAI(t *testing.T) {
	ctx := context.Background()

	t.Run("EM-01", func(t *testing.T) {
		for _, tt := range []struct{ name, body, err string }{
			{"swapped", `{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}`, ""},
			{"no index", `{"data":[{"embedding":[1,0]},{"embedding":[0,1]}]}`, ""},
			{"repeated", `{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[0,1]}]}`, "index 0 twice among 2 vectors for 2 texts"},
			{"negative", `{"data":[{"index":-1,"embedding":[1,0]},{"index":0,"embedding":[0,1]}]}`, "index -1 among 2 vectors for 2 texts"},
			{"too high", `{"data":[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[0,1]}]}`, "index 2 among 2"},
			{"mix", `{"data":[{"index":0,"embedding":[1,0]},{"embedding":[0,1]}]}`, "index to 1 of its 2"},
			{"too many", `{"data":[{"embedding":[1,0]},{"embedding":[0,1]},{"embedding":[0,1]}]}`, "3 vectors for 2 texts"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := serve(t, text(tt.body))
				got, err := client(t, s, Options{}).Embed(ctx, []string{"a", "b"}, index.KindDocument)
				if tt.err != "" {
					wantError(t, err, tt.err)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff([][]float32{{1, 0}, {0, 1}}, got); d != "" {
					t.Error(d)
				}
			})
		}
	})

	t.Run("EM-02", func(t *testing.T) {
		for _, tt := range []struct{ name, body, err string }{
			{"fewer", `{"data":[{"index":0,"embedding":[1,0]}]}`, "1 vectors for 2 texts"},
			{"none", `{"data":[]}`, "0 vectors for 2 texts"},
			{"empty", `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, "dimension 0"},
			{"absent", `{"data":[{"index":0},{"index":1}]}`, "no vector"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := serve(t, text(tt.body))
				rows, err := client(t, s, Options{}).Embed(ctx, []string{"a", "b"}, index.KindDocument)
				wantError(t, err, tt.err)
				if len(rows) != 0 {
					t.Errorf("%d rows beside the error", len(rows))
				}
			})
		}
	})

	t.Run("EM-03", func(t *testing.T) {
		for _, tt := range []struct {
			name   string
			status int
			body   string
			tries  int
			parts  []string
		}{
			{"loading", 200, `{"error":{"message":"model is loading"}}`, 3, []string{"status 200", "model is loading", "3 tries"}},
			{"bad gateway", 502, `<html>bad gateway</html>`, 3, []string{"status 502", "<html>bad gateway</html>", "3 tries"}},
			{"string error", 400, `{"error":"input length exceeds context length"}`, 1, []string{"status 400", "input length exceeds context length", "max_tokens"}},
			{"cut body", 200, `{"data":[{"index":0,"embe`, 1, []string{"status 200", `{"data":[{"index":0,"embe`}},
			{"html", 200, `<!doctype html><title>Router</title>`, 1, []string{"<!doctype html>"}},
			{"not found", 404, `{"error":{"message":"model \"m\" not found"}}`, 1, []string{"not found", "does the url end in /v1"}},
			{"unauthorised", 401, `{"error":{"message":"no key"}}`, 1, []string{"status 401", "key_env"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, _ int, _ []string) {
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, tt.body)
				})
				host := strings.TrimPrefix(s.URL, "http://")
				rows, err := client(t, s, Options{URL: "http://user:secret-pass@" + host + "/v1", Tries: 3}).Embed(ctx, []string{"a"}, index.KindDocument)
				wantError(t, err, append(tt.parts, s.URL+"/v1")...)
				if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "user") {
					t.Errorf("credentials in %q", err)
				}
				if len(rows) != 0 || s.requests() != tt.tries {
					t.Errorf("%d rows, %d requests; want 0 and %d", len(rows), s.requests(), tt.tries)
				}
			})
		}
		t.Run("broken connection", func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ int, _ []string) {
				w.Header().Set("Content-Length", "1000")
				_, _ = io.WriteString(w, `{"data":[`)
			})
			_, err := client(t, s, Options{Tries: 2}).Embed(ctx, []string{"a"}, index.KindDocument)
			wantError(t, err, "broke off after 9 bytes", "2 tries", s.URL)
		})
		t.Run("nobody there", func(t *testing.T) {
			s := serve(t, text(""))
			s.Close()
			_, err := client(t, s, Options{Tries: 2}).Embed(ctx, []string{"a"}, index.KindDocument)
			wantError(t, err, "is it running", "2 tries")
		})
	})

	t.Run("EM-04", func(t *testing.T) {
		bad := "the bad paragraph, which goes on for rather more than sixty characters in all"
		texts := []string{"a", "bb", "ccc", "dddd", bad, "f", "gg", "hhh"}
		nan := func(w http.ResponseWriter, _ int, in []string) {
			for _, x := range in {
				if x == bad {
					w.WriteHeader(500)
					_, _ = io.WriteString(w, `{"error":"failed to encode response: json: unsupported value: NaN"}`)
					return
				}
			}
			good(w, in)
		}
		t.Run("named", func(t *testing.T) {
			s := serve(t, nan)
			rows, err := client(t, s, Options{}).Embed(ctx, texts, index.KindDocument)
			wantError(t, err, "text 4", "the bad paragraph", "NaN")
			var te *unit.TextError
			if !errors.As(err, &te) || te.Index != 4 || len([]rune(te.Text)) != 60 {
				t.Errorf("error %#v does not name text 4 by its first 60 runes", err)
			}
			if len(rows) != 4 || s.requests() != 9 {
				t.Errorf("%d rows, %d requests; want 4 and 1+8", len(rows), s.requests())
			}
		})
		t.Run("skipped", func(t *testing.T) {
			s := serve(t, nan)
			e := client(t, s, Options{SkipBad: true})
			rows, err := e.Embed(ctx, texts, index.KindDocument)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range rows {
				if (r == nil) != (i == 4) {
					t.Errorf("row %d is %v", i, r)
				}
			}
			if x := e.Stats().Excluded; len(x) != 1 || x[0].Digest != unit.Digest(bad) || !strings.Contains(x[0].Reason, "NaN") {
				t.Errorf("excluded %+v", x)
			}
		})
		t.Run("server and not a text", func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ int, _ []string) {
				w.WriteHeader(400)
				_, _ = io.WriteString(w, `{"error":"no"}`)
			})
			_, err := client(t, s, Options{SkipBad: true}).Embed(ctx, texts, index.KindDocument)
			wantError(t, err, "each of 8 texts")
		})
		for name, vector := range map[string]string{
			"null": `[null,1]`, "zero": `[0,0]`, "overflow": `[1e999,1]`, "string": `["1",1]`, "tokens": `[[1,2],[3,4]]`, "NaN": `[NaN,1]`, "no vector": `null`,
		} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, text(`{"data":[{"index":0,"embedding":`+vector+`}]}`))
				_, err := client(t, s, Options{Tries: 1}).Embed(ctx, []string{"the text"}, index.KindDocument)
				wantError(t, err, "the text")
			})
		}
	})

	t.Run("EM-05", func(t *testing.T) {
		const window = 300
		cutting := func(w http.ResponseWriter, _ int, in []string) {
			var items []string
			tokens := 0
			for i, x := range in {
				words := strings.Fields(x)
				words = words[:min(window, len(words))]
				tokens += len(words)
				sum := [3]int{1, 0, 0}
				for _, w := range words {
					sum[len(w)%3] += len(w)
				}
				sum[1] += int(words[len(words)-1][0]) // the end counts
				items = append(items, fmt.Sprintf(`{"index":%d,"embedding":[%d,%d,%d]}`, i, sum[0], sum[1], sum[2]))
			}
			fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":%d}}`, strings.Join(items, ","), tokens)
		}
		long := strings.Repeat("word ", 900) + "The deposit is 40."
		t.Run("probe", func(t *testing.T) {
			s := serve(t, cutting)
			e := client(t, s, Options{ProbeWindow: true})
			if err := e.Prepare(ctx); err != nil {
				t.Fatal(err)
			}
			w, err := e.MeasureWindow(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if !w.Truncates || w.Tokens != window || w.Words > window || w.Words < window-20 {
				t.Errorf("window %+v, want one of %d", w, window)
			}
			if f := e.Fingerprint(); f.Dimension != 3 || !strings.Contains(f.Input, "split at 300") {
				t.Errorf("fingerprint %+v", f)
			}
		})
		t.Run("probe as far as the longest text", func(t *testing.T) {
			for _, tt := range []struct{ longest, requests, limit int }{
				{1, 1, 0},      // at least 64 words
				{200, 3, 0},    // 64, 128, 200: all read
				{310, 10, 300}, // 64, 128, 256, 310, then halved
			} {
				s := serve(t, cutting)
				e := client(t, s, Options{ProbeWindow: true, ProbeTokens: tt.longest, Dimension: 3})
				if err := e.Prepare(ctx); err != nil {
					t.Fatal(err)
				}
				if got := InputLimit(e.Fingerprint()); got != tt.limit || s.requests() > tt.requests {
					t.Errorf("longest %d: limit %d after %d requests, want %d after at most %d", tt.longest, got, s.requests(), tt.limit, tt.requests)
				}
				if got := e.TooLong(long, index.KindDocument); got != (tt.limit > 0) || e.TooLong("short", index.KindDocument) {
					t.Errorf("longest %d: a text of %d tokens is too long: %v", tt.longest, EstimateTokens(long), got)
				}
				again := client(t, s, Options{MaxTokens: InputLimit(e.Fingerprint()), Dimension: 3})
				if again.Fingerprint() != e.Fingerprint() {
					t.Errorf("with the limit as a setting: %+v, want %+v", again.Fingerprint(), e.Fingerprint())
				}
			}
		})
		// A tokenizer that cuts words into syllables, as a real server had one.
		t.Run("dense tokens", func(t *testing.T) {
			for _, each := range []struct {
				probe, other int // tokens of the probe's words and of all others
				limit        int
				warned       bool
			}{
				{1, 1, 512, false},
				{3, 3, 170, false}, // the probe tells
				{1, 3, 512, true},  // the probe's words are tokens, others are not
			} {
				s := serve(t, func(w http.ResponseWriter, _ int, in []string) {
					var items []string
					tokens := 0
					for i, x := range in {
						left := 512
						v := [3]int{1, 0, 0}
						for _, word := range strings.Fields(x) {
							n := each.other
							if word == "one" || word == "red" || word == "sea" {
								n = each.probe
							}
							if left -= n; left < 0 {
								left += n
								break
							}
							v[int(word[0])%3]++
						}
						tokens += 512 - left
						items = append(items, fmt.Sprintf(`{"index":%d,"embedding":[%d,%d,%d]}`, i, v[0], v[1], v[2]))
					}
					fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":%d}}`, strings.Join(items, ","), tokens)
				})
				e := client(t, s, Options{ProbeWindow: true, ProbeTokens: 2000, Dimension: 3, Batch: 1})
				if err := e.Prepare(ctx); err != nil {
					t.Fatal(err)
				}
				if got := InputLimit(e.Fingerprint()); got > each.limit || got < each.limit*15/16-tailWords {
					t.Errorf("%+v: limit %d", each, got)
				}
				if _, err := e.Embed(ctx, []string{"word word", strings.Repeat("word ", 300)}, index.KindDocument); err != nil {
					t.Fatal(err)
				}
				w := strings.Join(e.Stats().Warnings, "\n")
				if strings.Contains(w, "do not fit into its 51") != each.warned {
					t.Errorf("%+v: warnings %q", each, w)
				}
			}
		})
		t.Run("no limit", func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ int, in []string) {
				var items []string
				for i, x := range in {
					items = append(items, fmt.Sprintf(`{"index":%d,"embedding":[%d,%d]}`, i, strings.Count(x, "red")+1, strings.Count(x, "sea")+1))
				}
				fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(items, ","))
			})
			w, err := client(t, s, Options{}).MeasureWindow(ctx)
			if err != nil || w.Limit() != 0 || w.Words != maxWindow-tailWords {
				t.Errorf("window %+v, %v", w, err)
			}
		})
		t.Run("split", func(t *testing.T) {
			s := serve(t, cutting)
			e := client(t, s, Options{MaxTokens: 290, DocumentPrefix: "doc: "})
			rows, err := e.Embed(ctx, []string{long}, index.KindDocument)
			if err != nil || len(rows) != 1 || unit.Check(rows[0], 3) != nil {
				t.Fatal(rows, err)
			}
			var all strings.Builder
			for _, in := range s.inputs {
				for _, x := range in {
					if EstimateTokens(x) > 290 {
						t.Errorf("sent a part of %d tokens", EstimateTokens(x))
					}
					part, ok := strings.CutPrefix(x, "doc: ")
					if !ok {
						t.Errorf("part %.20q lacks the prefix", x)
					}
					all.WriteString(part)
				}
			}
			if !strings.HasSuffix(all.String(), "The deposit is 40.") {
				t.Error("the end of the text was not sent")
			}
			if e.Stats().Split != 1 || len(e.Stats().Warnings) != 0 {
				t.Errorf("stats %+v", e.Stats())
			}
		})
		t.Run("truncate", func(t *testing.T) {
			s := serve(t, cutting)
			e := client(t, s, Options{MaxTokens: 100, OverLong: "truncate"})
			if _, err := e.Embed(ctx, []string{long, "short"}, index.KindDocument); err != nil {
				t.Fatal(err)
			}
			if n := EstimateTokens(s.inputs[0][0]); n > 100 || n < 90 || e.Stats().Truncated != 1 {
				t.Errorf("sent %d tokens, stats %+v", n, e.Stats())
			}
		})
		t.Run("refuse", func(t *testing.T) {
			s := serve(t, cutting)
			_, err := client(t, s, Options{MaxTokens: 100, OverLong: "refuse"}).Embed(ctx, []string{"short", long}, index.KindDocument)
			wantError(t, err, "text 1", "limit of 100", "over_long")
			if s.requests() != 0 {
				t.Errorf("%d requests before the refusal", s.requests())
			}
		})
		t.Run("warning", func(t *testing.T) {
			s := serve(t, cutting)
			e := client(t, s, Options{Batch: 1})
			if _, err := e.Embed(ctx, []string{long, long + " More."}, index.KindDocument); err != nil {
				t.Fatal(err)
			}
			if w := strings.Join(e.Stats().Warnings, "\n"); !strings.Contains(w, "fewer tokens than the texts have words") || !strings.Contains(w, "set max_tokens to 300") {
				t.Errorf("warnings %q", w)
			}
		})
	})

	t.Run("EM-06", func(t *testing.T) {
		t.Run("retry after", func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, n int, in []string) {
				if n < 2 {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(429)
					return
				}
				good(w, in)
			})
			o, waits := fast(Options{})
			if _, err := client(t, s, o).Embed(ctx, []string{"a"}, index.KindDocument); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]time.Duration{time.Second, time.Second}, *waits); d != "" {
				t.Error(d)
			}
		})
		t.Run("backoff is bounded", func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ int, _ []string) { w.WriteHeader(503) })
			o, waits := fast(Options{Tries: 4})
			_, err := client(t, s, o).Embed(ctx, []string{"a", "b"}, index.KindDocument)
			// Half a second doubled, less a quarter with jitter ½.
			wantError(t, err, "4 tries in 2.625s", "status 503")
			if d := cmp.Diff([]time.Duration{375 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond}, *waits); d != "" {
				t.Error(d)
			}
			if s.requests() != 4 {
				t.Errorf("%d requests, want 4: retries in one layer only", s.requests())
			}
		})
		t.Run("too long a wait", func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ int, _ []string) {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(429)
			})
			_, err := client(t, s, Options{}).Embed(ctx, []string{"a"}, index.KindDocument)
			wantError(t, err, "1h0m0s")
			if s.requests() != 1 {
				t.Errorf("%d requests", s.requests())
			}
		})
		silent := func(t *testing.T) *server {
			release := make(chan struct{})
			s := serve(t, func(http.ResponseWriter, int, []string) { <-release })
			t.Cleanup(func() { close(release) })
			return s
		}
		t.Run("time limit", func(t *testing.T) {
			_, err := client(t, silent(t), Options{Timeout: 20 * time.Millisecond, Tries: 2}).Embed(ctx, []string{"a"}, index.KindDocument)
			wantError(t, err, "no reply within 20ms", "2 tries", "raise the timeout")
		})
		t.Run("cancelled", func(t *testing.T) {
			s := silent(t)
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				for s.requests() == 0 {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			rows, err := client(t, s, Options{}).Embed(ctx, []string{"a"}, index.KindDocument)
			if !errors.Is(err, context.Canceled) || len(rows) != 0 {
				t.Errorf("rows %v, error %v", rows, err)
			}
		})
		if o := (Options{}).withDefaults(); o.Timeout != 2*time.Minute {
			t.Errorf("default time limit %v: a batch of 70 s must fit", o.Timeout)
		}
	})

	t.Run("EM-07", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, _ int, in []string) { good(w, in) })
		base := client(t, s, Options{}).Fingerprint()
		for name, o := range map[string]Options{
			"model": {Model: "other"}, "revision": {Revision: "2"}, "document prefix": {DocumentPrefix: "d"},
			"query prefix": {QueryPrefix: "q"}, "dimensions": {Dimensions: 2}, "limit": {MaxTokens: 100},
		} {
			if client(t, s, o).Fingerprint() == base {
				t.Errorf("another %s leaves the fingerprint as it was", name)
			}
		}
	})

	t.Run("EM-08", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, _ int, in []string) { good(w, in) })
		e := client(t, s, Options{DocumentPrefix: "search_document: ", QueryPrefix: "search_query: "})
		for _, k := range []index.Kind{index.KindDocument, index.KindQuery} {
			if _, err := e.Embed(ctx, []string{"returns"}, k); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff([][]string{{"search_document: returns"}, {"search_query: returns"}}, s.inputs); d != "" {
			t.Error(d)
		}
		hint := client(t, s, Options{Model: "nomic-embed-text:latest"})
		if w := strings.Join(hint.Stats().Warnings, ""); !strings.Contains(w, `"search_query: "`) {
			t.Errorf("no hint: %q", w)
		}
		if f := hint.Fingerprint(); f.QueryPrefix != "" {
			t.Errorf("prefix %q was set unasked", f.QueryPrefix)
		}
	})
}

func TestKeys(t *testing.T) {
	const key = "sk-very-secret-0123456789"
	env := func(name string) string {
		if name == "MY_KEY" {
			return key + "\n"
		}
		return ""
	}
	s := serve(t, func(w http.ResponseWriter, _ int, _ []string) {
		w.WriteHeader(401)
		_, _ = io.WriteString(w, `{"error":{"message":"incorrect API key provided: `+key+`"}}`)
	})
	_, err := client(t, s, Options{KeyEnv: "MY_KEY", Getenv: env}).Embed(context.Background(), []string{"a"}, index.KindDocument)
	wantError(t, err, "$MY_KEY", "[removed]")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("key in %q", err)
	}
	if s.auth[0] != "Bearer "+key {
		t.Errorf("authorization %q", s.auth[0])
	}
	_, err = New(Options{URL: s.URL, Model: "m", KeyEnv: "OTHER", Getenv: env})
	wantError(t, err, "OTHER", "is empty")
}

func TestBatches(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ int, in []string) { good(w, in) })
	var last Progress
	e := client(t, s, Options{Batch: 3, BatchTokens: 34, Concurrency: 1, Dimensions: 2, Price: 2, Progress: func(p Progress) { last = p }})
	texts := []string{"a", "b", "a", "", " \n", "c", "d", strings.Repeat("long ", 30), "e"}
	rows, err := e.Embed(context.Background(), texts, index.KindDocument)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]string{{"a", "b", "c"}, {"d"}, {texts[7]}, {"e"}}, s.inputs); d != "" {
		t.Error(d)
	}
	for i, r := range rows {
		if (r == nil) != (i == 3 || i == 4) {
			t.Errorf("row %d of %q is %v", i, texts[i], r)
		}
	}
	if last.Done != len(texts) || last.Total != len(texts) || last.Tokens == 0 || last.Cost != float64(last.Tokens)*2/1e6 {
		t.Errorf("progress ends with %+v", last)
	}
	if !strings.Contains(s.bodies[0], `"dimensions":2`) {
		t.Errorf("body %s lacks dimensions", s.bodies[0])
	}
	if rows[0][0] = 9; rows[2][0] == 9 {
		t.Error("rows of equal texts share memory")
	}
}

func TestDimensionChecked(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ int, in []string) { good(w, in) })
	_, err := client(t, s, Options{Dimension: 3}).Embed(context.Background(), []string{"a"}, index.KindDocument)
	if !errors.Is(err, index.ErrDimension) {
		t.Errorf("error %v, want ErrDimension", err)
	}
}

func TestModelName(t *testing.T) {
	s := serve(t, text(`{"data":[{"index":0,"embedding":[1,0]}],"model":"another"}`))
	e := client(t, s, Options{})
	if _, err := e.Embed(context.Background(), []string{"a"}, index.KindDocument); err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(e.Stats().Warnings, ""); !strings.Contains(w, `answered by "another"`) {
		t.Errorf("warnings %q", w)
	}
	_, err := client(t, s, Options{StrictModel: true}).Embed(context.Background(), []string{"a"}, index.KindDocument)
	wantError(t, err, `answered by "another"`)
}

func TestOllamaDigest(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/tags" {
			_, _ = io.WriteString(w, `{"models":[{"name":"x:latest","digest":"111"},{"name":"m:latest","digest":"abc"}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"embedding":[1,0]}]}`)
	}))
	defer s.Close()
	e := client(t, nil, Options{URL: s.URL + "/v1"})
	if err := e.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := index.Fingerprint{Kind: "openai", Model: "m", Revision: "abc", Dimension: 2}
	if d := cmp.Diff(want, e.Fingerprint()); d != "" {
		t.Error(d)
	}
}

func TestValidate(t *testing.T) {
	for name, tt := range map[string]struct {
		o    Options
		want string
	}{
		"no url":      {Options{Model: "m"}, "no url"},
		"bad scheme":  {Options{URL: "ftp://u:p@h/v1", Model: "m"}, `"ftp://h/v1"`},
		"no model":    {Options{URL: "http://h/v1"}, "no model"},
		"over long":   {Options{URL: "http://h/v1", Model: "m", OverLong: "cut"}, "split, truncate or refuse"},
		"long prefix": {Options{URL: "http://h/v1", Model: "m", MaxTokens: 4, QueryPrefix: "a long prefix: "}, "no room"},
		"dimensions":  {Options{URL: "http://h/v1", Model: "m", Dimension: 2, Dimensions: 3}, "expects 2"},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, tt.o.Validate(), tt.want) })
	}
}

func FuzzReply(f *testing.F) {
	for _, s := range []string{`{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}`, `{"error":"x"}`, `{"data":[{"embedding":[null,NaN]}]}`, `<html>`, `{"data":null,"error":{"message":1}}`} {
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		n = min(max(n, 1), 8)
		_, raws, err := parseReply(body, n)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if len(raws) != n {
			t.Fatalf("%d vectors, want %d", len(raws), n)
		}
		for _, raw := range raws {
			if row, err := parseVector(raw); err == nil && unit.Check(row, len(row)) != nil {
				t.Errorf("accepted %s", raw)
			}
		}
	})
}

func FuzzCut(f *testing.F) {
	f.Add("The deposit is 40. Antidisestablishmentarianism — 七天内可以退货", 3)
	f.Fuzz(func(t *testing.T, text string, budget int) {
		budget = min(max(budget, 1), 50)
		joined := ""
		for rest := text; rest != ""; {
			var head string
			head, rest = cut(rest, budget)
			if head == "" {
				t.Fatalf("nothing cut from %q", rest)
			}
			if n := EstimateTokens(head) - perText; n > budget {
				t.Fatalf("%q has %d tokens, budget %d", head, n, budget)
			}
			joined += head
		}
		if joined != text {
			t.Fatalf("parts make %q, want %q", joined, text)
		}
	})
}
