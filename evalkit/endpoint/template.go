package endpoint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed792a4543/assay/corpus"
)

var placeholder = regexp.MustCompile(`\{(question|k|id|as)\}`)

// placeholders replaces every placeholder of a template by what value gives for its name.
func placeholders(template string, value func(name string) string) string {
	return placeholder.ReplaceAllStringFunc(template, func(p string) string { return value(p[1 : len(p)-1]) })
}

// fill replaces the placeholders inside a JSON value; keys stay.
func fill(v any, values map[string]any) any {
	switch v := v.(type) {
	case string:
		if m := placeholder.FindString(v); m == v && m != "" {
			return values[v[1:len(v)-1]]
		}
		return placeholders(v, func(name string) string { return plain(values[name]) })
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fill(v[i], values)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = fill(v[k], values)
		}
		return out
	}
	return v
}

// plain writes a value inside a text; lists are joined by commas.
func plain(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v)
}

// splitPath cuts "a.b\.c.0" into its parts.
func splitPath(path string) []string {
	if path == "" || path == "." {
		return nil
	}
	parts := []string{""}
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path) && (path[i+1] == '.' || path[i+1] == '\\'):
			i++
			parts[len(parts)-1] += string(path[i])
		case path[i] == '.':
			parts = append(parts, "")
		default:
			parts[len(parts)-1] += string(path[i])
		}
	}
	return parts
}

// at returns what stands at a path below v; an error names the part that is not there.
func at(v any, path string) (any, error) {
	for _, part := range splitPath(path) {
		switch have := v.(type) {
		case map[string]any:
			next, ok := have[part]
			if !ok {
				return nil, fmt.Errorf("path %q: no key %q", path, part)
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(have) {
				return nil, fmt.Errorf("path %q: no position %q in a list of %d", path, part, len(have))
			}
			v = have[i]
		default:
			return nil, fmt.Errorf("path %q: %q is looked for in a %s", path, part, kind(v))
		}
	}
	return v, nil
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case json.Number:
		return "number"
	case bool:
		return "truth value"
	case []any:
		return "list"
	}
	return "object"
}

// text reads an id: a text or a number.
func text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", fmt.Errorf("a %s is no text", kind(v))
}

func number(v any) (float64, error) {
	switch v := v.(type) {
	case json.Number:
		return v.Float64()
	case string:
		return strconv.ParseFloat(v, 64)
	}
	return 0, fmt.Errorf("a %s is no number", kind(v))
}

func offset(v any) (int, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("a %s is no offset", kind(v))
	}
	i, err := strconv.Atoi(n.String())
	if err == nil && i < 0 {
		err = fmt.Errorf("%d is no offset", i)
	}
	return i, err
}

// section reads a section's path: a text "A > B", or a list of headings; null is the document's
// own section.
func section(v any) (string, error) {
	list, ok := v.([]any)
	if v == nil {
		return "", nil
	}
	if !ok {
		return text(v)
	}
	parts := make([]string, len(list))
	for i := range list {
		var err error
		if parts[i], err = text(list[i]); err != nil {
			return "", err
		}
	}
	return corpus.FormatPath(parts), nil
}
