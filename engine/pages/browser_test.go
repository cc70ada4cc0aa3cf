package pages_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/pages"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/engine/serve/servetest"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/review"
)

// browser starts a headless Chromium, or skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed")
	}
	alloc, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-dev-shm-usage", true),
	)...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	run(t, ctx) // starts it; a time limit here would be that of its life
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// site serves a store and its pages; token admits a reviewer.
func site(t *testing.T, s *servetest.Store, local serve.Caller) (url, token, reviewFile string) {
	t.Helper()
	token, _, err := serve.NewToken("session", nil, false, true)
	if err != nil {
		t.Fatal(err)
	}
	auth := serve.NewAuth(serve.AuthOptions{Local: &local, Session: token})
	reviewFile = filepath.Join(t.TempDir(), "review.yaml")
	srv := httptest.NewServer(serve.New(s, serve.Options{Auth: auth, Pages: pages.New(s.Engine, pages.Options{
		Auth: auth, Golden: func() (*golden.Set, error) { return s.Set, nil }, Policy: s.Policy, Review: reviewFile,
	})}))
	t.Cleanup(srv.Close)
	return srv.URL, token, reviewFile
}

func run(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

func eval[T any](t *testing.T, ctx context.Context, js string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// until waits for a condition of the page.
func until(js string) chromedp.Action[chromedp.Void] {
	return chromedp.Poll[chromedp.Void](js, chromedp.WithPollingTimeout(20*time.Second))
}

// TestReview opens a comparison, decides flips with the keyboard, loads the page again and
// finds the decisions on it and in the review file.
func TestReview(t *testing.T) {
	ctx := browser(t)
	s := servetest.New(t)
	url, token, file := site(t, s, serve.Caller{Name: "anna", All: true})
	compare := url + "/compare?a=" + s.LiveBuild + "&b=" + s.Candidate
	const state = `document.querySelector("article.flip .state").textContent`
	run(t, ctx, chromedp.Navigate(url+"/login?token="+token), chromedp.Navigate(compare), chromedp.KeyEvent("j"))
	if n, focused := eval[int](t, ctx, `document.querySelectorAll("article.flip").length`), eval[string](t, ctx, `document.activeElement.dataset.question || ""`); n == 0 || focused == "" {
		t.Fatalf("%d flips, %q has the focus", n, focused)
	}
	run(t, ctx, chromedp.KeyEvent("r"), until(`document.querySelector("article.flip .is-decided") !== null`))
	if got := eval[string](t, ctx, state); !strings.HasPrefix(got, "Decided: regression (anna, ") {
		t.Errorf("state %q", got)
	}
	run(t, ctx, chromedp.Reload(), chromedp.WaitReady("article.flip"))
	if got := eval[string](t, ctx, state); !strings.HasPrefix(got, "Decided: regression (anna, ") {
		t.Errorf("after loading again: %q", got)
	}

	// Label wrong needs one choice more; all of it with keys.
	run(t, ctx, chromedp.KeyEvent("j"), chromedp.KeyEvent("l"))
	if focused := eval[string](t, ctx, `document.activeElement.tagName`); focused != "SELECT" {
		t.Fatalf("l moves the focus to %q", focused)
	}
	run(t, ctx,
		chromedp.KeyEvent(kb.End), // the last entry of the list retires the question
		chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter),
		until(`document.querySelector("article.flip .state").textContent.startsWith("Decided: label wrong")`),
	)
	// Metric wrong takes the right values of both builds.
	run(t, ctx,
		chromedp.KeyEvent("m"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter),
		until(`document.querySelector("article.flip .state").textContent.startsWith("Decided: metric wrong")`),
	)
	f, err := review.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, d := range f.Decisions {
		kinds = append(kinds, string(d.Decision))
		if d.Author != "anna" || d.Builds[0] != s.LiveBuild || d.Builds[1] != s.Candidate {
			t.Errorf("decision %+v", d)
		}
	}
	if got := strings.Join(kinds, " "); got != "regression label_wrong metric_wrong" {
		t.Errorf("decisions in the file: %s", got)
	}
}

// audit finds what keeps people out of a page: it returns a list of problems.
const audit = `(() => {
  const out = [], add = (m, e) => out.push(m + ": " + e.outerHTML.slice(0, 120));
  const shown = (e) => e.getClientRects().length > 0;
  const all = (q) => [...document.querySelectorAll(q)];
  if (!document.documentElement.lang) out.push("no lang");
  if (!document.title) out.push("no title");
  if (all("h1").length !== 1) out.push(all("h1").length + " h1");
  if (all("main").length !== 1) out.push(all("main").length + " main");
  let last = 0;
  for (const h of all("h1,h2,h3,h4,h5,h6")) {
    const level = +h.tagName[1];
    if (level > last + 1) add("heading skips a level", h);
    if (!h.textContent.trim()) add("empty heading", h);
    last = level;
  }
  for (const e of all("input:not([type=hidden]),select,textarea"))
    if (!(e.labels && e.labels.length) && !e.getAttribute("aria-label")) add("no label", e);
  for (const e of all("a[href],button,summary"))
    if (!e.textContent.trim() && !e.getAttribute("aria-label")) add("no text", e);
  for (const e of all("img")) if (!e.hasAttribute("alt")) add("no alt", e);
  for (const e of all("svg")) if (e.getAttribute("aria-hidden") !== "true" && !e.querySelector("title")) add("no title", e);
  for (const e of all("table")) {
    if (!e.caption) add("no caption", e);
    if (!e.querySelector("th[scope]")) add("no th with scope", e);
  }
  for (const e of all("[tabindex]")) if (e.tabIndex > 0) add("positive tabindex", e);
  const ids = all("[id]").map((e) => e.id);
  ids.forEach((id, i) => { if (ids.indexOf(id) !== i) out.push("id twice: " + id); });
  for (const e of all("[aria-labelledby]")) if (!document.getElementById(e.getAttribute("aria-labelledby"))) add("labelled by nothing", e);
  for (const e of all("script,link[rel=stylesheet],img")) {
    const u = e.src || e.href;
    if (/^https?:/.test(u) && new URL(u).origin !== location.origin) add("from elsewhere", e);
  }
  // Contrast of every text with what lies behind it.
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return { r: m[0], g: m[1], b: m[2], a: m.length > 3 ? m[3] : 1 }; };
  const lum = (c) => { const f = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(c.r) + 0.7152 * f(c.g) + 0.0722 * f(c.b); };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.a === 1) return c; } return matchMedia("(prefers-color-scheme: dark)").matches ? { r: 0, g: 0, b: 0 } : { r: 255, g: 255, b: 255 }; };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !shown(e) || ["SCRIPT", "STYLE", "OPTION"].includes(e.tagName)) continue;
    const a = lum(parse(getComputedStyle(e).color)), b = lum(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const key = e.tagName + e.className + ratio.toFixed(2);
    if (ratio < 4.5 && !seen.has(key)) { seen.add(key); add("contrast " + ratio.toFixed(2), e); }
  }
  // The page itself must not scroll sideways; tables do so in their own box.
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) {
    const wide = all("main *").filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest(".scroll"));
    out.push("page is " + document.documentElement.scrollWidth + " wide: " + (wide[0] || document.body).outerHTML.slice(0, 120));
  }
  for (const e of all(".scroll")) if (e.tabIndex !== 0 || !e.getAttribute("aria-label")) add("scrolls without the keyboard", e);
  for (const e of all("button,select,input:not([type=hidden])")) {
    const r = e.getBoundingClientRect();
    if (shown(e) && (r.height < 24 || r.width < 24)) add("target of " + Math.round(r.width) + "×" + Math.round(r.height), e);
  }
  return JSON.stringify(out);
})()`

// TestAccessibility checks every page in light and dark, wide and at 360 pixels. With
// ASSAY_SCREENSHOTS set to a folder it leaves a picture of each there.
func TestAccessibility(t *testing.T) {
	ctx := browser(t)
	s := servetest.New(t)
	held, err := s.ValidateWith(t.Context(), s.Candidate, s.Set, s.Policy, engine.ValidateOptions{NoSelfTest: true, EvalOptions: engine.EvalOptions{Split: "all"}})
	if err != nil {
		t.Fatal(err)
	}
	url, token, _ := site(t, s, serve.Caller{Name: "anna", All: true})
	reportFile := filepath.Join(t.TempDir(), "report.html")
	out, err := os.Create(reportFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := pages.Report(out, s.Engine, s.Candidate, pages.ReportOptions{Sweep: s.Sweep, Golden: s.Set, Policy: s.Policy, Caller: serve.Caller{All: true}}); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, ctx, chromedp.Navigate(url+"/login?token="+token))
	for _, p := range []struct{ name, url string }{
		{"builds", url + "/"},
		{"run", url + "/run?build=" + s.Candidate},
		{"compare", url + "/compare?a=" + s.LiveBuild + "&b=" + s.Candidate},
		{"sweeps", url + "/sweeps"},
		{"sweep", url + "/sweep?id=" + s.Sweep},
		{"holdout", url + "/run?build=" + s.Candidate + "&run=" + held.Run},
		{"question", url + "/question?id=fan"},
		{"document", url + "/document?doc=care.md&start=40&end=120&q=kettle"},
		{"search", url + "/search?q=fan+blades+dust&do=answer"},
		{"login", url + "/login"},
		{"error", url + "/nothing"},
		{"report", "file://" + reportFile},
	} {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 360} {
				t.Run(p.name+" "+scheme+" "+map[int64]string{1280: "wide", 360: "narrow"}[width], func(t *testing.T) {
					run(t, ctx,
						chromedp.EmulateViewport(width, 800),
						media(scheme),
						chromedp.Navigate(p.url),
						chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach((d) => d.open = true)`),
					)
					if h1 := eval[string](t, ctx, `document.querySelector("h1").textContent`); strings.Contains(h1, "Error") || h1 == "Not Found" && p.name != "error" {
						t.Fatalf("the page is an error: %s", h1)
					}
					var problems []string
					if err := json.Unmarshal([]byte(eval[string](t, ctx, audit)), &problems); err != nil {
						t.Fatal(err)
					}
					for _, problem := range problems {
						t.Error(problem)
					}
					if dir := os.Getenv("ASSAY_SCREENSHOTS"); dir != "" {
						screenshot(t, ctx, filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestAccessibility/"), "_", "-")+".png"))
					}
				})
			}
		}
	}
	t.Run("the audit finds faults", func(t *testing.T) {
		run(t, ctx, chromedp.Navigate(`data:text/html,<h3></h3><input><img src=x><a href=y></a><p style="color:%23999;background:%23fff">pale</p>`))
		found := eval[string](t, ctx, audit)
		for _, want := range []string{"no lang", "0 h1", "skips a level", "no label", "no alt", "no text", "contrast"} {
			if !strings.Contains(found, want) {
				t.Errorf("not found: %s in %s", want, found)
			}
		}
	})
}

// media makes the page believe in a colour scheme.
func media(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	})
}

func screenshot(t *testing.T, ctx context.Context, path string) {
	t.Helper()
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestHostileText shows documents that hold markup, on every page: nothing of it runs, and no
// page loads anything from elsewhere or breaks its own content policy.
func TestHostileText(t *testing.T) {
	ctx := browser(t)
	s := servetest.New(t)
	url, token, _ := site(t, s, serve.Caller{Name: "anna", All: true})
	var mu sync.Mutex
	var foreign, dialogs []string
	err := chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, url) && !strings.HasPrefix(ev.Request.URL, "data:") {
				foreign = append(foreign, ev.Request.URL)
			}
		case *page.EventJavascriptDialogOpening:
			dialogs = append(dialogs, ev.Message)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
		return err
	}), chromedp.Navigate(url+"/login?token="+token))
	for _, path := range []string{"/search?q=kettle+%3Cscript%3Ealert(3)%3C/script%3E", "/document?doc=care.md", "/question?id=kettle", "/compare?a=" + s.LiveBuild + "&b=" + s.Candidate} {
		run(t, ctx, chromedp.Navigate(url+path))
		scripts := eval[int](t, ctx, `document.querySelectorAll("script:not([src='/static/app.js'])").length`)
		images := eval[int](t, ctx, `document.querySelectorAll("img").length`)
		if scripts != 0 || images != 0 {
			t.Errorf("%s: %d scripts and %d images from documents", path, scripts, images)
		}
		if text := eval[string](t, ctx, `document.body.innerText`); !strings.Contains(text, "<script>alert(1)") && !strings.Contains(path, "compare") {
			t.Errorf("%s does not show the hostile text: the test proves nothing", path)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(foreign) > 0 || len(dialogs) > 0 {
		t.Errorf("requests elsewhere: %v; dialogs: %v", foreign, dialogs)
	}
}
