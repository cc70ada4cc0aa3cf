package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/seed792a4543/assay/internal/yamlfile"
)

type kind uint8

const (
	scalar kind = iota
	null
	sequence
	mapping
)

func (k kind) String() string {
	return [...]string{"a single value", "null", "a list", "a mapping"}[k]
}

// node is one value of a YAML or JSON file with its place. Decoding into Go types directly
// would lose what strictness needs: the line, the spelling of a number, a repeated key, a null.
type node struct {
	kind   kind
	value  string // of a scalar, in its spelling
	quoted bool   // a quoted scalar is text, a plain one may be read as a number or a bool
	items  []*node
	pairs  []pair
	line   int
}

type pair struct {
	key   string
	line  int
	value *node
}

// maxDepth bounds nesting; a golden set needs seven levels.
const maxDepth = 64

// parseYAML returns the only document of data. The library is asked for its syntax tree alone.
func parseYAML(data []byte) (*node, *Fault) {
	if depth := flowDepth(data); depth > maxDepth {
		return nil, &Fault{Line: 1, Message: fmt.Sprintf("not a golden set: brackets nest %d deep", depth)}
	}
	file, err := yamlfile.Parse(data, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlFault(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, &Fault{Line: line(doc.Body), Message: "a second YAML document: keep one golden set to a file"}
		}
		body = doc.Body
	}
	if body == nil {
		return &node{kind: null, line: 1}, nil
	}
	return fromAST(body, 0)
}

// flowDepth returns how deep brackets nest at most, those in text included: an upper bound
// that is cheap to find before a recursive parser runs.
func flowDepth(data []byte) int {
	depth, deepest := 0, 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth = max(depth-1, 0)
		case '\n':
			// Brackets in running text need not be balanced; only open ones on one line count.
			depth = min(depth, maxDepth/2)
		}
	}
	return deepest
}

var yamlPosition = regexp.MustCompile(`^\[(\d+):\d+\] (.*)`)

func yamlFault(err error) *Fault {
	f := &Fault{Line: 1, Message: "not valid YAML: " + err.Error()}
	first, _, _ := strings.Cut(err.Error(), "\n")
	if m := yamlPosition.FindStringSubmatch(first); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Message = "not valid YAML: " + m[2]
		if strings.Contains(m[2], "mapping value") {
			f.Message += ": put quotes around a value that holds a colon followed by a space"
		}
	}
	return f
}

func line(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return max(t.Position.Line, 1)
	}
	return 1
}

func fromAST(n ast.Node, depth int) (*node, *Fault) {
	if depth > maxDepth {
		return nil, &Fault{Line: line(n), Message: "values nest too deep"}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		out := &node{kind: mapping, line: line(n)}
		if len(n.Values) > 0 {
			out.line = line(n.Values[0].Key)
		}
		for _, v := range n.Values {
			if fault := addPair(out, v, depth); fault != nil {
				return nil, fault
			}
		}
		return out, nil
	case *ast.MappingValueNode:
		out := &node{kind: mapping, line: line(n.Key)}
		if fault := addPair(out, n, depth); fault != nil {
			return nil, fault
		}
		return out, nil
	case *ast.SequenceNode:
		out := &node{kind: sequence, line: line(n)}
		for _, v := range n.Values {
			item, fault := fromAST(v, depth+1)
			if fault != nil {
				return nil, fault
			}
			out.items = append(out.items, item)
		}
		return out, nil
	case *ast.NullNode:
		return &node{kind: null, line: line(n)}, nil
	case *ast.StringNode:
		quoted := n.Token.Type == token.DoubleQuoteType || n.Token.Type == token.SingleQuoteType
		return &node{value: n.Value, quoted: quoted, line: line(n)}, nil
	case *ast.LiteralNode:
		return &node{value: n.Value.Value, quoted: true, line: line(n)}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return &node{value: n.GetToken().Value, line: line(n)}, nil
	case *ast.AnchorNode, *ast.AliasNode:
		return nil, &Fault{Line: line(n), Message: "anchors and aliases are not supported: write the value out, or quote text that begins with & or *"}
	case *ast.MergeKeyNode:
		return nil, &Fault{Line: line(n), Message: "merge keys (<<) are not supported: write the keys out"}
	case *ast.TagNode:
		return nil, &Fault{Line: line(n), Message: "tags are not supported: quote text that begins with !"}
	}
	return nil, &Fault{Line: line(n), Message: fmt.Sprintf("%s is not supported here", n.Type())}
}

