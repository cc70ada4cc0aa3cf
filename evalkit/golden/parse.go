package golden

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed792a4543/assay/corpus"
)

// maxGrade keeps 2^grade, which ndcg_exp needs, far from overflow.
const maxGrade = 100

// Parse reads a golden set from data; name is its file name, which picks the format as for
// Load and stands in messages. Text comes out in NFC with LF line ends. On failure the error is
// a *ParseError and the set is nil.
func Parse(name string, data []byte) (*Set, error) {
	d := &decoder{err: ParseError{Path: name}}
	set := d.set(name, data)
	if len(d.err.Faults) > 0 {
		d.err.sort()
		return nil, &d.err
	}
	return set, nil
}

type decoder struct {
	err   ParseError
	lines [][]byte
}

func (d *decoder) fail(line int, format string, args ...any) {
	d.err.Faults = append(d.err.Faults, Fault{line, fmt.Sprintf(format, args...)})
}

func (d *decoder) set(name string, data []byte) *Set {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		line := 1
		for rest := data; len(rest) > 0; {
			r, n := utf8.DecodeRune(rest)
			if r == utf8.RuneError && n == 1 {
				break
			}
			if r == '\n' {
				line++
			}
			rest = rest[n:]
		}
		d.fail(line, "not valid UTF-8: save the file as UTF-8")
		return nil
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	d.lines = bytes.Split(data, []byte("\n"))

	set := &Set{Schema: Schema, Version: 1, Path: name}
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	set.Name = corpus.Normalize(strings.TrimSpace(strings.TrimSuffix(base, path.Ext(base))))
	if set.Name == "" || !utf8.ValidString(set.Name) {
		set.Name = "golden"
	}
	switch path.Ext(base) {
	case ".jsonl", ".ndjson":
		d.jsonLines(set)
	case ".json":
		root, fault := parseJSON(data, 1)
		d.root(set, root, fault)
	default:
		root, fault := parseYAML(data)
		d.root(set, root, fault)
	}
	d.repeatedIDs(set)
	return set
}

func (d *decoder) root(set *Set, root *node, fault *Fault) {
	if fault != nil {
		d.err.Faults = append(d.err.Faults, *fault)
		return
	}
	if root.kind != mapping {
		d.fail(root.line, "a golden set is a mapping with the keys schema, name, version and questions, not %s", root.kind)
		return
	}
	m := d.mapping(root, "the golden set", setKeys)
	if m["schema"] == nil {
		d.fail(root.line, "schema is missing: add `schema: %s`", Schema)
	}
	d.header(set, m)
	questions := m["questions"]
	if questions == nil {
		d.fail(root.line, "questions is missing")
		return
	}
	for _, n := range d.list(questions, "questions") {
		set.Questions = append(set.Questions, d.question(n))
	}
}

func (d *decoder) jsonLines(set *Set) {
	first := true
	for i, l := range d.lines {
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		n, fault := parseJSON(l, i+1)
		if fault != nil {
			d.err.Faults = append(d.err.Faults, *fault)
			continue
		}
		if first && isHeader(n) {
			d.header(set, d.mapping(n, "the first line", headerKeys))
		} else {
			set.Questions = append(set.Questions, d.question(n))
		}
		first = false
	}
}

// isHeader reports whether a JSONL file's first line is the optional header.
func isHeader(n *node) bool {
	header := false
	for _, p := range n.pairs {
		if p.key == "id" || p.key == "question" {
			return false
		}
		header = header || slices.Contains(headerKeys, p.key)
	}
	return header
}

func (d *decoder) header(set *Set, m map[string]*node) {
	if n := m["schema"]; n != nil {
		if v, ok := d.text(n, "schema"); ok && v != Schema {
			d.fail(n.line, "schema %q is not known: this version reads %s", v, Schema)
		}
	}
	if n := m["name"]; n != nil {
		set.Name, _ = d.text(n, "name")
	}
	if n := m["version"]; n != nil {
		set.Version = d.integer(n, "version", 1, 1<<30)
	}
	if n := m["notes"]; n != nil {
		set.Notes, _ = d.text(n, "notes")
	}
}

var (
	headerKeys   = []string{"schema", "name", "version", "notes"}
	setKeys      = append(slices.Clone(headerKeys), "questions")
	questionKeys = []string{"id", "question", "answerable", "slice", "split", "critical", "as", "forbidden", "gold", "facts", "claims", "state", "labels", "notes"}
	memberKeys   = []string{"doc", "section", "quote", "grade"}
	factKeys     = []string{"text", "number", "unit", "date", "regex"}
	labelKeys    = []string{"by", "doc", "section", "grade", "answerable", "note"}
)

