package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// BEIR reads the corpus.jsonl of a folder in the layout of the BEIR collections. The folder's
// name becomes the collection's. Document ids are the _id values.
func BEIR(dir string) Source {
	return jsonlSource{path: filepath.Join(dir, "corpus.jsonl"), name: filepath.Base(filepath.Clean(dir))}
}

// JSONL reads a file with one JSON object a line: "_id" (or "id"), "text" and, optionally,
// "title", "acl" and "supersedes" (each a string or a list of strings), and "metadata" (an
// object). Other fields become metadata if they are strings, numbers or booleans. A document's
// text is the text alone, so that offsets into the field stay valid; where it is blank, the
// title is the text. The version of a document is the digest of its line.
func JSONL(path string) Source {
	base := filepath.Base(path)
	return jsonlSource{path: path, name: strings.TrimSuffix(base, filepath.Ext(base))}
}

type jsonlSource struct{ path, name string }

func (s jsonlSource) Load(ctx context.Context) (*Collection, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, fmt.Errorf("corpus %s: %w", s.name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("corpus %s: %s is not a regular file", s.name, filepath.Base(s.path))
	}
	raw, err := os.ReadFile(s.path)
	if err != nil {
		return nil, fmt.Errorf("corpus %s: %w", s.name, err)
	}
	r := JSONLines()
	e := &entry{id: filepath.Base(s.path), reader: &r}
	docs, warnings, err := readBytes(ctx, Options{Invalid: InvalidError}, e, raw)
	if err != nil {
		return nil, err
	}
	c := &Collection{Name: s.name, Documents: docs, Warnings: warnings}
	if err := c.finish(); err != nil {
		return nil, err
	}
	return c, nil
}

// JSONLines returns the reader of files as JSONL describes them. Since collections keep their
// questions in the same form, it reads only files that Include or Formats name.
func JSONLines() Reader {
	return Reader{
		Name:       "jsonl",
		Extensions: []string{".jsonl", ".ndjson"},
		Explicit:   true,
		Bytes:      true,
		Read:       readJSONLines,
	}
}

func readJSONLines(ctx context.Context, in *Input) ([]Document, error) {
	var docs []Document
	rest := bytes.TrimPrefix(in.Raw, []byte("\uFEFF"))
	if bad := firstInvalid(rest); bad >= 0 {
		return nil, in.Fail(1+bytes.Count(rest[:bad], []byte("\n")), "not valid UTF-8")
	}
	for line := 1; len(rest) > 0; line++ {
		if line%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		cur, after, _ := bytes.Cut(rest, []byte("\n"))
		rest = after
		cur = bytes.TrimSuffix(cur, []byte("\r"))
		if len(bytes.TrimSpace(cur)) == 0 {
			continue
		}
		d, err := readJSONLine(in, line, cur)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

func readJSONLine(in *Input, line int, data []byte) (Document, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return Document{}, in.Fail(line, "not a JSON object: %v", err)
	}
	sum := sha256.Sum256(data)
	d := Document{Version: hex.EncodeToString(sum[:]), Format: "jsonl", Anchors: []Anchor{{Line: line, Column: 1}}}
	var keys []metaKey
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		raw := fields[name]
		switch name {
		case "_id", "id":
			if name == "id" && fields["_id"] != nil {
				continue
			}
			var id any
			if err := json.Unmarshal(raw, &id); err != nil {
				return d, in.Fail(line, "%s: %v", name, err)
			}
			switch id := id.(type) {
			case string:
				d.ID = DocumentID(Normalize(id))
			case float64:
				d.ID = DocumentID(raw)
			default:
				return d, in.Fail(line, "%s must be a string", name)
			}
		case "text":
			if err := json.Unmarshal(raw, &d.Text); err != nil {
				return d, in.Fail(line, "text must be a string")
			}
			d.Text = Normalize(strings.TrimPrefix(d.Text, "\uFEFF"))
		case "metadata":
			var m map[string]json.RawMessage
			if err := json.Unmarshal(raw, &m); err != nil {
				return d, in.Fail(line, "metadata must be an object")
			}
			for _, k := range slices.Sorted(maps.Keys(m)) {
				keys = append(keys, jsonKey(k, line, m[k]))
			}
		default:
			keys = append(keys, jsonKey(name, line, raw))
		}
	}
	if d.ID == "" {
		return d, in.Fail(line, "document without _id")
	}
	if err := applyMeta(in, &d, keys); err != nil {
		return d, err
	}
	delete(d.Metadata, "title")
	if len(d.Metadata) == 0 {
		d.Metadata = nil
	}
	if strings.TrimSpace(d.Text) == "" {
		d.Text = d.Title
	}
	if d.Title == "" {
		d.Title = string(d.ID)
	}
	d.Sections = outline(nil, 0, len(d.Text))
	d.Blocks = paragraphs(d.Text, 0, nil)
	return d, nil
}

// jsonKey reads the value of a field like one of front matter.
func jsonKey(name string, line int, raw json.RawMessage) metaKey {
	k := metaKey{name: name, line: line, value: string(raw)}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		k.problem = "cannot be read" // unreachable: raw is part of a valid object
		return k
	}
	switch v := v.(type) {
	case nil:
		k.scalar, k.value, k.problem = true, "", "is null"
	case string:
		k.scalar, k.value, k.strings = true, v, []string{v}
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				k.problem = fmt.Sprintf("holds %v, which is not a string", e)
				return k
			}
			k.strings = append(k.strings, s)
		}
	case map[string]any:
		k.problem = "is an object"
	default:
		k.scalar = true
		k.problem = "is " + k.value + ", which is not a string"
	}
	return k
}