func addPair(out *node, v *ast.MappingValueNode, depth int) *Fault {
	if v.Key.IsMergeKey() {
		return &Fault{Line: line(v.Key), Message: "merge keys (<<) are not supported: write the keys out"}
	}
	key, fault := fromAST(v.Key, depth+1)
	if fault != nil {
		return fault
	}
	if key.kind != scalar {
		return &Fault{Line: line(v.Key), Message: "a key must be a single value"}
	}
	value, fault := fromAST(v.Value, depth+1)
	if fault != nil {
		return fault
	}
	if value.kind == null && value.line < line(v.Key) {
		value.line = line(v.Key)
	}
	out.pairs = append(out.pairs, pair{key.value, line(v.Key), value})
	return nil
}

// parseJSON returns the single JSON value in data, whose first line has number first.
func parseJSON(data []byte, first int) (*node, *Fault) {
	j := &jsonReader{dec: json.NewDecoder(bytes.NewReader(data)), data: data, line: first}
	j.dec.UseNumber() // keeps the spelling
	n, fault := j.value(0)
	if fault != nil {
		return nil, fault
	}
	if _, err := j.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &Fault{Line: j.at(), Message: "more text after the end of the JSON value"}
	}
	return n, nil
}

type jsonReader struct {
	dec  *json.Decoder
	data []byte
	done int // bytes counted into line
	line int
}

// at returns the line of the token read last: tokens do not span lines.
func (j *jsonReader) at() int {
	off := min(int(j.dec.InputOffset()), len(j.data))
	j.line += bytes.Count(j.data[j.done:off], []byte{'\n'})
	j.done = off
	return j.line
}

func (j *jsonReader) fail(err error) *Fault {
	line := j.at()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		off := min(int(syntax.Offset), len(j.data))
		if off > j.done {
			line += bytes.Count(j.data[j.done:off], []byte{'\n'})
		}
	}
	if errors.Is(err, io.EOF) {
		return &Fault{Line: line, Message: "not valid JSON: it ends too early"}
	}
	return &Fault{Line: line, Message: "not valid JSON: " + err.Error()}
}

func (j *jsonReader) value(depth int) (*node, *Fault) {
	tok, err := j.dec.Token()
	if err != nil {
		return nil, j.fail(err)
	}
	line := j.at()
	if depth > maxDepth {
		return nil, &Fault{Line: line, Message: "values nest too deep"}
	}
	switch tok := tok.(type) {
	case nil:
		return &node{kind: null, line: line}, nil
	case bool:
		return &node{value: strconv.FormatBool(tok), line: line}, nil
	case json.Number:
		return &node{value: tok.String(), line: line}, nil
	case string:
		return j.text(tok, line)
	case json.Delim:
		if tok == '[' {
			out := &node{kind: sequence, line: line}
			for j.dec.More() {
				item, fault := j.value(depth + 1)
				if fault != nil {
					return nil, fault
				}
				out.items = append(out.items, item)
			}
			return out, j.close()
		}
		out := &node{kind: mapping, line: line}
		for j.dec.More() {
			tok, err := j.dec.Token()
			if err != nil {
				return nil, j.fail(err)
			}
			at := j.at()
			key, _ := tok.(string) // the decoder accepts no other key
			value, fault := j.value(depth + 1)
			if fault != nil {
				return nil, fault
			}
			out.pairs = append(out.pairs, pair{key, at, value})
		}
		return out, j.close()
	}
	return nil, &Fault{Line: line, Message: "not valid JSON"}
}

func (j *jsonReader) text(s string, line int) (*node, *Fault) {
	// The decoder turns half a surrogate pair into U+FFFD without a word.
	if strings.ContainsRune(s, utf8.RuneError) && !bytes.Contains(j.data, []byte("\uFFFD")) &&
		!bytes.Contains(bytes.ToLower(j.data), []byte(`\ufffd`)) {
		return nil, &Fault{Line: line, Message: `not valid JSON: half a surrogate pair in a \u escape`}
	}
	return &node{value: s, quoted: true, line: line}, nil
}

func (j *jsonReader) close() *Fault {
	if _, err := j.dec.Token(); err != nil {
		return j.fail(err)
	}
	j.at()
	return nil
}
