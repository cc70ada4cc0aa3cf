package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/seed792a4543/assay/evalkit/sweep"
	"github.com/seed792a4543/assay/internal/suggest"
	"github.com/seed792a4543/assay/internal/yamlfile"
)

// SweepPlanSchema is the optional schema key of a plan.
const SweepPlanSchema = "assay.sweep-plan/v1"

// Modes of a plan.
const (
	SweepGrid      = "grid"       // every combination of named variants and values
	SweepOneFactor = "one-factor" // the base, then each value and each named variant by itself
)

// maxVariants bounds what a grid can grow to by accident.
const maxVariants = 2000

// SweepPlan is what a sweep file asks for.
type SweepPlan struct {
	Path     string
	Mode     string
	Variants []Variant // without those that are equal to an earlier one
	Baseline string    // a variant's name, never empty
	LeftOut  []sweep.LeftOut
	Options  SweepOptions
	// Primary, rule, view and seed are empty or 0 where the file is silent.
	Alpha, Margin float64
}

// LoadSweepPlan reads the sweep file at path; see ParseSweepPlan. Paths in it are relative to it.
func LoadSweepPlan(path string, base Settings) (*SweepPlan, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseSweepPlan(path, filepath.Dir(path), data, base)
}

// ParseSweepPlan reads a sweep file; name is used in errors. base are the settings of the project,
// over which the file's own base is laid. Settings are written nested or dotted:
//
//	mode: grid                      # or one-factor, the default
//	primary: ndcg@10
//	baseline: section 900           # default: the first variant
//	base: {lexical.analyzer: en}
//	vary:
//	  hybrid.mode: [hybrid, vector, lexical]
//	variants:
//	  - {name: fixed 400, chunk: {kind: fixed, size: 400}}
//	  - {name: section 900, chunk.kind: section, chunk.max: 900}
//
// Besides the settings of chunk, embed, lexical, hybrid, rerank, search and answer there are rewrite
// (none or chat), rerank.kind chat and hybrid.fusion tuned. Unknown keys, repeated keys, wrong types and
// names that do not exist are errors with file and line. Combinations that cannot work, and those
// equal to an earlier variant, are left out and listed.
func ParseSweepPlan(name string, data []byte, base Settings) (*SweepPlan, error) {
	return parseSweepPlan(name, "", data, base)
}

func parseSweepPlan(name, dir string, data []byte, base Settings) (*SweepPlan, error) {
	r := &planReader{name: name, dir: dir}
	file, err := yamlfile.Parse(data)
	if err != nil {
		return nil, yamlError(name, err)
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			return nil, badInput("%s: a sweep is one YAML document, found several", name)
		}
		body = d.Body
	}
	if body == nil {
		return nil, badInput("%s: file is empty: write at least `vary: {chunk.max: [400, 900]}`", name)
	}
	plan := r.plan(body, base)
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	plan.Path = name
	return plan, nil
}

type planReader struct {
	name, dir string
	errs      []error
	context   bool // some variant sets the size of the context
}

func (r *planReader) fault(n ast.Node, format string, args ...any) {
	line := 1
	if n != nil {
		if t := n.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
	}
	r.errs = append(r.errs, badInput("%s:%d: %s", r.name, line, fmt.Sprintf(format, args...)))
}

// pairs calls f for each pair of a mapping.
func (r *planReader) pairs(what string, n ast.Node, f func(key string, kv *ast.MappingValueNode)) {
	pairs, ok := yamlfile.Pairs(n)
	if !ok {
		r.fault(n, "%s must be a list of `key: value` pairs", what)
		return
	}
	seen := map[string]bool{}
	for _, kv := range pairs {
		key := kv.Key.GetToken().Value
		if kv.Key.Type() == ast.MergeKeyType {
			r.fault(kv.Key, "merge keys (<<) are not supported in a sweep; write the keys out")
			continue
		}
		if seen[key] {
			r.fault(kv.Key, "key %q is given twice; keep one", key)
			continue
		}
		seen[key] = true
		f(key, kv)
	}
}

// decode reads a value strictly.
func (r *planReader) decode(what string, n ast.Node, to any) bool {
	if _, null := n.(*ast.NullNode); n == nil || null {
		r.fault(n, "%s has no value", what)
		return false
	}
	err := yamlfile.DecodeNode(n, to)
	if err == nil {
		return true
	}
	msg, _, _ := strings.Cut(err.Error(), "\n")
	var located yaml.Error
	if errors.As(err, &located) {
		msg = located.GetMessage()
	}
	r.fault(n, "%s: %s", what, msg)
	return false
}

