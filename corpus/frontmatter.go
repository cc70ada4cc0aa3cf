package corpus

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/seed792a4543/assay/internal/suggest"
	"github.com/seed792a4543/assay/internal/yamlfile"
)

// Front matter beyond these bounds is an error: what is longer or deeper is not written by
// hand, and the parser's cost grows faster than the size.
const (
	maxFrontMatter      = 64 << 10
	maxFrontMatterDepth = 32
)

// splitFrontMatter returns the text between the opening and the closing line of front matter,
// the offset behind the closing line, and the opening line: "---" for YAML, "+++" for TOML, ""
// for none. It has to begin on the first line and to be closed.
func splitFrontMatter(text string) (inner string, end int, fence string) {
	if len(text) < 4 || text[:3] != "---" && text[:3] != "+++" {
		return "", 0, ""
	}
	first, _, ok := strings.Cut(text, "\n")
	fence = text[:3]
	if !ok || strings.TrimRight(first, " \t") != fence {
		return "", 0, ""
	}
	start := len(first) + 1
	for at := start; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		next := min(at+len(line)+1, len(text))
		trimmed := strings.TrimRight(line, " \t")
		if trimmed == fence || fence == "---" && trimmed == "..." {
			return text[start:at], next, fence
		}
		at = next
	}
	return "", 0, ""
}

func (d *Document) frontMatterEnd() int {
	_, end, _ := splitFrontMatter(d.Text)
	return end
}

// readFrontMatter fills title, labels, superseded ids and metadata of d from the front matter
// of in.Text, and returns the offset where it ends.
func readFrontMatter(in *Input, d *Document) (int, error) {
	inner, end, fence := splitFrontMatter(in.Text)
	if fence == "" {
		if line := strayACL(in.Text); line > 0 {
			return 0, in.Fail(line, "acl has no effect here: front matter begins on the first line with --- and ends with a line ---; if this is text, write something in front of it")
		}
		return 0, nil
	}
	if len(inner) > maxFrontMatter {
		return 0, in.Fail(1, "front matter is %d bytes long, more than %d: shorten it, or put a blank line before the first ---", len(inner), maxFrontMatter)
	}
	var keys []metaKey
	var err error
	if fence == "+++" {
		keys, err = tomlKeys(in, inner)
	} else {
		keys, err = yamlKeys(in, inner)
	}
	if err != nil {
		return 0, err
	}
	if keys == nil && strings.TrimSpace(inner) != "" && fence == "---" && !onlyComments(inner) {
		// Text between two rules. It must not be permissions with a slip in them.
		if mentionsACL(inner) {
			return 0, in.Fail(2, "front matter is not a list of `key: value`, though it mentions acl: correct it, or put a blank line before the first ---")
		}
		return 0, nil
	}
	return end, applyMeta(in, d, keys)
}

