package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEndpoint stands the gate in front of a service that answers every question with one page,
// and of one that knows which.
func TestEndpoint(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var set strings.Builder
	set.WriteString("schema: assay.golden/v1\nname: pages\nversion: 1\nquestions:\n")
	for i := range 30 {
		write(fmt.Sprintf("docs/p%02d.md", i), fmt.Sprintf("# Page %d\n\nThe code of machine %d is M%d.\n", i, i, i*i))
		fmt.Fprintf(&set, "  - {id: q%02d, question: Which code has machine %d?, answerable: true, gold: [{doc: p%02d.md}]}\n", i, i, i)
	}
	golden := write("golden.yaml", set.String())
	settings := write("assay.yaml", "corpus: {path: docs}\ngolden: golden.yaml\npolicy: {primary: hit@3, floor: {hit@3: 0.5}}\n")
	good := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 7
		if good {
			fmt.Sscanf(r.URL.Query().Get("q"), "Which code has machine %d?", &n)
		}
		fmt.Fprintf(w, `{"found":[{"id":"p%02d.md","s":1.5}]}`, n)
	}))
	defer s.Close()
	template := write("search.yaml", "name: other engine\nurl: "+s.URL+"/?q={question}\nhits: {list: found, doc: id, score: s}\n")
	assay := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"--store", filepath.Join(dir, "store"), "-c", settings, "-q", "endpoint", template, "--golden", golden}, args...), strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	kept := filepath.Join(dir, "run.jsonl")
	code, out, errs := assay("--out", kept)
	if code != exitOK || !strings.Contains(out, "other engine") || !strings.Contains(out, "ACCEPT") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	good = false
	code, out, errs = assay("--live", kept, "--json")
	var got struct {
		Verdict struct {
			Verdict string
			Lost    []string
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitRejected || got.Verdict.Verdict != "reject" {
		t.Errorf("a service that got worse: exit %d, %v, %v\n%s", code, err, got, errs)
	}
	s.Close()
	if code, out, errs = assay(); code != exitInvalid || !strings.Contains(errs, "question q00") {
		t.Errorf("a service that is down: exit %d, want %d and the failures named\n%s%s", code, exitInvalid, out, errs)
	}
	write("search.yaml", "url: http://h/\n")
	if code, _, errs = assay(); code != exitUsage || !strings.Contains(errs, "search.yaml") {
		t.Errorf("a bad template: exit %d, %s", code, errs)
	}
}
