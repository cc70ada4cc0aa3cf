package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/engine"
)

// TestServeCommand starts the command as a user would, asks it, and stops it.
func TestServeCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	e, err := engine.Open(".assay", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.Build(t.Context(), corpus.FS("homestore", homestore.Documents(), corpus.Options{}), engine.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	var stdout bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--who", "anna"}, strings.NewReader(""), &stdout, w)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	find := func(pattern string) string {
		t.Helper()
		for lines.Scan() {
			if m := regexp.MustCompile(pattern).FindStringSubmatch(lines.Text()); m != nil {
				return m[1]
			}
		}
		t.Fatalf("no line %s", pattern)
		return ""
	}
	url := find(`at (http://127\.0\.0\.1:\d+)$`)
	token := find(`login\?token=(assay_[0-9a-f]+)$`)
	go func() {
		for lines.Scan() { // the log of requests
		}
	}()
	ask := func(method, path, body, token string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(data)
	}
	search := `{"query":"washing machine shows E-04","k":1}`
	if status, _ := ask("GET", "/readyz", "", ""); status != 503 {
		t.Errorf("ready before a build is live: %d", status)
	}
	if status, body := ask("POST", "/v1/search", search, ""); status != 503 || !strings.Contains(body, "no_live_build") {
		t.Errorf("search before a build is live: %d %s", status, body)
	}
	// Another writer makes a build live; the server takes it up by itself.
	if _, err := e.PromoteWith(t.Context(), b.ID, nil, engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "test", Why: "set up"}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if status, body := ask("POST", "/v1/search", search, ""); status != 200 || !strings.Contains(body, b.ID) {
		t.Errorf("search: %d %s", status, body)
	}
	t.Run("SV-05", func(t *testing.T) {
		var printed bytes.Buffer
		if c := run(ctx, []string{"search", "--json", "-k", "5", "washing machine shows E-04"}, strings.NewReader(""), &printed, io.Discard); c != 0 {
			t.Fatalf("exit code %d", c)
		}
		_, body := ask("POST", "/v1/search", `{"query":"washing machine shows E-04","k":5}`, "")
		var shown, served struct{ Hits []map[string]any }
		if err := errors.Join(json.Unmarshal(printed.Bytes(), &shown), json.Unmarshal([]byte(body), &served)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shown.Hits, served.Hits); diff != "" || len(served.Hits) != 5 {
			t.Errorf("%d hits; command line and HTTP differ:\n%s", len(served.Hits), diff)
		}
	})
	if status, _ := ask("GET", "/readyz", "", ""); status != 200 {
		t.Errorf("not ready with a live build: %d", status)
	}
	promote := `{"build":"` + b.ID + `"}`
	if status, _ := ask("POST", "/v1/promote", promote, ""); status != 403 {
		t.Errorf("promote without the session's token: %d", status)
	}
	if status, body := ask("POST", "/v1/promote", promote, token); status != 409 {
		t.Errorf("promote a build without verdict: %d %s", status, body)
	}
	if status, body := ask("GET", "/", "", ""); status != 200 || !strings.Contains(body, b.ID) {
		t.Errorf("page of builds: %d", status)
	}
	if status, body := ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, ""); status != 400 && status != 200 {
		t.Errorf("mcp: %d %s", status, body)
	}
	stop()
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
	if stdout.Len() > 0 {
		t.Errorf("standard output: %s", stdout.String())
	}
}
