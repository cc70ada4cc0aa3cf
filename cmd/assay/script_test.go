package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed792a4543/assay/corpus/homestore"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"assay": main, "fakeembed": fakeEmbed})
}

// fakeEmbed is an embedding program: a text's vector counts its letters. It fails for the kind
// of text that FAKE_EMBED_FAIL names.
func fakeEmbed() {
	in := json.NewDecoder(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		var req struct {
			Kind  string   `json:"kind"`
			Texts []string `json:"texts"`
		}
		if err := in.Decode(&req); err != nil {
			return
		}
		if req.Kind == os.Getenv("FAKE_EMBED_FAIL") {
			_ = out.Encode(map[string]string{"error": "told to fail"}) // a lost pipe ends the program anyway
			continue
		}
		rows := make([][]float64, len(req.Texts))
		for i, text := range req.Texts {
			rows[i] = make([]float64, 27)
			rows[i][26] = 1
			for _, r := range text {
				if r >= 'a' && r <= 'z' {
					rows[i][r-'a']++
				}
			}
		}
		_ = out.Encode(map[string]any{"embeddings": rows})
	}
}

// TestScripts runs each testdata/script/*.txtar as a user would type it. Three commands are
// added: homestore (write the bundled project into the working folder), replace (a file, old
// and new text) and flipbyte (a file matching a pattern).
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"homestore": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Check(os.CopyFS(ts.MkAbs("."), homestore.Files))
			},
			// exitcode N command... runs a command that must end with that code.
			"exitcode": func(ts *testscript.TestScript, _ bool, args []string) {
				err := ts.Exec(args[1], args[2:]...)
				var exit *exec.ExitError
				code := 0
				if errors.As(err, &exit) {
					code = exit.ExitCode()
				} else {
					ts.Check(err)
				}
				if strconv.Itoa(code) != args[0] {
					ts.Fatalf("exit code %d, want %s", code, args[0])
				}
			},
			"replace": func(ts *testscript.TestScript, _ bool, args []string) {
				if len(args) != 3 {
					ts.Fatalf("usage: replace file old new")
				}
				data := ts.ReadFile(args[0])
				out := replaceOnce(data, args[1], args[2])
				if out == data {
					ts.Fatalf("%s does not hold %q", args[0], args[1])
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out), 0o666))
			},
			// bytes FILE TEXT writes TEXT, in which \xNN stands for a byte.
			"bytes": func(ts *testscript.TestScript, _ bool, args []string) {
				data, err := strconv.Unquote(`"` + args[1] + `"`)
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(data), 0o666))
			},
			"flipbyte": func(ts *testscript.TestScript, _ bool, args []string) {
				names, err := filepath.Glob(ts.MkAbs(args[0]))
				ts.Check(err)
				if len(names) == 0 {
					ts.Fatalf("nothing matches %s", args[0])
				}
				for _, name := range names {
					data, err := os.ReadFile(name)
					ts.Check(err)
					data[len(data)/2] ^= 0xff
					ts.Check(os.WriteFile(name, data, fs.FileMode(0o666)))
				}
			},
		},
	})
}

func replaceOnce(s, old, new string) string {
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			return s[:i] + new + s[i+len(old):]
		}
	}
	return s
}
