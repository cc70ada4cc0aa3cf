package verdict

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/seed792a4543/assay/internal/yamlfile"
)

// PolicyError holds every fault found in one policy file.
type PolicyError struct {
	File   string
	Faults []PolicyFault
}

// PolicyFault is one fault with its place; Line 0 means the policy was not read from a file.
type PolicyFault struct {
	Line, Column int
	Msg          string
}

// Error returns one line per fault, each as file:line:column: message.
func (e *PolicyError) Error() string {
	var lines []string
	for _, f := range e.Faults {
		switch {
		case f.Line > 0:
			lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", e.File, f.Line, f.Column, f.Msg))
		case e.File != "":
			lines = append(lines, e.File+": "+f.Msg)
		default:
			lines = append(lines, "policy: "+f.Msg)
		}
	}
	return strings.Join(lines, "\n")
}

// Load reads the policy file at path; see Parse.
func Load(path string) (*Policy, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a policy written as YAML (or JSON, which is YAML). name stands in messages. A file
// whose top level has the key policy, such as assay.yaml, is read from there. Reading is strict:
// unknown and repeated keys, values of another type, nulls, anchors and merge keys are faults,
// all reported at once in a *PolicyError with file:line and, for a misspelt key, what was
// probably meant.
func Parse(name string, data []byte) (*Policy, error) {
	e := &PolicyError{File: name}
	file, err := yamlfile.Parse(data)
	if err != nil {
		e.Faults = append(e.Faults, syntaxFault(err))
		return nil, e
	}
	var docs []ast.Node
	for _, d := range file.Docs {
		if d.Body != nil {
			docs = append(docs, d.Body)
		}
	}
	if len(docs) != 1 {
		e.Faults = append(e.Faults, PolicyFault{Line: 1, Column: 1,
			Msg: fmt.Sprintf("a policy is one YAML document, found %d; start with `primary: hit@3`", len(docs))})
		return nil, e
	}
	r := &policyReader{err: e}
	body := docs[0]
	if pairs, ok := yamlfile.Pairs(body); ok {
		for _, kv := range pairs {
			if kv.Key.GetToken().Value == "policy" {
				body = kv.Value
				break
			}
		}
	}
	p := r.policy(body)
	p.Path = name
	for _, x := range p.problems() {
		at := r.at[x.key]
		if at == nil {
			at = body
		}
		// A key that could not be read was reported there; its zero value is not a second fault.
		if !r.failed[x.key] {
			r.fault(at, "%s: %s", x.key, x.msg)
		}
	}
	if len(e.Faults) > 0 {
		slices.SortStableFunc(e.Faults, func(a, b PolicyFault) int { return a.Line - b.Line })
		return nil, e
	}
	return p, nil
}

// syntaxFault turns the YAML library's error into a fault with its place.
func syntaxFault(err error) PolicyFault {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil && syntax.Token.Position != nil {
		return PolicyFault{syntax.Token.Position.Line, syntax.Token.Position.Column, syntax.Message}
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return PolicyFault{Line: 1, Column: 1, Msg: first}
}

// policyReader walks the syntax tree, because decoding into a struct loses the lines, lets
// unknown keys below custom decoders pass, drops nulls and rounds integers.
type policyReader struct {
	err    *PolicyError
	at     map[string]ast.Node // where each key stood
	failed map[string]bool
}

func (r *policyReader) fault(n ast.Node, format string, args ...any) {
	f := PolicyFault{Line: 1, Column: 1, Msg: fmt.Sprintf(format, args...)}
	if n != nil {
		if t := n.GetToken(); t != nil && t.Position != nil {
			f.Line, f.Column = t.Position.Line, t.Position.Column
		}
	}
	r.err.Faults = append(r.err.Faults, f)
}

func (r *policyReader) policy(n ast.Node) *Policy {
	p := &Policy{}
	r.at, r.failed = map[string]ast.Node{}, map[string]bool{}
	fields := map[string]func(key string, v ast.Node){
		"schema": func(key string, v ast.Node) {
			if s := r.text(key, v); s != PolicySchema && !r.failed[key] {
				r.fault(v, "schema is %q, this version reads %q", s, PolicySchema)
			}
		},
		"primary":    func(key string, v ast.Node) { p.Primary = r.text(key, v) },
		"margin":     func(key string, v ast.Node) { p.Margin = r.numberPtr(key, v) },
		"min_effect": func(key string, v ast.Node) { p.MinEffect = r.numberPtr(key, v) },
		"alpha": func(key string, v ast.Node) {
			p.Alpha = r.number(key, v)
			if p.Alpha == 0 && !r.failed[key] { // 0 in the struct means the default
				r.fault(v, "alpha: 0 is not above 0; the usual value is 0.05")
			}
		},
		"floor":         func(key string, v ast.Node) { p.Floor = r.numbers(key, v) },
		"critical":      func(key string, v ast.Node) { p.Critical = r.integer(key, v) },
		"tolerance":     func(key string, v ast.Node) { p.Tolerance = r.number(key, v) },
		"min_questions": func(key string, v ast.Node) { p.MinQuestions = r.integer(key, v) },
		"leaks":         func(key string, v ast.Node) { p.Leaks = r.integer(key, v) },
		"guardrails":    func(key string, v ast.Node) { p.Guardrails = r.numbers(key, v) },
		"seed":          func(key string, v ast.Node) { p.Seed = uint64(max(0, r.integer(key, v))) },
		"inconclusive":  func(key string, v ast.Node) { p.Inconclusive = r.text(key, v) },
		"reference":     func(key string, v ast.Node) { p.Reference = r.text(key, v) },
		"statistics":    func(key string, v ast.Node) { p.Statistics = r.text(key, v) },
		"self_test":     func(key string, v ast.Node) { p.SelfTest = r.text(key, v) },
		"rule":          func(key string, v ast.Node) { p.Rule = r.text(key, v) },
		"view":          func(key string, v ast.Node) { p.View = r.text(key, v) },
		"cutoffs":       func(key string, v ast.Node) { p.Cutoffs = r.integers(key, v) },
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	r.pairs("policy", n, func(key string, kv *ast.MappingValueNode) {
		read := fields[key]
		if read == nil {
			r.fault(kv.Key, "%s", unknown("key", key, names))
			return
		}
		r.at[key] = kv.Value
		read(key, kv.Value)
	})
	return p
}

// pairs calls f for every pair of a mapping and reports whatever is not a plain pair.
func (r *policyReader) pairs(what string, n ast.Node, f func(key string, kv *ast.MappingValueNode)) {
	pairs, ok := yamlfile.Pairs(n)
	if !ok {
		r.failed[what] = true
		r.fault(n, "%s must be a list of `key: value` pairs, found %s", what, kind(n))
		return
	}
	seen := map[string]bool{}
	for _, kv := range pairs {
		if kv.Key.Type() == ast.MergeKeyType {
			r.fault(kv.Key, "merge keys (<<) are not supported in a policy; write the keys out")
			continue
		}
		key := kv.Key.GetToken().Value
		if seen[key] {
			r.fault(kv.Key, "key %q is given twice; keep one", key)
			continue
		}
		seen[key] = true
		f(key, kv)
	}
}

// scalar returns the spelling of a plain or quoted value.
func (r *policyReader) scalar(key string, n ast.Node, want string) (value string, quoted, ok bool) {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, false, true
	case *ast.StringNode:
		t := n.GetToken()
		q := strings.HasPrefix(strings.TrimSpace(t.Origin), `"`) || strings.HasPrefix(strings.TrimSpace(t.Origin), "'")
		return n.Value, q, true
	}
	r.failed[key] = true
	r.fault(n, "%s must be %s, found %s", key, want, kind(n))
	return "", false, false
}

// kind names a node for a message.
func kind(n ast.Node) string {
	switch n.(type) {
	case nil:
		return "nothing"
	case *ast.NullNode:
		return "nothing (null)"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode:
		return "an anchor or alias, which a policy does not support"
	case *ast.TagNode:
		return "a tag, which a policy does not support"
	case *ast.LiteralNode:
		return "a block of text"
	}
	return n.Type().String()
}

func (r *policyReader) text(key string, n ast.Node) string {
	s, _, _ := r.scalar(key, n, "a word")
	return s
}

// plainNumber is what counts as a number: no hex, no underscores, no exponent surprises.
var plainNumber = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$`)

func (r *policyReader) number(key string, n ast.Node) float64 {
	s, quoted, ok := r.scalar(key, n, "a number")
	if !ok {
		return 0
	}
	v, err := strconv.ParseFloat(s, 64)
	if quoted || err != nil || !plainNumber.MatchString(s) || math.IsInf(v, 0) {
		r.failed[key] = true
		hint := "such as 0.10"
		if percent, isPercent := strings.CutSuffix(s, "%"); isPercent {
			if f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64); err == nil {
				hint = "here " + strconv.FormatFloat(f/100, 'g', -1, 64)
			}
		}
		r.fault(n, "%s: %q is not a number; write a plain number, %s", key, s, hint)
		return 0
	}
	return v
}

func (r *policyReader) numberPtr(key string, n ast.Node) *float64 {
	v := r.number(key, n)
	if r.failed[key] {
		return nil
	}
	return &v
}

func (r *policyReader) integer(key string, n ast.Node) int {
	s, quoted, ok := r.scalar(key, n, "a whole number")
	if !ok {
		return 0
	}
	v, err := strconv.Atoi(s)
	if quoted || err != nil {
		r.failed[key] = true
		r.fault(n, "%s: %q is not a whole number", key, s)
		return 0
	}
	if key == "seed" && v < 0 {
		r.failed[key] = true
		r.fault(n, "seed: %d is negative", v)
	}
	return v
}

func (r *policyReader) integers(key string, n ast.Node) []int {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.failed[key] = true
		r.fault(n, "%s must be a list of whole numbers such as [1, 3, 5], found %s", key, kind(n))
		return nil
	}
	var out []int
	for _, v := range seq.Values {
		out = append(out, r.integer(key, v))
	}
	return out
}

func (r *policyReader) numbers(key string, n ast.Node) map[string]float64 {
	out := map[string]float64{}
	r.pairs(key, n, func(name string, kv *ast.MappingValueNode) {
		full := key + "." + name
		r.at[full] = kv.Key
		out[name] = r.number(full, kv.Value)
	})
	return out
}
