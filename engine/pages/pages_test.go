package pages_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/pages"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/engine/serve/servetest"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/review"
	"github.com/seed792a4543/assay/evalkit/sweep"
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
	return append(out, "/", "/sweeps", "/sweep?id="+s.Sweep, "/login", "/nothing", "/compare?a="+s.LiveBuild+"&b="+s.Candidate, "/compare?a="+s.Candidate+"&b="+s.LiveBuild,
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
		{"/sweeps", 200, []string{s.Sweep, "hit@1", "quokkamerger &lt;b&gt;as it is"}},
		{"/sweep?id=" + s.Sweep, 200, []string{"<svg", "The numbers of this chart", "Recommended", "quokkamerger &lt;b&gt;", "hit@k over k", "index bytes", "Times of the machine"}},
		{"/run?build=" + s.LiveBuild, 200, []string{`href="/sweep?id=` + s.Sweep}},
		{"/sweep?id=ffffffffffff", 404, nil},
		{"/sweep?id=../../x", 404, nil},
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
		// So do a hidden sweep and one that does not exist.
		a, hidden = get(public, "/sweep?id="+s.Sweep)
		b, missing = get(public, "/sweep?id=ffffffffffff")
		if a != 404 || a != b || hidden[strings.Index(hidden, "<main"):] != missing[strings.Index(missing, "<main"):] {
			t.Errorf("a hidden sweep (%d) is told from one that is missing (%d)", a, b)
		}
		if _, body := get(board, "/sweep?id="+s.Sweep); !strings.Contains(body, "quokkamerger") {
			t.Error("whoever sees every document does not see the sweep")
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
	h := handler(t, s, serve.Caller{Name: "anna", All: true, Admin: true}, filepath.Join(t.TempDir(), "review.yaml"))
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
	if _, err := s.ValidateWith(t.Context(), s.Candidate, s.Set, s.Policy, engine.ValidateOptions{NoSelfTest: true, EvalOptions: engine.EvalOptions{Split: golden.Holdout}}); err != nil {
		t.Fatal(err)
	}
	asked := ""
	for _, q := range s.Set.Select(golden.Holdout) {
		if len(q.As) == 0 && q.Answerable {
			asked = q.ID
		}
	}
	run, compare := "/run?build="+s.LiveBuild+"&run="+v.Run, "/compare?a="+s.LiveBuild+"&b="+s.Candidate
	for _, path := range []string{run, compare, "/question?id=" + asked} {
		status, body := get(h, path)
		if status != 200 || !strings.Contains(body, "Show them, as anna") || !strings.Contains(body, `name="holdout" value="show"`) {
			t.Errorf("%s: %d, no offer to show the questions", path, status)
		}
		inHistory := strings.HasPrefix(path, "/question") && strings.Contains(body, v.Run)
		inList := !strings.HasPrefix(path, "/question") && strings.Contains(body, "/question?id=")
		if inHistory || inList || strings.Contains(body, `<article class="flip`) {
			t.Errorf("%s shows results of questions unasked", path)
		}
	}
	if n := looks(); n != 0 {
		t.Errorf("%d looks of anna before she asked for one", n)
	}
	for range 2 {
		if status, body := get(h, run+"&holdout=show"); status != 200 || !strings.Contains(body, "/question?id=") {
			t.Fatalf("status %d, or no questions", status)
		}
	}
	if n := looks(); n != 1 {
		t.Errorf("%d looks of anna in the ledger, want 1", n)
	}
	if _, body := get(h, compare+"&holdout=show"); !strings.Contains(body, `<input type="hidden" name="holdout" value="show">`) {
		t.Error("the form of a flip forgets that the holdout is shown")
	}
	if n := looks(); n != 2 { // another run
		t.Errorf("%d looks of anna in the ledger, want 2", n)
	}
	// Without a golden set at hand the look is recorded all the same.
	set := s.Set
	s.Set = nil
	other := handler(t, s, serve.Caller{Name: "anna", All: true}, "")
	if status, _ := get(other, run+"&holdout=show"); status != 200 || looks() != 3 {
		t.Errorf("%d, %d looks without the golden set, want 3", status, looks())
	}
	s.Set = set
}

// TestReportOfASweep: the report of a build shows the sweep that measured it, to readers who may see
// all of that.
func TestReportOfASweep(t *testing.T) {
	s := servetest.New(t)
	for _, tc := range []struct {
		name, build string
		o           pages.ReportOptions
		shown       bool
	}{
		{"measured", s.LiveBuild, pages.ReportOptions{Caller: serve.Caller{All: true}}, true},
		{"left out", s.LiveBuild, pages.ReportOptions{Caller: serve.Caller{All: true}, Sweep: pages.NoSweep}, false},
		{"not measured", s.Candidate, pages.ReportOptions{Caller: serve.Caller{All: true}}, false},
		{"named", s.Candidate, pages.ReportOptions{Caller: serve.Caller{All: true}, Sweep: s.Sweep[:5]}, true},
		{"all labels", s.LiveBuild, pages.ReportOptions{Caller: serve.Caller{As: []string{"board"}}}, true},
		{"no labels", s.LiveBuild, pages.ReportOptions{}, false},
	} {
		var b bytes.Buffer
		tc.o.Golden = s.Set
		if err := pages.Report(&b, s.Engine, tc.build, tc.o); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		body := b.String()
		if got := strings.Contains(body, "<figure"); got != tc.shown || got != strings.Contains(body, "The numbers of this chart") {
			t.Errorf("%s: shown %v, want %v", tc.name, got, tc.shown)
		}
		for _, bad := range []string{"<script", "<link", "<b>as it is", "ZgotmplZ"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s: the file holds %q", tc.name, bad)
			}
		}
	}
	err := pages.Report(io.Discard, s.Engine, s.LiveBuild, pages.ReportOptions{Sweep: s.Sweep})
	if !errors.Is(err, engine.ErrNoSweep) {
		t.Errorf("a sweep that readers may not see: %v", err)
	}
}

