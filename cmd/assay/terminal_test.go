package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Sequences that a document must not send to the terminal: they set its title, clear it, move the
// cursor, turn text around or, as the answer to a query, type commands.
var sequences = map[string]string{
	"ESC":               "\x1b]0;owned\a\x1b[2J\x1b[H\x1b[31m",
	"C1":                "\u009b31m\u009d0;owned\u009c",
	"carriage return":   "innocent\rspoofed",
	"backspace":         "abc\b\b\bxyz",
	"bell":              "\a",
	"right to left":     "\u202egnp.exe\u202c \u2066x\u2069",
	"line separator":    "a\u2028b\u2029c",
	"delete":            "\x7f",
	"device status":     "\x1b[6n\x1b[c\x1bP$q\"p\x1b\\",
	"invalid UTF-8":     "\xff\x9b31m",
	"tag characters":    "\U000e0041\U000e0042",
	"zero width joiner": "a\u200db", // harmless, and part of words and emoji
}

// TestTerminal puts each sequence into the text, the heading, the title and the metadata of a
// document, into a question and into the settings, and runs the commands that print them.
func TestTerminal(t *testing.T) {
	for name, sequence := range sequences {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.MkdirAll("docs", 0o777); err != nil {
				t.Fatal(err)
			}
			text := "# Kettle " + sequence + " care\n\nThe kettle " + sequence + " is descaled monthly.\n\n## Pan " + sequence + "\n\nNever scrub the pan " + sequence + ".\n"
			for file, data := range map[string]string{
				filepath.Join("docs", "a.md"): text,
				"golden.yaml":                 "schema: assay.golden/v1\nname: shop\nversion: 1\nquestions:\n  - {id: q1, question: \"How often is the kettle descaled?\", answerable: true, gold: [{doc: a.md}]}\n",
				"assay.yaml":                  "corpus: {path: docs}\ngolden: golden.yaml\n",
			} {
				if err := os.WriteFile(file, []byte(data), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			printed := 0
			for _, args := range [][]string{
				{"build"}, {"up", "--yes"}, {"up"}, {"search", "kettle descaled"}, {"search", "kettle " + sequence}, {"search", "kettle", "--explain"},
				{"ask", "How often is the kettle descaled?"}, {"ask", "kettle " + sequence}, {"eval"}, {"builds"}, {"check"}, {"golden", "lint"},
				{"promote", sequence}, {"search", "--mode", sequence, "kettle"}, {"search", "--store", "x" + strings.ReplaceAll(sequence, "\x00", ""), "kettle"},
				{"show", "a.md"}, {"inspect"}, {"report"}, {"docs"}, {"compare", sequence, sequence}, {"--" + sequence}, {sequence},
				{"build", "--config", "missing" + sequence + ".yaml"},
			} {
				var stdout, stderr bytes.Buffer
				run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
				printed += stdout.Len()
				for where, out := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
					for i, r := range out {
						if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r < 0xe0080) {
							t.Errorf("assay %q writes %U to %s: %q", args, r, where, out[max(0, i-60):min(len(out), i+40)])
							break
						}
					}
				}
			}
			if printed == 0 {
				t.Fatal("nothing was printed")
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A result that nobody gets is no success.
func TestOutputThatFails(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.md", []byte("# A\ntext\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"build", "--corpus", "."}, nil, io.Discard, &stderr); code != 0 {
		t.Fatalf("%d: %s", code, stderr.String())
	}
	for _, args := range [][]string{{"version"}, {"check"}, {"builds", "list"}, {"search", "text", "--build", "latest"}} {
		if args[0] == "search" {
			ids, err := os.ReadDir(".assay/builds")
			if err != nil || len(ids) != 1 {
				t.Fatal(ids, err)
			}
			args[3] = ids[0].Name()
		}
		stderr.Reset()
		if code := run(t.Context(), args, nil, full{}, &stderr); code != 1 || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%v: %d, %s", args, code, stderr.String())
		}
	}
}