func onlyComments(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// strayACL returns the line of an acl key in what was meant as front matter and is none: it is
// not closed, does not begin on the first line, or has no fences. 0 stands for no such line.
// Such a document must not become public.
func strayACL(text string) int {
	head := text[:min(len(text), 1024)]
	if strings.HasPrefix(strings.TrimLeft(head, " \t\n"), "{") { // in JSON, as some tools write it
		if at := jsonACL.FindStringIndex(head); at != nil {
			return 1 + strings.Count(head[:at[0]], "\n")
		}
	}
	n := 0
	opened := false
	for line := range strings.SplitSeq(head, "\n") {
		n++
		trimmed := strings.TrimSpace(line)
		fence := len(trimmed) >= 3 && (strings.Trim(trimmed, "-") == "" || strings.Trim(trimmed, "+") == "")
		switch {
		case trimmed == "":
			if opened {
				return 0 // a rule, then text
			}
		case fence && opened:
			return 0 // closed
		case fence:
			opened = true
		case mentionsACL(line) && strings.ContainsAny(trimmed, ":="):
			return n
		case !opened:
			return 0
		}
	}
	return 0
}

var (
	jsonACL   = regexp.MustCompile(`(?i)"acls?"\s*:`)
	nestedACL = regexp.MustCompile(`(?i)\bacls?\b["']?\s*[:=]`)
)

// mentionsACL reports whether a line of the first kilobyte begins with acl in any case.
func mentionsACL(s string) bool {
	for line := range strings.SplitSeq(s[:min(len(s), 1024)], "\n") {
		line = strings.ToLower(strings.TrimLeft(line, " \t-\"'"))
		if strings.HasPrefix(line, "acl") && (len(line) == 3 || !isLetter(line[3]) || strings.HasPrefix(line, "acls")) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// metaKey is one top-level entry of front matter.
type metaKey struct {
	name    string
	line    int
	value   string   // spelling
	strings []string // value as a string or a list of strings
	problem string   // why strings cannot be had, "" if they can
	scalar  bool
}

// commaKey is an entry of a format that has strings alone: labels and documents are separated by
// commas.
func commaKey(name, content string, line int) metaKey {
	k := metaKey{name: name, line: line, value: content, scalar: true, strings: []string{}}
	for part := range strings.SplitSeq(content, ",") {
		if part = strings.TrimSpace(part); part != "" {
			k.strings = append(k.strings, part)
		}
	}
	if len(k.strings) == 0 {
		k.problem = "has no content"
	}
	return k
}

// applyMeta takes the keys that mean something and keeps all as metadata.
func applyMeta(in *Input, d *Document, keys []metaKey) error {
	var errs []error
	for _, k := range keys {
		if d.Metadata == nil {
			d.Metadata = map[string]string{}
		}
		d.Metadata[Normalize(k.name)] = Normalize(k.value)
		switch k.name {
		case "title":
			switch {
			case !k.scalar:
				errs = append(errs, in.Fail(k.line, "title must be a string"))
			default:
				d.Title = foldSpace(Normalize(k.value))
			}
		case "acl":
			if k.problem != "" {
				errs = append(errs, in.Fail(k.line, "acl %s: write a label or a list of labels, such as acl: [staff]", k.problem))
				continue
			}
			labels, problem := aclLabels(k.strings)
			if problem != "" {
				errs = append(errs, in.Fail(k.line, "acl %s", problem))
				continue
			}
			d.ACL = append(d.ACL, labels...)
		case "supersedes":
			if k.problem != "" {
				errs = append(errs, in.Fail(k.line, "supersedes %s: write a document's path or a list of paths", k.problem))
				continue
			}
			for _, id := range k.strings {
				d.Supersedes = append(d.Supersedes, DocumentID(Normalize(id)))
			}
		default:
			if !k.scalar && nestedACL.MatchString(k.value) {
				errs = append(errs, in.Fail(k.line, "acl has no effect inside %q: write it as a key of its own", k.name))
				continue
			}
			if meant := misspelt(k.name); meant == "title" {
				in.Warn(k.line, "key %q has no effect: did you mean title?", k.name)
			} else if meant != "" {
				errs = append(errs, in.Fail(k.line, "key %q looks like %s misspelt: write %s, or rename the key", k.name, meant, meant))
			}
		}
	}
	slices.Sort(d.ACL)
	d.ACL = slices.Compact(d.ACL)
	return errors.Join(errs...)
}

// misspelt returns the key that name was probably meant to be: acl for ACL, acls, alc, a-c-l or
// axl; supersedes for Supersedes, supersede, supercedes; "" for any other. One slip must not
// make a document public: a letter too many or too few, two swapped, or a neighbour on the
// keyboard. Other names one letter from acl (act, acm) pass.
func misspelt(name string) string {
	if len(name) > 64 {
		return ""
	}
	fold := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' || r == '.' {
			return -1
		}
		return r
	}, strings.ToLower(name))
	switch {
	case fold == "title":
		return "title"
	case fold == "alc" || fold == "cal":
		return "acl"
	case len(fold) == len("acl"):
		slips := 0
		for i, near := range [...]string{"qwsz", "xvdf", "kop"} {
			if c := fold[i]; c != "acl"[i] {
				if slips++; strings.IndexByte(near, c) < 0 {
					slips = 2
				}
			}
		}
		if slips <= 1 {
			return "acl"
		}
	case fold != "all" && len(fold) > 1 && suggest.Distance(fold, "acl") <= 1:
		return "acl"
	case suggest.Distance(fold, "supersedes") <= 2:
		return "supersedes"
	}
	return ""
}