// mapping returns the values by key. Unknown and repeated keys are faults.
func (d *decoder) mapping(n *node, what string, known []string) map[string]*node {
	out := make(map[string]*node, len(n.pairs))
	lines := make(map[string]int, len(n.pairs))
	for _, p := range n.pairs {
		switch {
		case lines[p.key] != 0:
			d.fail(p.line, "repeated key %q in %s (first in line %d)", p.key, what, lines[p.key])
		case !slices.Contains(known, p.key):
			if hint := didYouMean(p.key, known); hint != "" {
				d.fail(p.line, "unknown key %q in %s%s", p.key, what, hint)
			} else {
				d.fail(p.line, "unknown key %q in %s: known are %s", p.key, what, strings.Join(known, ", "))
			}
		default:
			out[p.key] = p.value
		}
		if lines[p.key] == 0 {
			lines[p.key] = p.line
		}
	}
	return out
}

func (d *decoder) list(n *node, what string) []*node {
	if n.kind != sequence {
		d.fail(n.line, "%s must be a list, not %s", what, n.kind)
		return nil
	}
	return n.items
}

// text returns a scalar in its spelling, NFC. Null and the empty string are faults.
func (d *decoder) text(n *node, what string) (string, bool) {
	v, ok := d.anyText(n, what)
	if ok && strings.TrimSpace(v) == "" {
		d.fail(n.line, "%s is empty", what)
		return "", false
	}
	return v, ok
}

func (d *decoder) anyText(n *node, what string) (string, bool) {
	switch n.kind {
	case scalar:
		return corpus.Normalize(strings.ReplaceAll(n.value, "\r\n", "\n")), true
	case null:
		d.fail(n.line, "%s is null: write a value, put quotes around the word, or leave it out", what)
	case mapping:
		d.fail(n.line, "%s must be a single value, not a mapping: put quotes around text that holds a colon", what)
	default:
		d.fail(n.line, "%s must be a single value, not %s", what, n.kind)
	}
	return "", false
}

func (d *decoder) texts(n *node, what string) []string {
	var out []string
	for _, item := range d.list(n, what) {
		if v, ok := d.text(item, "an entry of "+what); ok {
			if slices.Contains(out, v) {
				d.fail(item.line, "%q stands twice in %s", v, what)
				continue
			}
			out = append(out, v)
		}
	}
	return out
}

func (d *decoder) boolean(n *node, what string) bool {
	if n.kind == scalar && !n.quoted {
		switch n.value {
		case "true":
			return true
		case "false":
			return false
		}
	}
	shown := n.kind.String()
	if n.kind == scalar {
		shown = strconv.Quote(n.value)
	}
	d.fail(n.line, "%s must be true or false, not %s", what, shown)
	return false
}

var integerPattern = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

func (d *decoder) integer(n *node, what string, low, high int) int {
	if n.kind == scalar && !n.quoted && integerPattern.MatchString(n.value) {
		if v, err := strconv.Atoi(n.value); err == nil && v >= low && v <= high {
			return v
		}
	}
	shown := n.kind.String()
	if n.kind == scalar {
		shown = n.value
		if n.quoted {
			shown = strconv.Quote(n.value)
		}
	}
	d.fail(n.line, "%s must be a whole number from %d to %d, not %s", what, low, high, shown)
	return low
}

func (d *decoder) oneOf(n *node, what string, allowed ...string) string {
	v, ok := d.text(n, what)
	if !ok {
		return allowed[0]
	}
	if !slices.Contains(allowed, v) {
		d.fail(n.line, "%s must be one of %s, not %q%s", what, strings.Join(allowed, ", "), v, didYouMean(v, allowed))
	}
	return v
}