// TestConfirmation shows a sweep that was confirmed on the holdout: a look at totals, once a person.
func TestConfirmation(t *testing.T) {
	s := servetest.New(t)
	saved, err := s.SavedSweep(s.Sweep)
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, s, serve.Caller{Name: "anna", All: true}, "")
	looks := func() (n int) {
		entries, err := s.Ledger()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Action == "holdout" && e.Who == "anna" && e.Revealed == golden.RevealedTotals {
				n++
			}
		}
		return n
	}
	if status, _ := get(h, "/sweep?id="+s.Sweep); status != 200 || looks() != 0 {
		t.Errorf("%d, %d looks at a sweep that saw no holdout", status, looks())
	}
	saved.Report.Confirmed = &sweep.Confirmation{Variant: "words alone", Build: s.LiveBuild, Split: golden.Holdout, N: 3}
	if _, err := s.SaveSweep(t.Context(), &engine.SweepOutcome{Report: saved.Report, Times: saved.Times, ACLs: saved.ACLs}); err != nil {
		t.Fatal(err)
	}
	set := s.Set
	for _, golden := range []*golden.Set{set, nil} { // the server need not have the set
		s.Set = golden
		before, again := looks(), handler(t, s, serve.Caller{Name: "anna", All: true}, "")
		for range 2 {
			if status, body := get(again, "/sweep?id="+s.Sweep); status != 200 || !strings.Contains(body, "Confirmation on holdout") {
				t.Errorf("%d, or no confirmation", status)
			}
		}
		if n := looks() - before; n != 1 {
			t.Errorf("%d looks recorded, want 1", n)
		}
	}
}

// TestMarks looks at which parts of passages are marked.
func TestMarks(t *testing.T) {
	for _, tc := range []struct{ name, analyzer, text, query, want string }{
		{"other forms", "en", "Refunds come within days. A refund is money.", "refunding", "<mark>Refunds</mark> come within days. A <mark>refund</mark> is money."},
		{"accents", "standard", "Die Rückgabe endet.", "ruckgabe", "Die <mark>Rückgabe</mark> endet."},
		{"Vietnamese", "vi", "Đổi trả trong 7 ngày.", "doi tra", "<mark>Đổi</mark> <mark>trả</mark> trong 7 ngày."},
		{"pairs of characters", "cjk", "商品的退货期限为七天。", "退货期限", "商品的<mark>退货期限</mark>为七天。"},
		{"single characters", "cjk", "可以退吗", "退货", "可以<mark>退</mark>吗"},
		{"half-width", "cjk", "ﾊﾞｯﾃﾘｰ交換", "バッテリー", "<mark>ﾊﾞｯﾃﾘｰ</mark>交換"},
		{"codes", "standard", "Model (QX-310/B) is new.", "qx310b", "Model (<mark>QX-310/B</mark>) is new."},
		{"markup", "standard", "<b>kettle</b> & co", "kettle", "&lt;b&gt;<mark>kettle</mark>&lt;/b&gt; &amp; co"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := engine.Open(t.TempDir(), engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			docs := fstest.MapFS{"a.md": {Data: []byte("# A\n\n" + tc.text + "\n")}}
			for _, name := range []string{"b", "c", "d", "e", "f", "g"} { // words of the text must not be common
				docs[name+".md"] = &fstest.MapFile{Data: []byte("# " + name + "\n\nzzz\n")}
			}
			settings := engine.Settings{}
			settings.Lexical.Analyzer = tc.analyzer
			servetest.Promote(t, e, servetest.Build(t, e, docs, settings))
			s := &servetest.Store{Engine: e}
			_, body := get(handler(t, s, serve.Caller{}, ""), "/search?mode=lexical&q="+url.QueryEscape(tc.query))
			if !strings.Contains(body, tc.want) {
				at := strings.Index(body, `<p class="text">`)
				t.Errorf("not marked as %q: %s", tc.want, body[max(0, at):min(len(body), max(0, at)+300)])
			}
		})
	}
}