// yamlKeys returns the top-level entries of a YAML mapping, nil if it is no mapping. Anchors,
// aliases, tags and merge keys are refused: they let a few lines stand for gigabytes, and none
// is needed here.
func yamlKeys(in *Input, inner string) ([]metaKey, error) {
	if depth, line := nesting(inner); depth > maxFrontMatterDepth {
		return nil, in.Fail(line+1, "front matter is nested deeper than %d levels", maxFrontMatterDepth)
	}
	file, err := yamlfile.Parse([]byte(inner))
	if err != nil {
		return nil, yamlError(in, err)
	}
	var keys []metaKey
	for i, doc := range file.Docs {
		if i > 0 {
			return nil, in.Fail(1, "front matter holds more than one YAML document")
		}
		if doc.Body == nil {
			continue
		}
		entries, ok := yamlfile.Pairs(doc.Body)
		if !ok {
			return nil, nil
		}
		v := &yamlVisitor{}
		ast.Walk(v, doc.Body)
		if v.bad != nil {
			return nil, in.Fail(v.bad.GetToken().Position.Line+1, "front matter uses %s, which is not accepted: write the value out", v.what)
		}
		seen := map[string]bool{}
		for _, e := range entries {
			key := e.Key.String()
			if s, ok := e.Key.(*ast.StringNode); ok {
				key = s.Value
			}
			line := e.Key.GetToken().Position.Line + 1
			if seen[key] {
				return nil, in.Fail(line, "key %q is given twice", key)
			}
			seen[key] = true
			k := metaKey{name: key, line: line}
			yamlValue(e.Value, &k)
			keys = append(keys, k)
		}
	}
	if keys == nil {
		return nil, nil
	}
	return keys, nil
}

// yamlVisitor finds the first construct that is not accepted.
type yamlVisitor struct {
	bad  ast.Node
	what string
}

func (v *yamlVisitor) Visit(n ast.Node) ast.Visitor {
	if v.bad != nil {
		return nil
	}
	switch n.(type) {
	case *ast.AliasNode:
		v.bad, v.what = n, "an alias (*name)"
	case *ast.AnchorNode:
		v.bad, v.what = n, "an anchor (&name)"
	case *ast.MergeKeyNode:
		v.bad, v.what = n, "a merge key (<<)"
	case *ast.TagNode:
		v.bad, v.what = n, "a tag (!name)"
	}
	return v
}

// yamlValue fills value, strings and problem of k.
func yamlValue(n ast.Node, k *metaKey) {
	str := func(n ast.Node) (string, bool) {
		switch n := n.(type) {
		case *ast.StringNode:
			return n.Value, true
		case *ast.LiteralNode:
			return strings.TrimRight(n.Value.Value, "\n"), true
		}
		return "", false
	}
	switch n := n.(type) {
	case nil, *ast.NullNode:
		k.scalar = true
		k.problem = "has no value"
	case *ast.StringNode, *ast.LiteralNode:
		k.scalar = true
		k.value, _ = str(n)
		k.strings = []string{k.value}
	case *ast.SequenceNode:
		k.value = strings.TrimSpace(n.String())
		k.strings = []string{}
		for _, v := range n.Values {
			s, ok := str(v)
			if !ok {
				k.problem = fmt.Sprintf("holds %s, which is not a string", strings.TrimSpace(v.String()))
				return
			}
			k.strings = append(k.strings, s)
		}
	case *ast.MappingNode, *ast.MappingValueNode:
		k.value = strings.TrimSpace(n.String())
		k.problem = "is a mapping"
	default: // number, bool, infinity
		k.scalar = true
		k.value = strings.TrimSpace(n.String())
		k.problem = fmt.Sprintf("is %s, which is not a string", k.value)
	}
}

