package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/seed792a4543/assay/internal/disk"
	"github.com/seed792a4543/assay/internal/yamlfile"
)

// Error is every fault of a review file.
type Error struct {
	Path   string
	Faults []Fault
}

// Fault is one fault with its line, from 1.
type Fault struct {
	Line int
	Msg  string
}

// Error returns one line per fault, each as file:line: message.
func (e *Error) Error() string {
	var lines []string
	for _, f := range e.Faults {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", e.Path, f.Line, f.Msg))
	}
	return strings.Join(lines, "\n")
}

// Load reads the review file at path, see Parse. A file that does not exist is an empty one.
func Load(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return &File{Schema: Schema, Path: path}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read review file: %w", err)
	}
	return Parse(path, data)
}

// Parse reads decisions: JSONL, one decision a line, if the name ends in .jsonl, else YAML.
// Unknown keys, repeated keys and incomplete decisions are faults; all decisions are checked
// before the *Error is returned.
func Parse(name string, data []byte) (*File, error) {
	f := &File{Schema: Schema, Path: name}
	e := &Error{Path: name}
	if filepath.Ext(name) == ".jsonl" {
		f.jsonl(data, e)
	} else {
		f.yaml(data, e)
	}
	for i := range f.Decisions {
		d := &f.Decisions[i]
		for _, p := range d.problems() {
			e.Faults = append(e.Faults, Fault{d.Line, p})
		}
	}
	if len(e.Faults) > 0 {
		return nil, e
	}
	return f, nil
}

func (f *File) jsonl(data []byte, e *Error) {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var d Decision
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		err := dec.Decode(&d)
		if err == nil {
			if _, more := dec.Token(); !errors.Is(more, io.EOF) {
				err = errors.New("something follows the decision")
			}
		}
		if err == nil {
			err = repeatedKey(json.NewDecoder(bytes.NewReader(line)))
		}
		if err != nil {
			e.Faults = append(e.Faults, Fault{i + 1, strings.TrimPrefix(err.Error(), "json: ")})
			continue
		}
		d.Line = i + 1
		f.Decisions = append(f.Decisions, d)
	}
}

// repeatedKey returns an error if an object of the value that dec stands at has a key twice;
// encoding/json would silently take the last one.
func repeatedKey(dec *json.Decoder) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return fmt.Errorf("key %q is given twice; keep one", name)
			}
			seen[name] = true
		}
		if err := repeatedKey(dec); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// No type of File has a decoder of its own, so every key is checked.
func (f *File) yaml(data []byte, e *Error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return
	}
	if err := yamlfile.Decode(data, f); err != nil {
		if errors.Is(err, io.EOF) { // comments only
			return
		}
		e.Faults = append(e.Faults, fault(err))
		f.Decisions = nil
		return
	}
	if f.Schema != Schema {
		e.Faults = append(e.Faults, Fault{1, fmt.Sprintf("schema is %q, this version reads %q", f.Schema, Schema)})
	}
	lines := decisionLines(data)
	if len(lines) != len(f.Decisions) {
		// A null entry would otherwise stand as an empty decision or vanish.
		e.Faults = append(e.Faults, Fault{1, fmt.Sprintf("%d entries under decisions, %d of them are decisions", len(lines), len(f.Decisions))})
		return
	}
	for i := range f.Decisions {
		f.Decisions[i].Line = lines[i]
	}
}

// decisionLines returns the line of each entry under the key decisions.
func decisionLines(data []byte) (lines []int) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil || len(file.Docs) == 0 { // unreachable: the data has been decoded
		return nil
	}
	ast.Walk(visitor(func(n ast.Node) bool {
		kv, ok := n.(*ast.MappingValueNode)
		if !ok || kv.Key.GetToken().Value != "decisions" {
			return true
		}
		if seq, ok := kv.Value.(*ast.SequenceNode); ok && lines == nil {
			for _, v := range seq.Values {
				line := v.GetToken().Position.Line
				if m, ok := v.(*ast.MappingNode); ok && len(m.Values) > 0 {
					line = m.Values[0].Key.GetToken().Position.Line
				}
				lines = append(lines, line)
			}
		}
		return false
	}), file.Docs[0].Body)
	return lines
}

// visitor walks as long as it returns true.
type visitor func(ast.Node) bool

func (v visitor) Visit(n ast.Node) ast.Visitor {
	if v(n) {
		return v
	}
	return nil
}

// fault returns an error of the YAML library with its line.
func fault(err error) Fault {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil {
		return Fault{y.GetToken().Position.Line, y.GetMessage()}
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return Fault{1, first}
}

// Encode returns the file's bytes: JSONL if name ends in .jsonl, else YAML. Parse reads them back.
func (f *File) Encode(name string) ([]byte, error) {
	if filepath.Ext(name) == ".jsonl" {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for i := range f.Decisions {
			if err := enc.Encode(&f.Decisions[i]); err != nil {
				return nil, err
			}
		}
		return b.Bytes(), nil
	}
	c := *f
	c.Schema = Schema
	if c.Decisions == nil {
		c.Decisions = []Decision{}
	}
	return yaml.MarshalWithOptions(&c, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
}

// Save replaces the file at path durably; after a crash it holds the old decisions or the new.
func (f *File) Save(path string) error { return f.Write(nil, path) }

// Write is Save through fsys.
func (f *File) Write(fsys *disk.FS, path string) error {
	data, err := f.Encode(path)
	if err != nil {
		return fmt.Errorf("write review file: %w", err)
	}
	return fsys.WriteFile(path, data)
}
