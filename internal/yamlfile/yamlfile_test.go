package yamlfile

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

type thing struct {
	Name string   `yaml:"name"`
	List []string `yaml:"list"`
}

// broken is a document on which the library panics while it decodes.
const broken = "list: !x\nname: a"

func TestPairs(t *testing.T) {
	for data, want := range map[string]int{"a: 1": 1, "a: 1\nb: 2": 2, "{a: 1}": 1, "{}": 0, "[a]": -1, "a": -1, "7": -1} {
		file, err := Parse([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		pairs, ok := Pairs(file.Docs[0].Body)
		if ok != (want >= 0) || len(pairs) != max(want, 0) {
			t.Errorf("%s: %d pairs, %v, want %d", data, len(pairs), ok, want)
		}
	}
}

func TestDecode(t *testing.T) {
	var ok thing
	if err := Decode([]byte("name: a\nlist: [b]\n"), &ok); err != nil || ok.Name != "a" || len(ok.List) != 1 {
		t.Errorf("Decode = %+v, %v", ok, err)
	}
	for _, row := range []struct{ name, data, want string }{
		{"unknown key", "nam: a", "unknown field"},
		{"panic", broken, "not readable as YAML"},
		{"not YAML", "a: [", "not"},
	} {
		if err := Decode([]byte(row.data), new(thing)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: Decode: %v, want an error with %q", row.name, err, row.want)
		}
	}
	if err := Decode([]byte("# a remark\n"), new(thing)); err != io.EOF {
		t.Errorf("no document: %v, want io.EOF", err)
	}
	var located yaml.Error
	if err := Decode([]byte("\n\nnam: a"), new(thing)); !errors.As(err, &located) || located.GetToken().Position.Line != 3 {
		t.Errorf("the library's error lost its place: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1", broken, "- [", "&a [*a]", "? {x: y}\n: z", "!!str", "a:\n\t- b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		for _, doc := range file.Docs {
			if doc.Body == nil {
				continue
			}
			if _, ok := doc.Body.(*ast.MappingNode); ok {
				_ = DecodeNode(doc.Body, new(thing)) // an error or not, but no panic
			}
		}
	})
}