func yamlError(in *Input, err error) error {
	line := 0
	msg := err.Error()
	var y yaml.Error
	if errors.As(err, &y) {
		msg = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
	}
	if i := strings.IndexByte(msg, '\n'); i >= 0 {
		msg = msg[:i]
	}
	return in.Fail(line+1, "front matter is not valid YAML: %s: correct it; permissions cannot be told otherwise", msg)
}

// nesting bounds the depth of YAML from above without parsing: brackets, indentation and
// dashes each open a level. It returns the line that is too deep, from 1.
func nesting(s string) (depth, line int) {
	brackets := 0
	var indents []int
	n := 0
	for l := range strings.SplitSeq(s, "\n") {
		n++
		lead := len(l) - len(strings.TrimLeft(l, " "))
		if lead < len(l) {
			for len(indents) > 0 && indents[len(indents)-1] >= lead {
				indents = indents[:len(indents)-1]
			}
			indents = append(indents, lead)
		}
		dashes := 0
		for rest := l[lead:]; strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "? "); rest = rest[2:] {
			dashes++
		}
		for i := 0; i < len(l); i++ {
			switch l[i] {
			case '[', '{':
				brackets++
			case ']', '}':
				brackets = max(brackets-1, 0)
			}
			depth = max(depth, brackets)
		}
		if depth = max(depth, dashes, len(indents)); depth > maxFrontMatterDepth {
			return depth, n
		}
	}
	return depth, n
}

func tomlKeys(in *Input, inner string) ([]metaKey, error) {
	if depth, line := nesting(inner); depth > maxFrontMatterDepth {
		return nil, in.Fail(line+1, "front matter is nested deeper than %d levels", maxFrontMatterDepth)
	}
	var values map[string]any
	if _, err := toml.Decode(inner, &values); err != nil {
		line, msg := 0, err.Error()
		var p toml.ParseError
		if errors.As(err, &p) {
			line, msg = p.Position.Line, p.Message
			if msg == "" {
				msg = strings.TrimPrefix(p.Error(), "toml: ")
			}
		}
		return nil, in.Fail(line+1, "front matter is not valid TOML: %s: correct it; permissions cannot be told otherwise", msg)
	}
	lines := strings.Split(inner, "\n")
	var keys []metaKey
	for _, name := range slices.Sorted(maps.Keys(values)) {
		k := metaKey{name: name, line: 1}
		for i, l := range lines {
			l = strings.TrimLeft(strings.TrimSpace(l), `["'`)
			if rest, ok := strings.CutPrefix(l, name); ok && (rest == "" || !isLetter(rest[0])) {
				k.line = i + 2
				break
			}
		}
		switch v := values[name].(type) {
		case string:
			k.scalar, k.value, k.strings = true, v, []string{v}
		case []any:
			k.strings = []string{}
			k.value = fmt.Sprint(v)
			for _, e := range v {
				s, ok := e.(string)
				if !ok {
					k.problem = fmt.Sprintf("holds %v, which is not a string", e)
					break
				}
				k.strings = append(k.strings, s)
			}
			if k.problem == "" {
				k.value = strings.Join(k.strings, ", ")
			}
		case map[string]any, []map[string]any:
			k.value, k.problem = fmt.Sprint(v), "is a table"
		case bool:
			k.scalar, k.value = true, strconv.FormatBool(v)
			k.problem = "is " + k.value + ", which is not a string"
		default: // number, date
			k.scalar, k.value = true, fmt.Sprint(v)
			k.problem = "is " + k.value + ", which is not a string"
		}
		keys = append(keys, k)
	}
	return keys, nil
}