// change is one setting with its value.
type change struct {
	key   string
	value ast.Node
}

// option is one choice of a factor: a value of a varied setting, or a named variant.
type option struct {
	name    string
	named   bool // the name was given, and stands without its key
	at      ast.Node
	changes []change
}

func (r *planReader) plan(body ast.Node, base Settings) *SweepPlan {
	p := &SweepPlan{Mode: SweepOneFactor, Options: SweepOptions{}}
	var vary [][]option
	var named []option
	var baseChanges []change
	var baselineAt ast.Node
	keys := map[string]func(v ast.Node){
		"schema": func(v ast.Node) {
			var s string
			if r.decode("schema", v, &s) && s != SweepPlanSchema {
				r.fault(v, "schema is %q, this version reads %q", s, SweepPlanSchema)
			}
		},
		"mode": func(v ast.Node) {
			if r.decode("mode", v, &p.Mode) && p.Mode != SweepGrid && p.Mode != SweepOneFactor {
				r.fault(v, "mode is %q: use %s or %s", p.Mode, SweepGrid, SweepOneFactor)
			}
		},
		"primary":  func(v ast.Node) { r.decode("primary", v, &p.Options.Primary) },
		"measures": func(v ast.Node) { r.decode("measures", v, &p.Options.Measures) },
		"rule":     func(v ast.Node) { r.decode("rule", v, &p.Options.Rule) },
		"view":     func(v ast.Node) { r.decode("view", v, &p.Options.View) },
		"seed":     func(v ast.Node) { r.decode("seed", v, &p.Options.Seed) },
		"alpha":    func(v ast.Node) { r.decode("alpha", v, &p.Alpha) },
		"margin":   func(v ast.Node) { r.decode("margin", v, &p.Margin) },
		"baseline": func(v ast.Node) { baselineAt = v; r.decode("baseline", v, &p.Baseline) },
		"base":     func(v ast.Node) { baseChanges = r.settings("base", v) },
		"vary":     func(v ast.Node) { vary = r.vary(v) },
		"variants": func(v ast.Node) { named = r.named(v) },
	}
	r.pairs("a sweep", body, func(key string, kv *ast.MappingValueNode) {
		read := keys[key]
		if read == nil {
			msg := fmt.Sprintf("unknown key %q", key)
			if near := suggest.Nearest(key, sortedKeys(keys)); near != "" {
				msg += fmt.Sprintf(": did you mean %q?", near)
			}
			r.fault(kv.Key, "%s", msg)
			return
		}
		read(kv.Value)
	})
	if len(r.errs) > 0 {
		return nil
	}
	if len(vary) == 0 && len(named) == 0 {
		r.fault(body, "nothing is varied: give vary, variants or both")
		return nil
	}
	start := Variant{Name: "base", Settings: base}
	for _, c := range baseChanges {
		r.apply(&start, c)
	}
	if len(r.errs) > 0 {
		return nil
	}
	r.expand(p, start, vary, named)
	p.Options.Context = r.context
	if len(r.errs) > 0 {
		return nil
	}
	r.baseline(p, baselineAt)
	return p
}

func (r *planReader) baseline(p *SweepPlan, at ast.Node) {
	names := make([]string, len(p.Variants))
	for i, v := range p.Variants {
		names[i] = v.Name
	}
	switch {
	case len(names) == 0:
		r.fault(nil, "no combination works: %s: %s", p.LeftOut[0].Name, p.LeftOut[0].Why)
	case p.Baseline == "":
		p.Baseline = names[0]
	case !slices.Contains(names, p.Baseline):
		msg := fmt.Sprintf("baseline %q is no variant", p.Baseline)
		if near := suggest.Nearest(p.Baseline, names); near != "" {
			msg += fmt.Sprintf(": did you mean %q?", near)
		} else {
			msg += fmt.Sprintf("; the first of %d is %q", len(names), names[0])
		}
		r.fault(at, "%s", msg)
	}
}

