// Package importtest holds the test of the import directions; it has no other content.
package importtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/seed792a4543/assay"

// layers lists what each package may import from this module; a name stands for the package
// and everything below it. The longest matching name decides. Every entry must match a
// package, so that the table cannot outlive the code.
var layers = map[string][]string{
	"internal":      {"internal"},
	"corpus":        {"internal", "corpus"},
	"chunk":         {"internal", "corpus", "chunk"},
	"index":         {"internal", "corpus", "index"},
	"hybrid":        {"internal", "corpus", "index", "hybrid"},
	"evalkit":       {"internal", "corpus", "evalkit"},
	"engine":        {"internal", "corpus", "chunk", "index", "hybrid", "evalkit", "engine"},
	"cmd":           {"internal", "corpus", "chunk", "index", "hybrid", "evalkit", "engine", "cmd"},
	"engine/answer": {"internal", "corpus", "chunk", "index", "hybrid", "evalkit", "engine/answer"},
}

// thirdParty lists the only packages of this module that may import a module, for those that
// are wrapped by an adaptor.
var thirdParty = map[string][]string{
	"github.com/philippgille/chromem-go": {"index/dense"},
	"github.com/blevesearch/bleve":       {"index/lexical"},
	"github.com/sashabaranov/go-openai":  {"index/embed/openai", "engine/answer"},
	"github.com/yuin/goldmark":           {"corpus"},
	"github.com/klippa-app/go-pdfium":    {"corpus/pdf"},
	"github.com/tetratelabs/wazero":      {"corpus/pdf"},
	"github.com/alecthomas/kong":         {"cmd/assay"},
	"github.com/schollz/progressbar":     {"cmd/assay"},
	"github.com/gofrs/flock":             {"engine"},
	"testing":                            {"index/indextest", "evalkit/gotest", "engine/serve/servetest", "engine/serve/load", "internal/collections"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// touch looks at every source file, so that the go command, which does not see what go list
// reads, runs this test again when one has changed.
func touch(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	touch(t)
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var pkgs []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func TestImportDirections(t *testing.T) {
	used := map[string]bool{}
	for _, p := range list(t) {
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		layer := ""
		for l := range layers {
			if below(pkg, l) && len(l) > len(layer) {
				layer = l
			}
		}
		if layer == "" {
			if p.ImportPath != module {
				t.Errorf("package %s belongs to no layer: add it to the table", pkg)
			}
			continue
		}
		used[layer] = true
		for _, imp := range p.Imports {
			own, ok := strings.CutPrefix(imp, module+"/")
			if ok && !slices.ContainsFunc(layers[layer], func(l string) bool { return below(own, l) }) {
				t.Errorf("%s imports %s: layer %s may import only %v", pkg, own, layer, layers[layer])
			}
			for mod, only := range thirdParty {
				if below(imp, mod) && !slices.ContainsFunc(only, func(o string) bool { return below(pkg, o) }) {
					t.Errorf("%s imports %s: only %v may", pkg, imp, only)
				}
			}
		}
	}
	for l := range layers {
		if !used[l] {
			t.Errorf("the table lists layer %s, which has no package", l)
		}
	}
}
