// Package yamlfile reads YAML that people write. It turns the library's panics on some broken
// documents (a tag without a value where a list belongs, for one) into errors: such a file is
// faulty, and no reason to end the program. Errors of the library itself are passed on as they are,
// with their places.
package yamlfile

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Parse returns the syntax tree of data.
func Parse(data []byte, options ...parser.Option) (file *ast.File, err error) {
	defer guard(&err)
	return parser.ParseBytes(data, 0, options...)
}

// Decode reads the first document of data, io.EOF if it holds none. A key that into does not know
// is an error.
func Decode(data []byte, into any) (err error) {
	defer guard(&err)
	return yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(into)
}

// DecodeNode reads a part of a syntax tree as Decode does.
func DecodeNode(n ast.Node, into any) (err error) {
	defer guard(&err)
	return yaml.NodeToValue(n, into, yaml.Strict())
}

// Pairs returns the pairs of a mapping; the library has another node for a single pair. ok is false
// if n is no mapping.
func Pairs(n ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("not readable as YAML: %v", p)
	}
}
