//go:build unix

package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/net/html"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/pages"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/index"
)

const canary = "sk-canary-5f1c9e7d20b84a63"

// canaryServer is an embedding and chat server that quotes the key back whenever it fails, as
// some do, and fails as its mode says.
func canaryServer(t *testing.T, mode string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+canary {
			t.Errorf("the server is sent %q, not the key", got)
		}
		w.Header().Set("Content-Type", "application/json")
		if mode != "works" {
			code := map[string]int{"refuses": 401, "is broken": 500, "lies": 200}[mode]
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"error": {"message": "Incorrect API key provided: %s", "code": "%s"}}`, canary, canary)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			fmt.Fprint(w, `{"model": "m", "choices": [{"message": {"role": "assistant", "content": "Within 7 days [1]."}, "finish_reason": "stop"}]}`)
			return
		}
		var body struct {
			Input []string `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		rows, err := letters{}.Embed(r.Context(), body.Input, index.KindDocument)
		if err != nil {
			t.Error(err)
		}
		var data []map[string]any
		for i, row := range rows {
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": row})
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": "m", "data": data}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestSecrets uses a key with an embedding and a chat server that work, refuse it, fail or answer
// nonsense, and looks for it in everything that is written, logged and returned.
func TestSecrets(t *testing.T) {
	for _, mode := range []string{"works", "refuses", "is broken", "lies"} {
		t.Run(mode, func(t *testing.T) {
			server := canaryServer(t, mode)
			dir := t.TempDir()
			var log bytes.Buffer
			s, err := engine.ParseSettings("assay.yaml", []byte(fmt.Sprintf(
				"embed: {kind: openai, url: %s/v1, model: m, key_env: EMBED_KEY, tries: 1, timeout: 10s}\nanswer: {kind: chat, url: %s/v1, model: m, key_env: CHAT_KEY, timeout: 10s}\n", server.URL, server.URL)))
			if err != nil {
				t.Fatal(err)
			}
			o := engine.Options{
				Embed: &s.Embed, Answer: &s.Answer, Refresh: time.Nanosecond,
				Getenv: func(name string) string {
					return map[string]string{"EMBED_KEY": canary, "CHAT_KEY": canary}[name]
				},
				Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			}
			var said []string
			note := func(what string, v any, err error) {
				data, jerr := json.Marshal(v)
				if jerr != nil {
					t.Fatal(jerr)
				}
				said = append(said, fmt.Sprintf("%s: %s %+v %#v %v", what, data, v, v, err))
				for e := err; e != nil; e = errors.Unwrap(e) {
					said = append(said, fmt.Sprintf("%s: %+v %#v", what, e, e))
				}
			}
			e, err := engine.Open(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			b, err := crashBuild(t.Context(), e, s)
			note("build", b, err)
			if (err == nil) != (mode == "works") {
				t.Errorf("build: %v", err)
			}
			if err != nil {
				// The chat server is asked on a build that needs no embedder.
				s.Embed = engine.EmbedSettings{Kind: "none"}
				if b, err = crashBuild(t.Context(), e, s); err != nil {
					t.Fatal(err)
				}
			}
			override(t, e, b.ID)
			v, err := e.Validate(t.Context(), b, shopSet(t), hit1)
			note("validate", v, err)
			resp, err := e.Query(t.Context(), engine.Query{Text: "refund money"})
			note("search", resp, err)
			answer, err := e.Ask(t.Context(), engine.AskQuery{Query: engine.Query{Text: "When is the money of refunds sent?"}})
			note("ask", answer, err)
			if (err == nil) != (mode == "works") {
				t.Errorf("ask: %v", err)
			}
			note("settings", s, s.Validate())
			note("flat", s.Flatten(), nil)
			infos, err := e.Builds()
			note("builds", infos, err)
			ledger, err := e.Ledger()
			note("ledger", ledger, err)
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if len(said) < 6 {
				t.Fatal("nothing was looked at")
			}
			for _, text := range said {
				if strings.Contains(text, canary) {
					t.Errorf("the key is returned: %.400s", text)
				}
			}
			if strings.Contains(log.String(), canary) {
				t.Errorf("the key is logged: %s", log.String())
			}
			for name, data := range files(t, dir) {
				if strings.Contains(data, canary) {
					t.Errorf("the key is stored in %s", name)
				}
			}
		})
	}
	t.Run("in an address", func(t *testing.T) {
		for _, part := range []string{"embed: {kind: openai, url: 'https://user:%s@host/v1', model: m}", "answer: {kind: chat, url: 'https://%s@host/v1', model: m}"} {
			_, err := engine.ParseSettings("assay.yaml", []byte(fmt.Sprintf(part, canary)))
			if !errors.Is(err, engine.ErrInput) || !strings.Contains(err.Error(), "key_env") || strings.Contains(err.Error(), canary) {
				t.Errorf("%s: %v, want a refusal that names key_env and not the key", part, err)
			}
		}
	})
}

// TestPathsOutOfTheStore: no name that a caller or a file gives leads out of the store.
func TestPathsOutOfTheStore(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "store")
	e := open(t, dir)
	b := build(t, e, shop, engine.Settings{})
	v := validate(t, e, b, hit1)
	if err := e.Promote(t.Context(), b, v); err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob(filepath.Join(dir, "builds", b.ID, "evaluations", "*"))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	copyDir(t, records[0], filepath.Join(root, filepath.Base(records[0])))
	for _, run := range []string{"../../../../" + filepath.Base(records[0]), "..", ".", "/etc", "A" + filepath.Base(records[0])[1:], filepath.Base(records[0]) + "/live"} {
		if _, _, err := e.Verdict(b.ID, run); !errors.Is(err, engine.ErrInput) {
			t.Errorf("run %q: %v, want ErrInput", run, err)
		}
		if _, err := e.TimesOf(b.ID, run); !errors.Is(err, engine.ErrInput) {
			t.Errorf("times of run %q: %v, want ErrInput", run, err)
		}
		if _, err := e.LiveRecord(b.ID, run); !errors.Is(err, engine.ErrInput) {
			t.Errorf("live record of run %q: %v, want ErrInput", run, err)
		}
	}
	for _, name := range []string{"../" + b.ID, "../../builds/" + b.ID, "/etc/passwd", "..", ".tmp-1", b.ID + "/", strings.ToUpper(b.ID)} {
		if _, err := e.QueryBuild(t.Context(), name, engine.Query{Text: "x"}); !errors.Is(err, engine.ErrNoBuild) && name != strings.ToLower(name) {
			t.Errorf("build %q: %v, want ErrNoBuild", name, err)
		}
		write(t, filepath.Join(dir, "LIVE"), name+"\n")
		if name == b.ID {
			continue
		}
		if _, err := engine.Open(dir, engine.Options{}); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("LIVE is %q: %v, want ErrCorrupt", name, err)
		}
	}
	write(t, filepath.Join(dir, "LIVE"), b.ID+"\n")
	// A manifest with a sound digest that lists a file outside.
	path := filepath.Join(dir, "builds", b.ID, index.ManifestName)
	m, err := index.ReadManifest(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../../../secret", "/etc/passwd", "a/../../b", ""} {
		c := *m
		c.Files = append(slices.Clone(m.Files), index.FileInfo{Name: name, Size: 1, SHA256: strings.Repeat("0", 64)})
		data, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, string(data))
		if _, err := engine.Open(dir, engine.Options{}); !errors.Is(err, index.ErrCorrupt) || !strings.Contains(err.Error(), "path inside the build") {
			t.Errorf("a manifest with file %q: %v, want ErrCorrupt", name, err)
		}
	}
}