// vary reads the map of settings to lists of values, in the order of the file.
func (r *planReader) vary(n ast.Node) [][]option {
	var out [][]option
	var keys []string
	r.pairs("vary", n, func(key string, kv *ast.MappingValueNode) {
		list, ok := kv.Value.(*ast.SequenceNode)
		if !ok || len(list.Values) == 0 {
			r.fault(kv.Value, "vary.%s must be a list of values such as [400, 900]", key)
			return
		}
		if !r.known(kv.Key, &key) {
			return
		}
		var options []option
		for _, v := range list.Values {
			options = append(options, option{name: strings.TrimSpace(v.String()), at: v, changes: []change{{key, v}}})
		}
		keys = append(keys, key)
		out = append(out, options)
	})
	// A value is shown with the last part of its key, unless two settings end alike.
	for i, key := range keys {
		short := key[strings.LastIndexByte(key, '.')+1:]
		for j, other := range keys {
			if i != j && other[strings.LastIndexByte(other, '.')+1:] == short {
				short = key
			}
		}
		if key == "rerank.kind" {
			short = "rerank"
		}
		for k := range out[i] {
			out[i][k].name = short + "=" + out[i][k].name
		}
	}
	return out
}

func (r *planReader) named(n ast.Node) []option {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fault(n, "variants must be a list, each with a name and settings")
		return nil
	}
	var out []option
	for _, item := range list.Values {
		o := option{named: true, at: item}
		r.pairs("a variant", item, func(key string, kv *ast.MappingValueNode) {
			switch key {
			case "name":
				r.decode("name", kv.Value, &o.name)
			case "set":
				o.changes = append(o.changes, r.settings("set", kv.Value)...)
			default:
				o.changes = append(o.changes, r.setting(key, kv)...)
			}
		})
		if o.name = strings.TrimSpace(o.name); o.name == "" {
			r.fault(item, "this variant has no name: add `name: ...`")
		}
		if slices.ContainsFunc(out, func(other option) bool { return other.name == o.name }) {
			r.fault(item, "two variants are called %q", o.name)
		}
		out = append(out, o)
	}
	return out
}

// settings reads nested and dotted settings into a flat list.
func (r *planReader) settings(what string, n ast.Node) []change {
	var out []change
	r.pairs(what, n, func(key string, kv *ast.MappingValueNode) { out = append(out, r.setting(key, kv)...) })
	return out
}

func (r *planReader) setting(key string, kv *ast.MappingValueNode) []change {
	switch kv.Value.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		var out []change
		r.pairs(key, kv.Value, func(inner string, kv *ast.MappingValueNode) {
			out = append(out, r.setting(key+"."+inner, kv)...)
		})
		return out
	}
	if !r.known(kv.Key, &key) {
		return nil
	}
	return []change{{key, kv.Value}}
}

// sweepable are the settings that variants may differ in, as dotted keys.
func sweepable() []string {
	out := []string{"rewrite"}
	t := reflect.TypeFor[Settings]()
	for _, part := range []string{"chunk", "embed", "lexical", "hybrid", "rerank", "search", "answer"} {
		f, _ := fieldByTag(t, part)
		for inner := range f.Type.Fields() {
			if name := yamlName(inner); name != "" {
				out = append(out, part+"."+name)
			}
		}
	}
	return out
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "-" {
		return ""
	}
	return name
}

