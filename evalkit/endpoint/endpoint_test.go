package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/endpoint"
	"github.com/seed792a4543/assay/evalkit/golden"
)

const shop = `schema: assay.golden/v1
name: shop
version: 1
questions:
  - {id: q1, question: 'Is "7 days" enough?', answerable: true, as: [staff], gold: [{doc: returns.md, section: Returns > Conditions}]}
  - {id: q2, question: Fees & speed, answerable: true, gold: [{doc: delivery.md, section: Delivery > Fees}]}
`

func set(t *testing.T) *golden.Set {
	t.Helper()
	s, err := golden.Parse("golden.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func documents(t *testing.T) *corpus.Collection {
	t.Helper()
	c, err := corpus.FS("shop", fstest.MapFS{
		"returns.md":  {Data: []byte("# Returns\n\n## Conditions\nGoods come back within 7 days.\n")},
		"delivery.md": {Data: []byte("# Delivery\n\n## Fees\nFree from 500,000 VND on.\n")},
	}, corpus.Options{}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func spec(t *testing.T, text string) *endpoint.Spec {
	t.Helper()
	s, err := endpoint.Parse("search.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestAsk(t *testing.T) {
	var bodies atomic.Value
	bodies.Store(map[string]string{})
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if r.Header.Get("Authorization") != "Bearer sesame" || r.Method != http.MethodPost {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
		q := body["query"].(map[string]any)
		switch q["text"] {
		case `Is "7 days" enough?`:
			if diff := cmp.Diff(map[string]any{"query": map[string]any{"text": q["text"], "note": "asked as staff, 5 hits"}, "size": 5., "labels": []any{"staff"}}, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			fmt.Fprint(w, `{"result":{"hits":[
				{"_id":"kb/returns","_score":3.5,"path":["Returns","Conditions"],"from":11,"to":20},
				{"_id":"kb/delivery","_score":1,"path":["Delivery","Fees"],"from":12,"to":20}]}}`)
		case "Fees & speed":
			fmt.Fprint(w, `{"result":{"hits":null}}`)
		default:
			t.Errorf("question %v", q["text"])
		}
	})
	s := spec(t, `
name: engine x
url: `+at+`/search?trace={id}
headers: {Authorization: "Bearer ${KEY}"}
body: {query: {text: "{question}", note: "asked as {as}, {k} hits"}, size: "{k}", labels: "{as}"}
k: 5
hits: {list: result.hits, doc: _id, strip: kb/, append: .md, score: _score, section: path, start: from, end: to}
`)
	res, err := endpoint.Ask(t.Context(), s, set(t), endpoint.Options{Documents: documents(t), Getenv: func(string) string { return "sesame" }})
	if err != nil {
		t.Fatal(err)
	}
	want := &evalkit.Run{Tag: "engine x", Build: "engine x", Results: []evalkit.Result{
		{Question: "q1", Hits: []evalkit.Hit{
			{Chunk: "returns.md#11-20", Doc: "returns.md", Section: "Returns > Conditions", Span: corpus.Span{Start: 11, End: 20}, Score: 3.5},
			{Chunk: "delivery.md#12-20", Doc: "delivery.md", Section: "Delivery > Fees", Span: corpus.Span{Start: 12, End: 20}, Score: 1},
		}},
		{Question: "q2", Hits: []evalkit.Hit{}},
	}}
	if diff := cmp.Diff(want, res.Run); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	ev, err := evalkit.Evaluate(set(t), documents(t), res.Run, evalkit.Options{Rule: evalkit.RuleSection})
	if err != nil {
		t.Fatal(err)
	}
	if m := ev.Measures["hit@1"]; m.Mean.String() != "0.5000" || ev.Counts.NoResult != 1 {
		t.Errorf("hit@1 %s, %+v, want one question found and one without result", m.Mean, ev.Counts)
	}
	if _, err := endpoint.Ask(t.Context(), s, set(t), endpoint.Options{}); err == nil || !strings.Contains(err.Error(), "KEY") {
		t.Errorf("no key: %v, want an error that names the variable", err)
	}
}

func TestGet(t *testing.T) {
	t.Run("escaped", func(t *testing.T) {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query().Get("q")
			if q != `Is "7 days" enough?` && q != "Fees & speed" || r.URL.Query().Get("n") != "10" {
				t.Errorf("query %v", r.URL.Query())
			}
			// The list is the answer, a hit is an id, and its place is found by its text.
			fmt.Fprint(w, `[["returns.md","Goods come back"],["delivery.md","not in there"]]`)
		})
		s := spec(t, "url: "+at+"/?q={question}&n={k}\nhits: {doc: '0', text: '1'}\n")
		res, err := endpoint.Ask(t.Context(), s, set(t), endpoint.Options{Documents: documents(t)})
		if err != nil {
			t.Fatal(err)
		}
		got := res.Run.Results[1].Hits
		if len(got) != 2 || got[0].Section != "Returns > Conditions" || got[0].Score != 1 || got[1].Score != .5 || got[1].Span.End != 0 {
			t.Errorf("%+v, want the first placed by its text and scores by rank", got)
		}
	})
	t.Run("distance", func(t *testing.T) {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"a.b":[{"d":"a","s":"0.25"},{"d":7,"s":0.5}]}`)
		})
		s := spec(t, "url: "+at+"/?q={question}\nhits: {list: 'a\\.b', doc: d, score: s, distance: true}\n")
		res, err := endpoint.Ask(t.Context(), s, set(t), endpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := res.Run.Results[0].Hits
		if len(got) != 2 || got[0].Score != -.25 || got[1].Doc != "7" || got[1].Score >= got[0].Score {
			t.Errorf("%+v, want the nearer one above", got)
		}
	})
}

func TestFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []string // status and body, the last one repeated
		hits    string
		want    string // part of the error, "" for success
		calls   int64  // for each question
	}{
		"busy once":        {[]string{"429 slow down", "200 []"}, "{doc: .}", "", 2},
		"broken for good":  {[]string{"503 no"}, "{doc: .}", "503 Service Unavailable: no (3 tries)", 3},
		"refused":          {[]string{"403 wrong key"}, "{doc: .}", "wrong key", 1},
		"redirect":         {[]string{"302 elsewhere"}, "{doc: .}", "302", 1},
		"not JSON":         {[]string{"200 <html>"}, "{doc: .}", "not JSON", 1},
		"no list":          {[]string{`200 {"hits":1}`}, "{list: hits, doc: .}", "not a list", 1},
		"no key":           {[]string{`200 {"hit":[]}`}, "{list: hits, doc: .}", `no key "hits"`, 1},
		"no id":            {[]string{`200 [{"id":""}]`}, "{doc: id}", "hit 1: hits.doc: the id is empty", 1},
		"no score":         {[]string{`200 [{"id":"a"}]`}, "{doc: id, score: s}", "hits.score", 1},
		"score is no text": {[]string{`200 [{"id":"a","s":"NaN"}]`}, "{doc: id, score: s}", "NaN is no score", 1},
		"span turned":      {[]string{`200 [{"id":"a","s":9,"e":3}]`}, "{doc: id, start: s, end: e}", "before start", 1},
		"repeated":         {[]string{`200 [{"id":"a","c":"x"},{"id":"a","c":"x"}]`}, "{doc: id, chunk: c}", "repeats the chunk", 1},
		"too long":         {[]string{"200 [" + strings.Repeat(" ", 200) + "]"}, "{doc: .}", "longer than 100 bytes", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var calls [2]atomic.Int64
			at := serve(t, func(w http.ResponseWriter, r *http.Request) {
				i := 0
				if strings.HasPrefix(r.URL.Query().Get("q"), "Fees") {
					i = 1
				}
				n := int(calls[i].Add(1))
				answer := tt.answers[min(n, len(tt.answers))-1]
				var code int
				fmt.Sscanf(answer, "%d", &code)
				if code == 302 {
					w.Header().Set("Location", "/other")
				}
				w.WriteHeader(code)
				fmt.Fprint(w, answer[4:])
			})
			s := spec(t, "url: "+at+"/?q={question}\nmax_bytes: 100\nhits: "+tt.hits+"\n")
			res, err := endpoint.Ask(t.Context(), s, set(t), endpoint.Options{Wait: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range res.Run.Results {
				if tt.want == "" && r.Err != "" || !strings.Contains(r.Err, tt.want) || r.Err != "" && r.Hits != nil {
					t.Errorf("%+v, want %q", r, tt.want)
				}
				if n := calls[i].Load(); n != tt.calls {
					t.Errorf("%d requests, want %d", n, tt.calls)
				}
			}
		})
	}
	t.Run("timeout", func(t *testing.T) {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		s := spec(t, "url: "+at+"/?q={question}\ntimeout: 20ms\ntries: 2\nhits: {doc: .}\n")
		res, err := endpoint.Ask(t.Context(), s, set(t), endpoint.Options{Wait: time.Millisecond})
		if err != nil || !strings.Contains(res.Run.Results[0].Err, "deadline") {
			t.Errorf("%+v, %v, want errors that name the deadline", res, err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		at := serve(t, func(w http.ResponseWriter, r *http.Request) { cancel() })
		if res, err := endpoint.Ask(ctx, spec(t, "url: "+at+"/?q={question}\nhits: {doc: .}\n"), set(t), endpoint.Options{}); !errors.Is(err, context.Canceled) || res != nil {
			t.Errorf("%+v, %v, want context.Canceled alone", res, err)
		}
	})
	t.Run("foreign document", func(t *testing.T) {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `["elsewhere.md"]`) })
		res, err := endpoint.Ask(t.Context(), spec(t, "url: "+at+"/?q={question}\nhits: {doc: .}\n"), set(t), endpoint.Options{Documents: documents(t)})
		if err != nil || !strings.Contains(res.Run.Results[0].Err, "not in the corpus") {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

func TestParse(t *testing.T) {
	const good = "url: http://h/?q={question}\nhits: {doc: .}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":          {"", "empty"},
		"unknown key":    {good + "retries: 3\n", "search.yaml:"},
		"repeated key":   {good + "url: http://h\n", "search.yaml:"},
		"no url":         {"hits: {doc: .}\n", "url is missing"},
		"scheme":         {"url: ftp://h/{question}\nhits: {doc: .}\n", "http://"},
		"password":       {"url: http://u:p@h/{question}\nhits: {doc: .}\n", "password"},
		"no doc":         {"url: http://h/{question}\nhits: {list: a}\n", "hits.doc"},
		"no question":    {"url: http://h/\nhits: {doc: .}\n", "{question}"},
		"start alone":    {"url: http://h/{question}\nhits: {doc: ., start: s}\n", "both or neither"},
		"method":         {good + "method: DELETE\n", "GET or POST"},
		"body with GET":  {good + "method: GET\nbody: {a: 1}\n", "POST"},
		"k":              {good + "k: -1\n", "k is out of range"},
		"bad header":     {good + "headers: {a: \"b\\nc\"}\n", "headers"},
		"not a template": {"- 1\n", "search.yaml:"},
	} {
		if _, err := endpoint.Parse("search.yaml", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, tt.want)
		}
	}
	if _, err := endpoint.Load("no-such.yaml"); !endpoint.IsMissing(err) {
		t.Errorf("missing file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("url: http://h/?q={question}\nhits: {doc: .}\n")
	f.Add("url: http://h\nbody: {a: ['{question}', {b: '{k}'}]}\nhits: {list: a.0, doc: 'x\\.y', start: s, end: e}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := endpoint.Parse("f", []byte(text))
		if err == nil && s.Validate() != nil {
			t.Errorf("parsed, but not valid: %v", s.Validate())
		}
	})
}
