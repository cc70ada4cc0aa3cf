package pages_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/pages"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/engine/serve/servetest"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/review"
)

// handler serves the pages to c, who needs no token.
func handler(t *testing.T, s *servetest.Store, c serve.Caller, reviewFile string) http.Handler {
	t.Helper()
	auth := serve.NewAuth(serve.AuthOptions{Local: &c})
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	return serve.New(s, serve.Options{Auth: auth, Log: log, Pages: pages.New(s.Engine, pages.Options{
		Auth: auth, Golden: func() (*golden.Set, error) { return s.Set, nil }, Policy: s.Policy, Review: reviewFile, Log: log,
	})})
}

func get(h http.Handler, path string) (int, string) {
	r := httptest.NewRequest("GET", path, nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func post(h http.Handler, path string, form url.Values, header ...string) (int, string) {
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// paths are all pages of a store that show anything.
func paths(s *servetest.Store) []string {
	var out []string
	for _, b := range []string{s.LiveBuild, s.Candidate} {
		out = append(out, "/run?build="+b, "/document?build="+b+"&doc=returns.md&start=0&end=10", "/document?build="+b+"&doc="+servetest.HiddenDoc+"&start=0&end=20")
		for _, q := range s.Set.Questions {
			out = append(out, "/question?id="+q.ID+"&build="+b)
		}
	}
	return append(out, "/", "/login", "/nothing", "/compare?a="+s.LiveBuild+"&b="+s.Candidate, "/compare?a="+s.Candidate+"&b="+s.LiveBuild,
		"/search", "/search?q=refund+window+delivery+fees+May&k=50", "/search?q=refund+window+delivery+fees+May&do=answer", "/search?q=refund&mode=lexical", "/search?q=refund&mode=magic")
}

func TestPages(t *testing.T) {
	s := servetest.New(t)
	h := handler(t, s, serve.Caller{Name: "anna", All: true, Admin: true}, filepath.Join(t.TempDir(), "review.yaml"))
	for _, tc := range []struct {
		path   string
		status int
		want   []string
	}{
		{"/", 200, []string{s.LiveBuild, s.Candidate, "compare with " + s.LiveBuild, "override"}},
		{"/run?build=" + s.Candidate, 200, []string{"hit@1", "Random", "Slices", "returns", "bicycles", "Verdict"}},
		{"/compare?a=" + s.LiveBuild + "&b=" + s.Candidate, 200, []string{`data-question="fan"`, "<mark>fan</mark>", `class="gold"`, `data-key="r"`, "Settings that differ"}},
		{"/question?id=fan", 200, []string{"How to dust fan blades?", "History", s.LiveBuild, s.Candidate, "By meaning", "By words"}},
		{"/document?doc=returns.md&start=11&end=40&q=conditions", 200, []string{`id="passage"`, "Goods come back"}},
		{"/search?q=descale+kettle", 200, []string{"<mark>kettle</mark>", "By meaning", s.LiveBuild}},
		{"/search?q=Within+how+many+days+do+goods+come+back&do=answer", 200, []string{"<blockquote>", "7 days"}},
		{"/run?build=ffffffffffff", 404, nil},
		{"/run?build=../../etc", 404, nil},
		{"/compare?a=" + s.LiveBuild + "&b=ffffffffffff", 404, nil},
		{"/question?id=none", 404, nil},
		{"/document?doc=none.md", 404, nil},
		{"/search?q=" + strings.Repeat("x", 10_001), 400, []string{"10000"}},
		{"/nothing", 404, []string{"There is no such page."}},
		{"/static/app.css", 200, nil},
		{"/static/../templates/run.html", 404, nil},
	} {
		status, body := get(h, tc.path)
		if status == 307 || status == 301 {
			continue // the path was cleaned; what it leads to is another test
		}
		if status != tc.status {
			t.Errorf("GET %.80s: %d, want %d", tc.path, status, tc.status)
		}
		for _, want := range tc.want {
			if !strings.Contains(body, want) {
				t.Errorf("GET %.80s: no %q", tc.path, want)
			}
		}
		if strings.Contains(body, "ZgotmplZ") {
			t.Errorf("GET %s: a value in a place that is not safe for it", tc.path)
		}
	}
}

func TestCanaries(t *testing.T) {
	t.Run("PM-03", func(t *testing.T) {
		s := servetest.New(t)
		public := handler(t, s, serve.Caller{Name: "local", Admin: true}, filepath.Join(t.TempDir(), "review.yaml"))
		board := handler(t, s, serve.Caller{Name: "board", As: []string{"board"}, Admin: true}, filepath.Join(t.TempDir(), "review.yaml"))
		found := false
		for _, path := range paths(s) {
			_, body := get(public, path)
			// The caller's own words, in its own address, come back to it.
			for _, c := range servetest.Canaries {
				if i := strings.Index(body, c); i >= 0 {
					t.Errorf("%s shows %q: …%s…", path, c, body[max(0, i-80):min(len(body), i+80)])
				}
			}
			if strings.Contains(body, "board-plans") {
				t.Errorf("%s names a question of the board", path)
			}
			_, body = get(board, path)
			found = found || strings.Contains(body, servetest.HiddenDoc)
		}
		if !found {
			t.Error("the board does not see its document anywhere: the test proves nothing")
		}
		// Totals count what is hidden.
		for _, path := range []string{"/", "/run?build=" + s.LiveBuild, "/compare?a=" + s.LiveBuild + "&b=" + s.Candidate} {
			_, body := get(public, path)
			if regexp.MustCompile(`<td class="n">(4|14|16)</td><td class="n">(14|16|17)</td>`).MatchString(body) || strings.Contains(body, "Random") || strings.Contains(body, "Measures side by side") {
				t.Errorf("%s shows totals", path)
			}
		}
		// A document that is hidden and one that does not exist look the same.
		a, hidden := get(public, "/document?doc="+servetest.HiddenDoc)
		b, missing := get(public, "/document?doc=no-such.md")
		if a != b || hidden[strings.Index(hidden, "<main"):] != missing[strings.Index(missing, "<main"):] {
			t.Error("a hidden document is told from one that is missing")
		}
		// Nor can a decision be attached to a question that is hidden.
		form := reviewForm(t, public, s)
		form.Set("question", "board-plans")
		if status, _ := post(public, "/review", form); status != 404 {
			t.Errorf("decision on a hidden question: %d", status)
		}
		var report bytes.Buffer
		for _, as := range [][]string{nil, {"board"}} {
			report.Reset()
			if err := pages.Report(&report, s.Engine, s.Candidate, pages.ReportOptions{Golden: s.Set, Policy: s.Policy, Caller: serve.Caller{As: as}}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(report.String(), servetest.HiddenDoc) != (as != nil) {
				t.Errorf("report for %v: hidden document shown: %v", as, as == nil)
			}
		}
	})
}

// reviewForm returns the fields that the page of a comparison sends.
func reviewForm(t *testing.T, h http.Handler, s *servetest.Store) url.Values {
	t.Helper()
	_, body := get(h, "/compare?a="+s.LiveBuild+"&b="+s.Candidate)
	m := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("no form on the page")
	}
	return url.Values{"csrf": {m[1]}, "a": {s.LiveBuild}, "b": {s.Candidate}, "question": {"fan"}, "decision": {"tie"}, "measure": {"hit@1"}}
}

func TestReviewForm(t *testing.T) {
	s := servetest.New(t)
	file := filepath.Join(t.TempDir(), "review.yaml")
	h := handler(t, s, serve.Caller{Name: "anna", All: true, Admin: true}, file)
	visitor := handler(t, s, serve.Caller{Name: "bob", All: true}, file)
	form := reviewForm(t, h, s)
	with := func(pairs ...string) url.Values {
		f := url.Values{}
		for k, v := range form {
			f[k] = v
		}
		for i := 0; i < len(pairs); i += 2 {
			f.Set(pairs[i], pairs[i+1])
		}
		return f
	}
	for _, tc := range []struct {
		name   string
		h      http.Handler
		form   url.Values
		header []string
		status int
	}{
		{"without the form's secret", h, with("csrf", ""), nil, 403},
		{"another secret", h, with("csrf", strings.Repeat("0", 32)), nil, 403},
		{"from another site", h, form, []string{"Origin", "https://evil.example"}, 403},
		{"from another site by its fetch metadata", h, form, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"unknown question", h, with("question", "none"), nil, 404},
		{"unknown decision", h, with("decision", "maybe"), nil, 400},
		{"label without a correction", h, with("decision", "label_wrong"), nil, 400},
		{"metric out of range", h, with("decision", "metric_wrong", "value_a", "2", "value_b", "0"), nil, 400},
		{"metric not a number", h, with("decision", "metric_wrong", "value_a", "NaN", "value_b", "0"), nil, 400},
		{"builds that are paths", h, with("a", "../x"), nil, 400},
	} {
		if status, body := post(tc.h, "/review", tc.form, tc.header...); status != tc.status {
			t.Errorf("%s: %d, want %d: %s", tc.name, status, tc.status, body)
		}
	}
	// A visitor's form comes from the same process and still saves nothing.
	_, body := get(visitor, "/login")
	m := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(body)
	if status, _ := post(visitor, "/review", with("csrf", m[1])); status != 403 {
		t.Errorf("a visitor: %d", status)
	}
	if _, err := os.Stat(file); err == nil {
		t.Fatal("a refused decision was saved")
	}
	for _, f := range []url.Values{
		with("reason", "both lists answer it"),
		with("decision", "label_wrong", "label", "add:delivery.md\nDelivery > Dust"),
		with("decision", "label_wrong", "label", "remove:care.md\nCare <script>alert(1)</script> > Fan"),
		with("decision", "metric_wrong", "value_a", "1", "value_b", "1"),
	} {
		if status, body := post(h, "/review", f, "Sec-Fetch-Site", "same-origin"); status != 303 {
			t.Errorf("%v: %d %s", f, status, body)
		}
	}
	saved, err := review.Load(file)
	if err != nil || len(saved.Decisions) != 4 {
		t.Fatalf("%v, %d decisions", err, len(saved.Decisions))
	}
	if d := saved.Decisions[0]; d.Reason != "both lists answer it" || d.Author != "anna" || d.Decision != review.Tie || d.Date == "" {
		t.Errorf("decision %+v", d)
	}
	if _, changes, err := review.Correct(s.Set, saved.Decisions[1:2]); err != nil || len(changes) != 1 {
		t.Errorf("the label correction cannot be applied: %v %v", changes, err)
	}
}

func TestReport(t *testing.T) {
	s := servetest.New(t)
	var b bytes.Buffer
	if err := pages.Report(&b, s.Engine, s.Candidate, pages.ReportOptions{Golden: s.Set, Policy: s.Policy, Caller: serve.Caller{All: true}}); err != nil {
		t.Fatal(err)
	}
	body := b.String()
	for _, want := range []string{"hit@1", "<style>", "Questions that changed", `data-question="fan"`, "<mark>", "bicycles", "policy digest"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, bad := range []string{"<script", "<link", "<form", "<button", " href=\"/", "<img", "url(", "@import", "ZgotmplZ"} {
		if strings.Contains(body, bad) {
			t.Errorf("the file holds %q", bad)
		}
	}
	if first, second := body, (func() string {
		b.Reset()
		_ = pages.Report(&b, s.Engine, s.Candidate, pages.ReportOptions{Golden: s.Set, Policy: s.Policy, Caller: serve.Caller{All: true}})
		return b.String()
	})(); first != second {
		t.Error("two reports of one run differ")
	}
}

// TestHoldout shows a run over the holdout: each person's look is recorded once.
func TestHoldout(t *testing.T) {
	s := servetest.New(t)
	for i := range s.Set.Questions {
		if i%2 == 0 {
			s.Set.Questions[i].Split = golden.Holdout
		}
	}
	v, err := s.ValidateWith(t.Context(), s.LiveBuild, s.Set, s.Policy, engine.ValidateOptions{NoSelfTest: true, EvalOptions: engine.EvalOptions{Split: golden.Holdout}})
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, s, serve.Caller{Name: "anna", All: true}, "")
	looks := func() int {
		entries, err := s.Ledger()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range entries {
			if e.Action == "holdout" && e.Who == "anna" && e.Revealed == golden.RevealedQuestions {
				n++
			}
		}
		return n
	}
	for range 2 {
		if status, _ := get(h, "/run?build="+s.LiveBuild+"&run="+v.Run); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	if n := looks(); n != 1 {
		t.Errorf("%d looks of anna in the ledger, want 1", n)
	}
}
