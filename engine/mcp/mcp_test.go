package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/mcp"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/engine/serve/servetest"
)

// helperDir, if set, makes this test binary a server over standard input and output.
const helperDir = "ASSAY_TEST_MCP_STORE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
		e, err := engine.Open(dir, engine.Options{Log: log})
		if err == nil {
			log.Info("serving", "store", dir)
			err = mcp.Stdio(context.Background(), flaky{e}, serve.Caller{Name: "stdio"}, os.Stdin, os.Stdout, mcp.Options{Log: log})
			err = errors.Join(err, e.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// flaky is an engine whose embedder fails for one query.
type flaky struct{ serve.Engine }

func (f flaky) Query(ctx context.Context, q engine.Query) (*engine.Response, error) {
	if strings.HasPrefix(q.Text, "break") {
		return nil, errors.New("embed query: connection\nrefused")
	}
	return f.Engine.Query(ctx, q)
}

// session is a client connected to a server.
func session(t *testing.T, transport sdk.Transport) *sdk.ClientSession {
	t.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call calls a tool and returns the text of the result.
func call(t *testing.T, s *sdk.ClientSession, tool, args string) (string, bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s: %d contents", tool, len(r.Content))
	}
	text, ok := r.Content[0].(*sdk.TextContent)
	if !ok {
		t.Fatalf("%s: content %T", tool, r.Content[0])
	}
	if !r.IsError {
		structured, err := json.Marshal(r.StructuredContent)
		var a, b any
		if err != nil || json.Unmarshal(structured, &a) != nil || json.Unmarshal([]byte(text.Text), &b) != nil || !cmp.Equal(a, b) {
			t.Errorf("%s: structured content and text differ", tool)
		}
	}
	return text.Text, r.IsError
}

// transports connects a client over every transport, without and with the label board.
func transports(t *testing.T, s *servetest.Store, f func(t *testing.T, public, board *sdk.ClientSession)) {
	token, entry, err := serve.NewToken("board", []string{"board"}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("stdio", func(t *testing.T) {
		connect := func(c serve.Caller) *sdk.ClientSession {
			toServer, fromClient := io.Pipe()
			toClient, fromServer := io.Pipe()
			done := make(chan error, 1)
			go func() {
				done <- mcp.Stdio(context.WithoutCancel(t.Context()), s, c, toServer, fromServer, mcp.Options{})
			}()
			cs := session(t, &sdk.IOTransport{Reader: toClient, Writer: fromClient})
			t.Cleanup(func() {
				_ = cs.Close() // the error that counts is the server's
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			return cs
		}
		f(t, connect(serve.Caller{}), connect(serve.Caller{As: []string{"board"}}))
	})
	t.Run("http", func(t *testing.T) {
		srv := httptest.NewServer(serve.New(s, serve.Options{
			Auth: serve.NewAuth(serve.AuthOptions{Tokens: []serve.Token{entry}, Local: &serve.Caller{Name: "local"}}),
			MCP:  mcp.Handler(s, mcp.Options{}),
		}))
		t.Cleanup(srv.Close)
		connect := func(token string) *sdk.ClientSession {
			cs := session(t, &sdk.StreamableClientTransport{Endpoint: srv.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true})
			t.Cleanup(func() { _ = cs.Close() })
			return cs
		}
		f(t, connect(""), connect(token))
	})
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestTools(t *testing.T) {
	s := servetest.New(t)
	transports(t, s, func(t *testing.T, public, board *sdk.ClientSession) {
		list, err := public.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if diff := cmp.Diff([]string{"answer", "get_section", "search"}, names); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}

		t.Run("SV-05", func(t *testing.T) {
			for _, q := range s.Set.Questions[:4] {
				want, err := s.Query(t.Context(), engine.Query{Text: q.Question, K: 5})
				if err != nil {
					t.Fatal(err)
				}
				args, _ := json.Marshal(map[string]any{"query": q.Question, "k": 5})
				text, _ := call(t, public, "search", string(args))
				var got serve.SearchBody
				if err := json.Unmarshal([]byte(text), &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.Hits, got.Hits); diff != "" {
					t.Errorf("%s: MCP and library differ:\n%s", q.ID, diff)
				}
			}
		})

		t.Run("SV-01", func(t *testing.T) {
			for args, field := range map[string]string{
				`{"query":"x","k":0}`: "k", `{"query":"x","k":-1}`: "k", `{"query":"x","k":101}`: "k", `{"query":"x","k":"5"}`: "k",
				`{"query":"x","k":1.5}`: "k", `{"query":""}`: "query", `{"query":"  "}`: "query", `{}`: "query",
				`{"query":"x","topk":3}`: "topk", `{"query":"x","as":["board"]}`: "as",
			} {
				text, failed := call(t, public, "search", args)
				var e struct{ Field, Message string }
				if err := json.Unmarshal([]byte(text), &e); err != nil || !failed || e.Field != field || e.Message == "" {
					t.Errorf("%s: %v %s", args, failed, text)
				}
			}
		})

		t.Run("PM-03", func(t *testing.T) {
			hidden := fmt.Sprintf(`{"doc":%q,"section":%q}`, servetest.HiddenDoc, servetest.HiddenSection)
			for tool, args := range map[string]string{
				"search": `{"query":"refund window delivery fees in May","k":50}`, "answer": `{"question":"What halves the refund window in May?"}`,
				"get_section": hidden,
			} {
				text, _ := call(t, public, tool, args)
				for _, c := range servetest.Canaries {
					if strings.Contains(text, c) {
						t.Errorf("%s shows %q: %s", tool, c, text)
					}
				}
			}
			forbidden, failed := call(t, public, "get_section", hidden)
			missing, _ := call(t, public, "get_section", `{"doc":"no-such.md","section":"X"}`)
			missingSection, _ := call(t, public, "get_section", `{"doc":"returns.md","section":"No such"}`)
			if !failed || forbidden != missing || forbidden != missingSection {
				t.Errorf("a hidden section is told from one that is missing:\n%s\n%s\n%s", forbidden, missing, missingSection)
			}
			if text, failed := call(t, board, "get_section", hidden); failed || !strings.Contains(text, "quokkamerger") {
				t.Errorf("the board cannot read its section: %s", text)
			}
			if text, _ := call(t, board, "search", `{"query":"refund window delivery fees in May"}`); !strings.Contains(text, servetest.HiddenDoc) {
				t.Errorf("the board does not find its document: %s", text)
			}
		})
	})
}

// TestStdioLines starts this binary as a server and reads what it writes line by line.
func TestStdioLines(t *testing.T) {
	t.Run("SV-03", func(t *testing.T) {
		s := servetest.New(t)
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), helperDir+"="+s.Dir())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		send := func(msg string) {
			if _, err := io.WriteString(in, msg+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		receive := func() map[string]any {
			t.Helper()
			if !lines.Scan() {
				t.Fatalf("no line: %v\n%s", lines.Err(), stderr.String())
			}
			if strings.ContainsRune(lines.Text(), '\u2028') {
				t.Errorf("a raw line separator: %q", lines.Text())
			}
			var m map[string]any
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m["jsonrpc"] != "2.0" {
				t.Fatalf("not a message: %q", lines.Text())
			}
			return m
		}
		send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		receive()
		send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		receive()
		for i, args := range []string{`{"query":"May I scrub the pan?"}`, `{"query":"break it"}`, `{"query":""}`, `{"nonsense":1}`} {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":%s}}`, 3+i, args))
			m := receive()
			result, ok := m["result"].(map[string]any)
			if !ok {
				t.Errorf("%s: %v", args, m)
				continue
			}
			if failed, _ := result["isError"].(bool); failed != (i > 0) {
				t.Errorf("%s: isError %v", args, failed)
			}
		}
		// What is no message is answered, and the session goes on.
		for i, bad := range []struct {
			line string
			code float64
			id   any
		}{
			{`not json`, -32700, nil}, {`{"jsonrpc":"2.0"`, -32700, nil},
			{`{}`, -32600, nil}, {`[]`, -32600, nil}, {`null`, -32600, nil}, {`"x"`, -32600, nil}, {`7`, -32600, nil},
			{`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, -32600, nil}, {`{"jsonrpc":"2.0","id":41,"error":5}`, -32600, 41.0},
			{`{"jsonrpc":"1.0","id":"a","method":"ping"}`, -32600, "a"},
			{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, nil},
			{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600, nil},
			{`{"jsonrpc":"2.0","method":5}`, -32600, nil},
			{`{"jsonrpc":"2.0","id":40}`, -32600, 40.0},
			{`{"jsonrpc":"2.0","id":41,"method":"tools/call","params":5}`, -32602, 41.0},
			{`{"jsonrpc":"2.0","id":42,"method":"tools/call","params":"x"}`, -32602, 42.0},
			{`[{"jsonrpc":"2.0","id":43,"method":"ping"}]`, -32600, nil},
		} {
			send(bad.line)
			m := receive()
			e, _ := m["error"].(map[string]any)
			if e == nil || e["code"] != bad.code || m["id"] != bad.id {
				t.Errorf("%s: %v, want code %v for id %v", bad.line, m, bad.code, bad.id)
			}
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, 100+i))
			if m := receive(); m["id"] != float64(100+i) || m["error"] != nil {
				t.Errorf("after %s: %v", bad.line, m)
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() {
			for lines.Scan() {
				t.Errorf("a line that nobody asked for: %q", lines.Text())
			}
			waited <- cmd.Wait()
		}()
		select {
		case err := <-waited:
			if err != nil {
				t.Errorf("%v\n%s", err, stderr.String())
			}
		case <-time.After(20 * time.Second):
			t.Error("the server goes on after its input has ended")
			_ = cmd.Process.Kill()
		}
		if !strings.Contains(stderr.String(), "serving") {
			t.Errorf("nothing was logged to stderr: %q", stderr.String())
		}
	})
}