func (d *decoder) question(n *node) Question {
	q := Question{Split: Dev, State: Accepted, Line: n.line}
	if n.kind != mapping {
		d.fail(n.line, "a question must be a mapping, not %s", n.kind)
		return q
	}
	m := d.mapping(n, "the question", questionKeys)
	if v := m["id"]; v == nil {
		d.fail(n.line, "id is missing")
	} else if id, ok := d.text(v, "id"); ok {
		q.ID = id
		if id != strings.TrimSpace(id) || strings.ContainsFunc(id, unicode.IsControl) {
			d.fail(v.line, "id %q begins or ends with a blank or holds a control character", id)
		}
	}
	of := func(key string) string {
		if q.ID == "" {
			return key
		}
		return fmt.Sprintf("question %s: %s", q.ID, key)
	}
	if v := m["question"]; v == nil {
		d.fail(n.line, "%s is missing", of("question"))
	} else {
		q.Question, _ = d.text(v, of("question"))
	}
	if v := m["answerable"]; v == nil {
		d.fail(n.line, "%s is missing: write true or false", of("answerable"))
	} else {
		q.Answerable = d.boolean(v, of("answerable"))
	}
	if v := m["slice"]; v != nil {
		q.Slice = d.texts(v, of("slice"))
	}
	if v := m["split"]; v != nil {
		q.Split = d.oneOf(v, of("split"), Dev, Holdout)
	}
	if v := m["critical"]; v != nil {
		q.Critical = d.boolean(v, of("critical"))
	}
	if v := m["as"]; v != nil {
		q.As = d.texts(v, of("as"))
	}
	if v := m["forbidden"]; v != nil {
		for _, item := range d.list(v, of("forbidden")) {
			if id, ok := d.document(item, of("an entry of forbidden")); ok {
				q.Forbidden = append(q.Forbidden, id)
			}
		}
	}
	if v := m["gold"]; v != nil {
		for _, item := range d.list(v, of("gold")) {
			q.Gold = append(q.Gold, d.group(item, of("gold")))
		}
	}
	if v := m["facts"]; v != nil {
		for _, item := range d.list(v, of("facts")) {
			q.Facts = append(q.Facts, d.fact(item, of("facts")))
		}
	}
	if v := m["claims"]; v != nil {
		q.Claims = d.claims(v, of("claims"))
	}
	if v := m["state"]; v != nil {
		q.State = d.oneOf(v, of("state"), Draft, Accepted, Retired)
	}
	if v := m["labels"]; v != nil {
		for _, item := range d.list(v, of("labels")) {
			q.Labels = append(q.Labels, d.label(item, of("labels")))
		}
	}
	if v := m["notes"]; v != nil {
		q.Notes, _ = d.anyText(v, of("notes"))
	}
	if m["answerable"] != nil && m["answerable"].kind == scalar {
		switch {
		case q.Answerable && len(q.Gold) == 0:
			d.fail(n.line, "question %s is answerable but has no gold: name the section that answers it, or write answerable: false", q.ID)
		case !q.Answerable && len(q.Gold) > 0:
			d.fail(n.line, "question %s has gold but answerable is false: drop the gold, or write answerable: true", q.ID)
		}
	}
	return q
}

func (d *decoder) document(n *node, what string) (corpus.DocumentID, bool) {
	v, ok := d.text(n, what)
	if !ok {
		return "", false
	}
	if strings.HasPrefix(v, "/") || slices.Contains(strings.Split(v, "/"), "..") {
		d.fail(n.line, "%s %q must be a path relative to the corpus", what, v)
		return "", false
	}
	return corpus.DocumentID(v), true
}

func (d *decoder) group(n *node, what string) Group {
	if n.kind != mapping {
		d.fail(n.line, "an entry of %s must be a mapping with the key doc or any, not %s", what, n.kind)
		return nil
	}
	if !slices.ContainsFunc(n.pairs, func(p pair) bool { return p.key == "any" }) {
		return Group{d.member(n, what)}
	}
	m := d.mapping(n, what, []string{"any"})
	items := d.list(m["any"], what+": any")
	if len(items) == 0 && m["any"].kind == sequence {
		d.fail(n.line, "%s: any is empty", what)
	}
	var g Group
	for _, item := range items {
		if item.kind != mapping {
			d.fail(item.line, "an entry of %s: any must be a mapping with the key doc, not %s", what, item.kind)
			continue
		}
		g = append(g, d.member(item, what))
	}
	return g
}

// member expects a mapping.
func (d *decoder) member(n *node, what string) Member {
	out := Member{Grade: 1, Line: n.line}
	m := d.mapping(n, what, memberKeys)
	if v := m["doc"]; v == nil {
		d.fail(n.line, "%s: doc is missing", what)
	} else {
		out.Doc, _ = d.document(v, what+": doc")
	}
	out.Section = d.section(m["section"], what)
	if v := m["quote"]; v != nil {
		out.Quote, _ = d.text(v, what+": quote")
	}
	if v := m["grade"]; v != nil {
		out.Grade = d.integer(v, what+": grade", 1, maxGrade)
	}
	return out
}

func (d *decoder) section(n *node, what string) *string {
	if n == nil {
		return nil
	}
	if v, ok := d.anyText(n, what+": section"); ok {
		v = strings.TrimSpace(v)
		return &v
	}
	return nil
}

func (d *decoder) fact(n *node, what string) Fact {
	f := Fact{Line: n.line}
	if n.kind != sequence {
		if p, ok := d.phrasing(n, what); ok {
			f.Any = []Phrasing{p}
		}
		return f
	}
	if len(n.items) == 0 {
		d.fail(n.line, "%s: a list of phrasings is empty", what)
	}
	for _, item := range n.items {
		if p, ok := d.phrasing(item, what); ok {
			f.Any = append(f.Any, p)
		}
	}
	return f
}

