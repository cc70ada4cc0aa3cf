package embed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
)

// TestMain lets the test binary stand in for the program that a Command runs.
func TestMain(m *testing.M) {
	if mode := os.Getenv("ASSAY_TEST_PROGRAM"); mode != "" {
		program(mode)
		return
	}
	os.Exit(m.Run())
}

func program(mode string) {
	fmt.Fprintln(os.Stderr, "model loaded")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var q commandRequest
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			os.Exit(3)
		}
		switch mode {
		case "good":
			out := make([]json.RawMessage, len(q.Texts))
			for i, t := range q.Texts {
				out[i] = json.RawMessage(fmt.Sprintf("[%d,%d]", len(t), len(q.Kind)))
				if t == "none" {
					out[i] = json.RawMessage("null")
				}
			}
			line, _ := json.Marshal(map[string]any{"embeddings": out})
			fmt.Println(string(line))
		case "silent":
			time.Sleep(time.Hour)
		case "dies":
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(7)
		default:
			fmt.Println(mode)
		}
	}
}

func newCommand(t *testing.T, mode string, o CommandOptions) *Command {
	t.Helper()
	o.Command = []string{os.Args[0]}
	o.Env = append(o.Env, "ASSAY_TEST_PROGRAM="+mode)
	c, err := NewCommand(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestCommand(t *testing.T) {
	ctx := context.Background()
	t.Run("good", func(t *testing.T) {
		var log bytes.Buffer
		c := newCommand(t, "good", CommandOptions{Model: "m", Batch: 2, DocumentPrefix: "d: ", Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err := c.Prepare(ctx); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(index.Fingerprint{Kind: "command", Model: "m", Dimension: 2, DocumentPrefix: "d: "}, c.Fingerprint()); d != "" {
			t.Error(d)
		}
		rows := mustEmbed(t, c, index.KindDocument, "abc", "x", "y", "z", "w")
		if len(rows) != 5 || rows[0][0] != 0.6 || rows[0][1] != 0.8 { // 6 letters with the prefix, 8 in "document"
			t.Errorf("rows %v", rows)
		}
		if rows := mustEmbed(t, c, index.KindQuery, "none", "abcde"); rows[0] != nil || rows[1][0] != rows[1][1] {
			t.Errorf("query rows %v", rows)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "model loaded") {
			t.Errorf("log %q", log.String())
		}
		mustEmbed(t, c, index.KindDocument, "again after close")
	})
	for _, tt := range []struct{ name, mode, want string }{
		{"dies", "dies", "out of memory"},
		{"no json", "hello", "no JSON object"},
		{"count", `{"embeddings":[[1,2]]}`, "1 vectors for 2 texts"},
		{"reports", `{"error":"too long","index":1}`, "embed text 1"},
		{"null component", `{"embeddings":[[1,2],[null,1]]}`, "component 0 of the vector is null"},
		{"zero", `{"embeddings":[[1,2],[0,0]]}`, "embed text 1"},
		{"NaN", `{"embeddings":[[1,2],[NaN,0]]}`, "no JSON object"},
		{"dimension", `{"embeddings":[[1,2],[1,2,3]]}`, "3 components, want 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newCommand(t, tt.mode, CommandOptions{}).Embed(ctx, []string{"a", "b"}, index.KindDocument)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	t.Run("time limit", func(t *testing.T) {
		_, err := newCommand(t, "silent", CommandOptions{Timeout: 50 * time.Millisecond}).Embed(ctx, []string{"a"}, index.KindDocument)
		if err == nil || !strings.Contains(err.Error(), "no reply to 1 texts within 50ms") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		c := newCommand(t, "silent", CommandOptions{})
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := c.Embed(ctx, []string{"a"}, index.KindDocument); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("missing program", func(t *testing.T) {
		c, err := NewCommand(CommandOptions{Command: []string{"/no/such/program"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Embed(ctx, []string{"a"}, index.KindDocument); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
			t.Errorf("error %v", err)
		}
	})
}
