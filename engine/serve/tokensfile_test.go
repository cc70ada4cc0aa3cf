package serve_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/serve"
)

// TestTokensFile changes the tokens file under a server: each request is judged by the file as it is.
func TestTokensFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	mint := func(name string) (string, serve.Token) {
		token, entry, err := serve.NewToken(name, nil, false, false)
		if err != nil {
			t.Fatal(err)
		}
		return token, entry
	}
	write := func(entries ...serve.Token) []byte {
		t.Helper()
		data, err := serve.EncodeTokens(entries)
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	bot, botEntry := mint("bot")
	anna, annaEntry := mint("anna")
	if _, err := serve.OpenAuth(path, serve.AuthOptions{}, nil); err == nil {
		t.Error("a file that is not there is accepted at the start")
	}
	write()
	if _, err := serve.OpenAuth(path, serve.AuthOptions{}, nil); err == nil {
		t.Error("a file that admits nobody is accepted at the start")
	}
	write(botEntry)
	var log bytes.Buffer
	auth, err := serve.OpenAuth(path, serve.AuthOptions{}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	h := serve.New(&stub{resp: &engine.Response{}}, serve.Options{Auth: auth})
	expect := func(when string, botStatus, annaStatus int) {
		t.Helper()
		for token, want := range map[string]int{bot: botStatus, anna: annaStatus} {
			if r := call(h, "POST", "/v1/search", `{"query":"x"}`, "Authorization", "Bearer "+token); r.status != want {
				t.Errorf("%s: %d, want %d", when, r.status, want)
			}
		}
	}
	expect("at the start", 200, 401)
	// All of these have the same length and may have the same time of change.
	write(annaEntry)
	expect("another token in the place of the first", 401, 200)
	write(botEntry)
	expect("and back", 200, 401)
	write(botEntry, annaEntry)
	expect("one more", 200, 200)
	logged := func(what string) int { return strings.Count(log.String(), what) }
	for name, fault := range map[string]func(){
		"broken":         func() { _ = os.WriteFile(path, []byte("schema: assay.tokens/v1\ntokens: [{name: x"), 0o600) },
		"of another day": func() { _ = os.WriteFile(path, []byte("schema: assay.tokens/v9\n"), 0o600) },
		"gone":           func() { _ = os.Remove(path) },
	} {
		before := logged("level=ERROR")
		fault()
		expect(name, 200, 200)
		expect(name+", again", 200, 200)
		if n := logged("level=ERROR") - before; n != 1 {
			t.Errorf("%s: logged %d times, want once:\n%s", name, n, log.String())
		}
		if auth.Reload() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	write(annaEntry)
	expect("mended", 401, 200)
	// Replaced by another file of the same length and time, as by a rename.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	old := info.ModTime().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	expect("older", 401, 200)
	other := path + ".new"
	data, err := serve.EncodeTokens([]serve.Token{{Name: "anna", SHA256: botEntry.SHA256}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(other, old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	expect("renamed over", 200, 401)
	write()
	expect("nobody left", 401, 401)

	// Many requests while the file changes: each sees one file or the other, whole.
	write(botEntry, annaEntry)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if c, ok := auth.Lookup(bot); !ok || c.Name != "bot" {
					t.Errorf("bot is %+v, %v", c, ok)
					return
				}
			}
		})
	}
	for i := range 50 {
		entries := []serve.Token{botEntry, annaEntry}[:1+i%2]
		data, err := serve.EncodeTokens(entries)
		if err == nil {
			err = os.WriteFile(other, data, 0o600)
		}
		if err == nil {
			err = os.Rename(other, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if strings.Contains(log.String(), bot) || strings.Contains(log.String(), anna) {
		t.Error("the log holds a token")
	}
}