func fieldByTag(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if yamlName(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// known completes short forms and reports settings that cannot be varied.
func (r *planReader) known(at ast.Node, key *string) bool {
	if *key == "rerank" {
		*key = "rerank.kind"
	}
	all := sweepable()
	if slices.Contains(all, *key) {
		return true
	}
	switch root, _, _ := strings.Cut(*key, "."); root {
	case "corpus", "golden", "policy":
		r.fault(at, "%s cannot be varied: documents and questions are what variants are compared on", *key)
		return false
	}
	msg := fmt.Sprintf("unknown setting %q", *key)
	if near := suggest.Nearest(*key, all); near != "" {
		msg += fmt.Sprintf(": did you mean %q?", near)
	}
	r.fault(at, "%s", msg)
	return false
}

// apply changes one setting of a variant.
func (r *planReader) apply(v *Variant, c change) {
	var word string
	switch c.key {
	case "rewrite":
		if r.decode(c.key, c.value, &word) {
			if v.Rewrite = word == "chat"; !v.Rewrite && word != "none" {
				r.fault(c.value, "rewrite is %q: use none or chat", word)
			}
		}
		return
	case "answer.rewrite": // the setting of ask that does the same
		r.decode(c.key, c.value, &v.Rewrite)
		return
	case "hybrid.fusion":
		if !r.decode(c.key, c.value, &word) {
			return
		}
		if v.Tune = word == "tuned"; v.Tune {
			v.Settings.Hybrid.Fusion = "weighted"
			return
		}
	}
	part, name, _ := strings.Cut(c.key, ".")
	outer, _ := fieldByTag(reflect.TypeFor[Settings](), part)
	field := reflect.ValueOf(&v.Settings).Elem().FieldByIndex(outer.Index)
	inner, _ := fieldByTag(outer.Type, name)
	field = field.FieldByIndex(inner.Index)
	// A new value: what a pointer or a slice refers to belongs to other variants as well.
	t := field.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	value := reflect.New(t)
	if !r.decode(c.key, c.value, value.Interface()) {
		return
	}
	if field.Kind() == reflect.Pointer {
		field.Set(value)
	} else {
		field.Set(value.Elem())
	}
	if s, ok := field.Addr().Interface().(*string); ok && r.dir != "" && *s != "" && !filepath.IsAbs(*s) {
		switch c.key {
		case "embed.path", "embed.keys", "embed.queries", "embed.queries_keys", "answer.prompt":
			*s = filepath.Join(r.dir, *s)
		}
	}
}

// expand makes the variants of the plan.
func (r *planReader) expand(p *SweepPlan, base Variant, vary [][]option, named []option) {
	var combinations [][]option
	switch p.Mode {
	case SweepGrid:
		factors := vary
		if len(named) > 0 {
			factors = append([][]option{named}, vary...)
		}
		combinations = [][]option{nil}
		for _, f := range factors {
			if len(combinations)*len(f) > maxVariants {
				r.fault(f[0].at, "the grid has more than %d combinations: vary less, or use mode one-factor", maxVariants)
				return
			}
			var next [][]option
			for _, c := range combinations {
				for _, o := range f {
					next = append(next, append(slices.Clone(c), o))
				}
			}
			combinations = next
		}
	default:
		combinations = [][]option{nil}
		for _, f := range append(vary, named) {
			for _, o := range f {
				combinations = append(combinations, []option{o})
			}
		}
	}
	seen := map[string]string{}
	for _, c := range combinations {
		v := base
		var names []string
		for _, o := range c {
			names = append(names, o.name)
			for _, ch := range o.changes {
				if ch.key == "answer.k" || ch.key == "answer.budget" {
					r.context = true
				}
				r.apply(&v, ch)
			}
		}
		if len(names) > 0 {
			v.Name = strings.Join(names, ", ")
		}
		if len(r.errs) > 0 {
			return
		}
		leave := func(format string, args ...any) {
			p.LeftOut = append(p.LeftOut, sweep.LeftOut{Name: v.Name, Why: fmt.Sprintf(format, args...)})
		}
		if err := v.validate(); err != nil {
			if len(c) == 0 {
				r.fault(nil, "the base settings: %v", err)
				return
			}
			if len(c) == 1 {
				r.fault(c[0].at, "%s: %v", v.Name, err)
				return
			}
			leave("%v", err)
			continue
		}
		key := v.key()
		if same, ok := seen[key]; ok {
			// The base may be given a name.
			if len(c) == 1 && c[0].named && same == base.Name {
				for i := range p.Variants {
					if p.Variants[i].Name == same {
						p.Variants[i].Name, seen[key] = v.Name, v.Name
					}
				}
				continue
			}
			leave("it is the same as %s", strconv.Quote(same))
			continue
		}
		seen[key] = v.Name
		p.Variants = append(p.Variants, v)
	}
}

// key is equal for variants that give the same results.
func (v Variant) key() string {
	s := v.Settings.WithDefaults()
	data, err := json.Marshal([]any{
		s.buildSettings(), v.Rewrite, v.Tune, s.Embed.Path, s.Embed.Keys, s.Embed.Queries, s.Embed.QueriesKeys,
		s.Answer.URL, s.Answer.Model, s.Answer.passages(), s.Answer.Budget, s.Answer.Seed, s.Answer.Prompt,
	})
	if err != nil {
		panic("engine: settings always encode: " + err.Error())
	}
	return string(data)
}
