package engine_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/engine"
)

var updateDoc = flag.Bool("update", false, "write the descriptions of the settings anew")

// TestSettingsDescriptions compares the descriptions in the schema with the comments on the fields
// that read the settings, and demands one of each. With -update it writes them.
func TestSettingsDescriptions(t *testing.T) {
	said := map[string]string{}
	describe(t, reflect.TypeFor[engine.Settings](), "", said)
	want, err := json.MarshalIndent(said, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	const file = "settings.doc.json"
	if *updateDoc {
		if err := os.WriteFile(file, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what the comments say: run `go test ./engine -run TestSettingsDescriptions -update` (-file +comments):\n%s", file, cmp.Diff(string(have), string(want)))
	}
	var schema struct {
		Properties map[string]struct {
			Description string
			Properties  map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(engine.SettingsJSONSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	for part, p := range schema.Properties {
		if part != "policy" && p.Description == "" {
			t.Errorf("%s has no description", part)
		}
		for key, k := range p.Properties {
			if part != "policy" && k.Description == "" {
				t.Errorf("%s.%s has no description", part, key)
			}
		}
	}
}

// describe collects the comments on the fields of a struct of settings, and of those below it.
func describe(t *testing.T, typ reflect.Type, path string, said map[string]string) {
	t.Helper()
	comments := comments(t, typ)
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		text := inFile(comments[f.Name], f.Name, name)
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Duration]() {
			describe(t, f.Type, at, said)
			if text == "" {
				text = inFile(typeComment(t, f.Type), f.Type.Name(), "these settings")
			}
		}
		if text == "" {
			t.Errorf("%s: the field %s.%s has no comment", at, typ, f.Name)
		}
		said[at] = text
	}
}

// source finds the declaration of a type of this module.
func source(t *testing.T, typ reflect.Type) (*ast.GenDecl, *ast.StructType) {
	t.Helper()
	dir := filepath.Join("..", strings.TrimPrefix(typ.PkgPath(), "github.com/seed792a4543/assay/"))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of %s: %v", typ, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || len(g.Specs) != 1 {
				continue
			}
			if spec, ok := g.Specs[0].(*ast.TypeSpec); ok && spec.Name.Name == typ.Name() {
				return g, spec.Type.(*ast.StructType)
			}
		}
	}
	t.Fatalf("no declaration of %s", typ)
	return nil, nil
}

// comments are those of the fields of a struct, by the field's name.
func comments(t *testing.T, typ reflect.Type) map[string]string {
	t.Helper()
	_, s := source(t, typ)
	out := map[string]string{}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			out[name.Name] = said(f.Doc.Text(), f.Comment.Text())
		}
	}
	return out
}

// typeComment is the comment on a type.
func typeComment(t *testing.T, typ reflect.Type) string {
	t.Helper()
	g, _ := source(t, typ)
	return said(g.Doc.Text(), "")
}

var goSpeech = regexp.MustCompile(`(^|[.] )?\bnil means\b`)

// inFile puts the key of the file into the place of the Go name that a comment begins with.
func inFile(text, name, key string) string {
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		return key + " " + rest
	}
	return text
}

// said is a field's comment in the words of a file, where what is nil in Go is left out. Of a comment
// above and one behind, the one above heads a group of fields.
func said(doc, behind string) string {
	doc, behind = strings.Join(strings.Fields(doc), " "), strings.Join(strings.Fields(behind), " ")
	out := doc
	if behind != "" {
		out = behind
	}
	return goSpeech.ReplaceAllStringFunc(out, func(s string) string {
		if start, ok := strings.CutSuffix(s, "nil means"); ok && start != "" {
			return start + "Left out, it means"
		}
		return "left out, it means"
	})
}