// TestHostileYAML: files that unfold, nest or repeat are refused at once.
func TestHostileYAML(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a: &a [x, x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c <= 'k'; c++ {
		fmt.Fprintf(&bomb, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	for name, text := range map[string]string{
		"aliases that unfold":    bomb.String(),
		"an alias of itself":     "a: &a [*a]\n",
		"merge keys":             "a: &a {x: 1}\nb: {<<: *a}\n",
		"flow nested 5,000 deep": "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n",
		"maps nested 1,000 deep": nestedMaps(1000),
		"a repeated key":         "embed: {kind: none}\nembed: {kind: builtin}\nschema: a\nschema: b\n",
		"two documents":          "embed: {kind: none}\n---\nembed: {kind: builtin}\n",
		"a tag":                  "embed: !!binary aGVsbG8=\nschema: !!binary aGVsbG8=\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := engine.ParseSettings("assay.yaml", []byte(text)); err == nil || len(err.Error()) > 2000 {
				t.Errorf("settings: %.300v, want a short refusal", err)
			}
			if _, err := golden.Parse("golden.yaml", []byte(text)); err == nil || len(err.Error()) > 4000 {
				t.Errorf("golden set: %.300v, want a short refusal", err)
			}
		})
	}
}

// marked is text that breaks out of wherever it is put unescaped: of an element, of an attribute in
// either quotes, of an address, of a comment and of a script. Its word is looked for.
const marked = `xcanary"'><script>alert(1)</script><img src=x onerror=alert(2)>--><svg/onload=alert(3)>`