var (
	numberPattern = regexp.MustCompile(`^[-+−]?[0-9][0-9.,_'’\x{00a0}\x{202f} ]*%?$`)
	datePattern   = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`)
	claimPattern  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
)

func (d *decoder) phrasing(n *node, what string) (Phrasing, bool) {
	if n.kind != mapping {
		v, ok := d.text(n, "an entry of "+what)
		return Phrasing{Text: v}, ok
	}
	m := d.mapping(n, what, factKeys)
	var p Phrasing
	forms := 0
	for _, f := range []struct {
		key string
		to  *string
	}{{"text", &p.Text}, {"number", &p.Number}, {"date", &p.Date}, {"regex", &p.Regex}} {
		if v := m[f.key]; v != nil {
			*f.to, _ = d.text(v, what+": "+f.key)
			forms++
		}
	}
	if forms != 1 {
		d.fail(n.line, "an entry of %s must have exactly one of text, number, date and regex", what)
	}
	if v := m["unit"]; v != nil {
		p.Unit, _ = d.text(v, what+": unit")
		if m["number"] == nil {
			d.fail(v.line, "%s: unit stands without number", what)
		}
	}
	if p.Number != "" && !numberPattern.MatchString(p.Number) {
		d.fail(m["number"].line, "%s: %q is no number: use text for words", what, p.Number)
	}
	if p.Date != "" && !datePattern.MatchString(p.Date) {
		d.fail(m["date"].line, "%s: %q is no date: write year-month-day, such as 2026-04-01", what, p.Date)
	}
	if p.Regex != "" {
		if _, err := regexp.Compile(p.Regex); err != nil {
			d.fail(m["regex"].line, "%s: %v", what, err)
		}
	}
	return p, forms == 1
}

func (d *decoder) claims(n *node, what string) []Claim {
	if n.kind != mapping {
		d.fail(n.line, "%s must be a mapping from claim id to the places that support it, not %s", what, n.kind)
		return nil
	}
	var out []Claim
	for _, p := range n.pairs {
		c := Claim{ID: p.key, Line: p.line}
		if !claimPattern.MatchString(p.key) {
			d.fail(p.line, "%s: claim id %q must be lower-case letters, digits and hyphens, at most 32, beginning with a letter", what, p.key)
		}
		if i := slices.IndexFunc(out, func(o Claim) bool { return o.ID == p.key }); i >= 0 {
			d.fail(p.line, "repeated key %q in %s (first in line %d)", p.key, what, out[i].Line)
		}
		for _, item := range d.list(p.value, what+": "+p.key) {
			if item.kind != mapping {
				d.fail(item.line, "an entry of %s: %s must be a mapping with the key doc, not %s", what, p.key, item.kind)
				continue
			}
			c.Support = append(c.Support, d.member(item, what+": "+p.key))
		}
		out = append(out, c)
	}
	return out
}

func (d *decoder) label(n *node, what string) Label {
	l := Label{Line: n.line}
	if n.kind != mapping {
		d.fail(n.line, "an entry of %s must be a mapping with the key by, not %s", what, n.kind)
		return l
	}
	m := d.mapping(n, what, labelKeys)
	if v := m["by"]; v == nil {
		d.fail(n.line, "%s: by is missing: name who judged", what)
	} else {
		l.By, _ = d.text(v, what+": by")
	}
	if v := m["note"]; v != nil {
		l.Note, _ = d.anyText(v, what+": note")
	}
	if (m["doc"] == nil) == (m["answerable"] == nil) {
		d.fail(n.line, "%s: a label is about a place (doc, grade) or about the question (answerable)", what)
		return l
	}
	if v := m["answerable"]; v != nil {
		b := d.boolean(v, what+": answerable")
		l.Answerable = &b
		for _, key := range []string{"section", "grade"} {
			if m[key] != nil {
				d.fail(m[key].line, "%s: %s needs doc", what, key)
			}
		}
		return l
	}
	l.Doc, _ = d.document(m["doc"], what+": doc")
	l.Section = d.section(m["section"], what)
	if v := m["grade"]; v == nil {
		d.fail(n.line, "%s: grade is missing: 0 is judged not relevant", what)
	} else {
		l.Grade = d.integer(v, what+": grade", 0, maxGrade)
	}
	return l
}

func (d *decoder) repeatedIDs(set *Set) {
	first := make(map[string]int)
	for i := range set.Questions {
		q := &set.Questions[i]
		if q.ID == "" {
			continue
		}
		at, seen := first[q.ID]
		if !seen {
			first[q.ID] = i
			continue
		}
		hint := ""
		if d.holdsComment(q.Line) || d.holdsComment(set.Questions[at].Line) {
			hint = ": text after a blank and # is a comment, put quotes around an id that holds one"
		}
		d.fail(q.Line, "repeated id %q (first in line %d)%s", q.ID, set.Questions[at].Line, hint)
	}
}

func (d *decoder) holdsComment(line int) bool {
	return line >= 1 && line <= len(d.lines) && bytes.Contains(d.lines[line-1], []byte(" #"))
}
