package engine

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/seed792a4543/assay/internal/yamlfile"
)

// The YAML library fits values to fields: it cuts fractions off and reads numbers out of text. In
// settings that would be another build than the one that was asked for, so what is written must be
// of the kind that the setting has.

// neverZero are the settings whose 0 in Go means the default and in a file is a slip.
var neverZero = map[string]bool{
	"chunk.size": true, "chunk.max": true, "chunk.level": true, "hybrid.depth": true, "hybrid.k": true,
}

// checkKinds returns what is wrong with the value of the setting at path, whose field has type t;
// name is the file's.
func checkKinds(name, path string, n ast.Node, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	fail := func(want string) error {
		return badInput("%s:%d: %s is %s: %s", name, n.GetToken().Position.Line, path, clip(n.String(), 40), want)
	}
	switch n := n.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		return fail("anchors and aliases are not read, write the value out")
	case *ast.TagNode:
		return checkKinds(name, path, n.Value, t)
	case *ast.NullNode:
		if t.Kind() == reflect.Struct && !strings.Contains(path, ".") {
			return nil // a section whose settings are all commented out
		}
		return fail("write a value, or leave the setting out for its default")
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.InterfaceUnmarshaler]()) {
		return nil // reads strictly itself
	}
	switch t.Kind() {
	case reflect.Struct:
		return checkFields(name, path, n, t)
	case reflect.Slice:
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			return fail("write a list: [a, b]")
		}
		for i, v := range list.Values {
			if err := checkKinds(name, fmt.Sprintf("%s[%d]", path, i), v, t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Bool:
		if _, ok := n.(*ast.BoolNode); !ok {
			return fail("use true or false")
		}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		if t == reflect.TypeFor[time.Duration]() {
			return nil
		}
		v, ok := n.(*ast.IntegerNode)
		if !ok {
			return fail("use a whole number, without quotes")
		}
		if u, ok := v.Value.(uint64); ok && u == 0 && neverZero[path] {
			return fail("use 1 or more, or leave it out for the default")
		}
	case reflect.Float64:
		switch n.(type) {
		case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		default:
			return fail("use a number, without quotes")
		}
	}
	return nil
}

// checkFields is checkKinds for the settings of one section. Keys that it does not have are left to
// the reader, which names the nearest.
func checkFields(name, path string, n ast.Node, t reflect.Type) error {
	pairs, ok := yamlfile.Pairs(n)
	if !ok {
		return badInput("%s:%d: %s is %s: write its settings, as in {key: value}", name, n.GetToken().Position.Line, path, clip(n.String(), 40))
	}
	for _, v := range pairs {
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			return badInput("%s:%d: %s: merge keys are not read, write the settings out", name, v.GetToken().Position.Line, path)
		}
		key := v.Key.GetToken().Value
		for f := range t.Fields() {
			if tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); tag != key || tag == "-" {
				continue
			}
			at := key
			if path != "" {
				at = path + "." + key
			}
			if err := checkKinds(name, at, v.Value, f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}