// TestHostileHTML shows documents whose ids, titles, headings and texts hold markup, and questions,
// callers and builds that do, on every page and in the report: nothing of it becomes an element or
// an attribute.
func TestHostileHTML(t *testing.T) {
	dir := t.TempDir()
	docs := maps.Clone(shop)
	id := "a\"onmouseover=alert(4) '<b>xcanary.md"
	docs[id] = &fstest.MapFile{Data: []byte("---\ntitle: '" + strings.ReplaceAll(marked, "'", "''") + "'\n---\n# " + marked + "\n\n## Kettle " + marked +
		"\nxcanary kettle " + marked + "\n\n[link](javascript:alert(5)) <a href=\"javascript:alert(6)\" onclick=alert(7)>a</a> <iframe src=//evil.example></iframe>\n\n| " + strings.ReplaceAll(marked, "|", "") + " | b |\n|---|---|\n| " + marked + " | c |\n\n```html\n" + marked + "\n```\n")}
	quoted, err := json.Marshal(marked + " kettle")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	set, err := golden.Parse("golden.yaml", []byte(shopGolden+fmt.Sprintf("  - {id: qx, question: %s, answerable: true, slice: [%s], notes: %s, gold: [{doc: %s}]}\n", quoted, "xcanary", quoted, doc)))
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, dir)
	var builds []string
	for _, s := range []engine.Settings{{}, exact} {
		b := build(t, e, docs, s)
		if _, err := e.ValidateWith(t.Context(), b.ID, set, hit1, engine.ValidateOptions{EvalOptions: engine.EvalOptions{AllowInCorpus: true}, Who: marked}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.PromoteWith(t.Context(), b.ID, nil, engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: marked, Why: marked}}); err != nil {
			t.Fatal(err)
		}
		builds = append(builds, b.ID)
	}
	caller := serve.Caller{Name: marked, All: true, Admin: true}
	auth := serve.NewAuth(serve.AuthOptions{Local: &caller})
	log := slog.New(slog.DiscardHandler)
	h := serve.New(e, serve.Options{Auth: auth, Log: log, Pages: pages.New(e, pages.Options{
		Auth: auth, Golden: func() (*golden.Set, error) { return set, nil }, Policy: hit1, Review: filepath.Join(t.TempDir(), "review.yaml"), Log: log,
	})})
	q := url.QueryEscape(marked + " kettle")
	paths := []string{"/", "/login", "/sweeps", "/sweep?id=" + q, "/nothing/" + url.PathEscape(marked), "/search?q=" + q, "/search?q=" + q + "&do=answer", "/search?q=kettle&k=50", "/search?q=kettle&mode=" + q, "/search?q=kettle&k=" + q,
		"/search?q=kettle&as=" + q, "/document?doc=" + q, "/run?build=" + q, "/question?id=" + q, "/compare?a=" + q + "&b=" + q,
		"/compare?a=" + builds[0] + "&b=" + builds[1]}
	for _, b := range builds {
		paths = append(paths, "/run?build="+b, "/document?build="+b+"&start=0&end=30&doc="+url.QueryEscape(id), "/question?id=qx&build="+b)
	}
	seen := 0
	check := func(where, page string) {
		t.Helper()
		if strings.Contains(page, "xcanary") {
			seen++
		}
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			switch n.Data {
			case "img", "iframe", "object", "embed", "base":
				t.Errorf("%s: an element %s", where, n.Data)
			case "script":
				if n.FirstChild != nil && strings.Contains(n.FirstChild.Data, "alert(") {
					t.Errorf("%s: a script: %.200s", where, n.FirstChild.Data)
				}
			}
			for _, a := range n.Attr {
				value := strings.ToLower(strings.TrimSpace(a.Val))
				if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(value, "javascript:") || strings.Contains(value, "//evil.example") && (a.Key == "href" || a.Key == "src") {
					t.Errorf("%s: <%s %s=%q>", where, n.Data, a.Key, a.Val)
				}
				if strings.Contains(a.Key, "xcanary") || strings.Contains(a.Key, "alert(") {
					t.Errorf("%s: text became the attribute %q of <%s>", where, a.Key, n.Data)
				}
			}
		}
	}
	for _, path := range paths {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%s: status %d", path, w.Code)
		}
		check(path, w.Body.String())
	}
	for _, b := range builds {
		var report bytes.Buffer
		if err := pages.Report(&report, e, b, pages.ReportOptions{Golden: set, Policy: hit1, Caller: caller}); err != nil {
			t.Fatal(err)
		}
		check("report of "+b, report.String())
	}
	if seen < 12 {
		t.Errorf("%d pages show the text: the test proves little", seen)
	}
	t.Logf("%d of %d pages and reports show the text", seen, len(paths)+len(builds))
}

func nestedMaps(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}
