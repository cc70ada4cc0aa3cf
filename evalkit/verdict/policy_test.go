package verdict

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPolicy(t *testing.T) {
	full := `# what a build must show
schema: assay.policy/v1
primary: hit@3
margin: 0.10
min_effect: 0.12
alpha: 0.01
floor: {hit@3: 0.80, rr@5: .6}
critical: 1
tolerance: 0.05
min_questions: 20
leaks: 0
guardrails:
  n_na: 6
  judged: 0.9
  latency_p95_ratio: 1.5
  unsupported_claims: 0
seed: 42
inconclusive: keep
reference: 0123456789ab
self_test: required
rule: section
view: slots
cutoffs: [1, 3, 5]
`
	want := &Policy{
		Primary: "hit@3", Margin: ptr(.1), MinEffect: ptr(.12), Alpha: .01,
		Floor: map[string]float64{"hit@3": .8, "rr@5": .6}, Critical: 1, Tolerance: .05, MinQuestions: 20,
		Guardrails: map[string]float64{"n_na": 6, "judged": .9, "latency_p95_ratio": 1.5, "unsupported_claims": 0},
		Seed:       42, Inconclusive: Keep, Reference: "0123456789ab", SelfTest: SelfTestRequired,
		Rule: "section", View: "slots", Cutoffs: []int{1, 3, 5},
	}
	ignorePath := cmpopts.IgnoreFields(Policy{}, "Path")
	t.Run("every key", func(t *testing.T) {
		p, err := Parse("policy.yaml", []byte(full))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, p, ignorePath); d != "" {
			t.Errorf("Parse (-want +got):\n%s", d)
		}
	})
	t.Run("inside a settings file, in one line, as JSON", func(t *testing.T) {
		for _, text := range []string{
			"golden: golden.yaml\npolicy: {primary: hit@3, margin: 0.10}\nanswer: {kind: extractive}\n",
			`{"primary": "hit@3", "margin": 0.10}`,
			"primary: hit@3\nmargin: 0.10",
			"margin: .1\r\nprimary: 'hit@3'\r\n",
			"policy: {primary: hit@3, margin: 0.10}",
		} {
			p, err := Parse("assay.yaml", []byte(text))
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			if d := cmp.Diff(&Policy{Primary: "hit@3", Margin: ptr(.1)}, p, ignorePath); d != "" {
				t.Errorf("%q (-want +got):\n%s", text, d)
			}
		}
	})
	t.Run("one key", func(t *testing.T) {
		if p, err := Parse("p", []byte("primary: all_hit@5")); err != nil || p.Primary != "all_hit@5" {
			t.Errorf("%+v, %v", p, err)
		}
	})
	t.Run("Load", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(path, []byte(full), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Load(path)
		if err != nil || p.Path != path {
			t.Errorf("Load = %+v, %v", p, err)
		}
		if _, err := Load(path + ".missing"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("missing file: %v", err)
		}
	})
}

func TestPolicyFaults(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []string // each must occur in the error
	}{
		{"GO-07", "primary: hit@3\nflor: {hit@3: 0.8}\n", []string{`policy.yaml:2:1: unknown key "flor"; did you mean "floor"?`}},
		{"all faults at once", "primary: hit@3\nmargn: 0.1\nalpha: 2\ncritical: 1.5\n", []string{
			`policy.yaml:2:1: unknown key "margn"; did you mean "margin"?`, "policy.yaml:3:8: alpha: 2 is not above 0", `policy.yaml:4:11: critical: "1.5" is not a whole number`}},
		{"no primary", "margin: 0.1", []string{"primary: missing"}},
		{"no cutoff", "primary: hit", []string{`1:10: primary: "hit" has no cutoff; write for example hit@3`}},
		{"cutoff 0", "primary: hit@0", []string{"no whole number from 1"}},
		{"a count as measure", "primary: num_rel_ret", []string{"not a mean of values from 0 to 1"}},
		{"less is better", "primary: dup@3", []string{"use the guardrail dup"}},
		{"cutoff 03", "primary: hit@03", []string{"no whole number from 1"}},
		{"misspelt measure", "primary: ndgc@5", []string{`unknown measure "ndgc"; did you mean "ndcg"?`}},
		{"misspelt measure in floor", "primary: hit@3\nfloor:\n  hti@3: 0.8", []string{`policy.yaml:3:3: floor.hti@3: unknown measure "hti"; did you mean "hit"?`}},
		{"misspelt guardrail", "primary: hit@3\nguardrails: {latency_p95: 2}", []string{`2:14: guardrails.latency_p95: unknown guardrail "latency_p95"; did you mean "latency_p95_ratio"?`}},
		{"repeated key", "primary: hit@3\nmargin: 0.1\nmargin: 0.2", []string{"policy.yaml:3:1", "margin"}},
		{"percent", "primary: hit@3\nmargin: 10%", []string{`2:9: margin: "10%" is not a number; write a plain number, here 0.1`}},
		{"quoted number", "primary: hit@3\nmargin: \"0.1\"", []string{`margin: "0.1" is not a number`}},
		{"decimal comma", "primary: hit@3\nmargin: 0,1", []string{`margin: "0,1" is not a number`}},
		{"points instead of a share", "primary: hit@3\nmargin: 10", []string{"margin: 10 is not a share from 0 to below 1; write 10 points as 0.10"}},
		{"floor in percent", "primary: hit@3\nfloor: {hit@3: 80}", []string{"write 80 % as 0.80"}},
		{"null", "primary: hit@3\nmargin: ~", []string{"margin must be a number, found nothing (null)"}},
		{"empty value", "primary: hit@3\nmargin:", []string{"margin must be a number, found nothing (null)"}},
		{"NaN", "primary: hit@3\nmargin: .nan", []string{`margin: ".nan" is not a number`}},
		{"infinity", "primary: hit@3\nguardrails: {latency_p95_ratio: .inf}", []string{`".inf" is not a number`}},
		{"hex", "primary: hit@3\ncritical: 0x1", []string{`critical: "0x1" is not a whole number`}},
		{"list for a number", "primary: hit@3\nmargin: [0.1]", []string{"margin must be a number, found a list"}},
		{"number for a list", "primary: hit@3\ncutoffs: 3", []string{"cutoffs must be a list of whole numbers"}},
		{"number for a mapping", "primary: hit@3\nfloor: 0.8", []string{"floor must be a list of `key: value` pairs"}},
		{"negative leaks", "primary: hit@3\nleaks: -1", []string{"leaks: -1 is negative"}},
		{"negative min_questions", "primary: hit@3\nmin_questions: -1", []string{"min_questions: -1 is negative"}},
		{"alpha 0", "primary: hit@3\nalpha: 0", []string{"alpha: 0 is not above 0"}},
		{"negative seed", "primary: hit@3\nseed: -3", []string{"seed: -3 is negative"}},
		{"unknown word", "primary: hit@3\ninconclusive: pass", []string{`inconclusive: unknown value "pass"; allowed are keep, reject`}},
		{"unknown rule", "primary: hit@3\nrule: sections", []string{`rule: unknown value "sections"; did you mean "section"?`}},
		{"merge key", "primary: hit@3\n<<: *x", []string{"policy.yaml:2:"}},
		{"anchor", "primary: hit@3\nmargin: &m 0.1", []string{"anchor"}},
		{"tag", "primary: hit@3\nmargin: !!float 0.1", []string{"tag"}},
		{"a list", "- primary: hit@3", []string{"found a list"}},
		{"a word", "hit@3", []string{"must be a list of `key: value` pairs"}},
		{"empty", "", []string{"one YAML document, found 0"}},
		{"two documents", "primary: hit@3\n---\nprimary: hit@5\n", []string{"found 2"}},
		{"broken", "primary: [hit@3\nmargin: 0.1", []string{"policy.yaml:"}},
		{"another schema", "schema: assay.policy/v2\nprimary: hit@3", []string{`schema is "assay.policy/v2", this version reads "assay.policy/v1"`}},
		{"wrong key inside a settings file", "golden: g\npolicy:\n  primary: hit@3\n  flor: 1", []string{`policy.yaml:4:3: unknown key "flor"`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := Parse("policy.yaml", []byte(row.text))
			var pe *PolicyError
			if !errors.As(err, &pe) {
				t.Fatalf("Parse = %+v, %v; want a *PolicyError", p, err)
			}
			for _, w := range row.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error lacks %q:\n%v", w, err)
				}
			}
		})
	}
	t.Run("by hand", func(t *testing.T) {
		err := (&Policy{Primary: "hit@3", Alpha: .9, Critical: -1}).Validate()
		for _, w := range []string{"policy: alpha: 0.9", "policy: critical: -1"} {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("Validate() = %v, want %q", err, w)
			}
		}
		if err := (&Policy{Primary: "hit@3"}).Validate(); err != nil {
			t.Errorf("the smallest policy: %v", err)
		}
	})
}

func TestPolicyDigest(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		p, err := Parse("p", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest()
	}
	a := digest("primary: hit@3\nmargin: 0.10\n")
	if b := digest("primary: Success@3\nmargin: 0.1"); a != b {
		t.Error("another spelling of the measure changes the digest")
	}
	if b := digest("# a comment\nmargin: .1 \nprimary: 'hit@3'\nalpha: 0.05\ninconclusive: keep\n"); a != b {
		t.Error("order, comments and spelled-out defaults change the digest")
	}
	seen := map[string]string{a: ""}
	for _, more := range []string{"min_effect: 0.2", "alpha: 0.01", "floor: {hit@3: 0.8}", "critical: 1", "tolerance: 0.1", "min_questions: 5", "leaks: 1",
		"guardrails: {n_na: 3}", "seed: 2", "inconclusive: reject", "reference: abc", "self_test: required", "statistics: per-label", "rule: span", "view: sections", "cutoffs: [3]"} {
		d := digest("primary: hit@3\nmargin: 0.10\n" + more)
		if other, dup := seen[d]; dup {
			t.Errorf("%q has the digest of %q", more, other)
		}
		seen[d] = more
	}
}

func TestLint(t *testing.T) {
	t.Run("27 questions at the default margin", func(t *testing.T) {
		r := (&Policy{Primary: "hit@3", Floor: map[string]float64{"hit@3": .5}}).Lint(27, 0)
		if r.Margin != .10 || r.LeastLosses != 5 || r.ProvableMargin != .0911 {
			t.Errorf("%+v", r)
		}
		if r.AcceptUnchanged < .5 || len(r.Warnings) != 0 {
			t.Errorf("accept %.3f, warnings %q", r.AcceptUnchanged, r.Warnings)
		}
	})
	t.Run("a margin the set cannot prove", func(t *testing.T) {
		r := (&Policy{Primary: "hit@3", Margin: ptr(.05), Floor: map[string]float64{"hit@3": .5}}).Lint(27, 0)
		if r.AcceptUnchanged >= .5 || !anyContains(r.Warnings, "accepted with a chance of") || !anyContains(r.Warnings, "cannot prove the margin 0.05") {
			t.Errorf("accept %.3f, warnings %q", r.AcceptUnchanged, r.Warnings)
		}
	})
	t.Run("no questions", func(t *testing.T) {
		if r := (&Policy{Primary: "hit@3"}).Lint(0, 0); len(r.Warnings) == 0 || r.String() == "" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("four questions", func(t *testing.T) {
		r := (&Policy{Primary: "rr@5", MinEffect: ptr(.01)}).Lint(4, 0)
		for _, w := range []string{"no loss is rejected", "below the margin", "neither a floor", "graded"} {
			if !anyContains(r.Warnings, w) {
				t.Errorf("no warning says %q: %q", w, r.Warnings)
			}
		}
	})
	t.Run("text", func(t *testing.T) {
		text := (&Policy{Primary: "hit@3", Margin: ptr(.10)}).Lint(100, .08).String()
		for _, w := range []string{"accept when nothing changed", "0.940", "loss rejected 4 times in 5", "warning"} {
			if !strings.Contains(text, w) {
				t.Errorf("text lacks %q:\n%s", w, text)
			}
		}
	})
}

func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{
		"primary: hit@3\nmargin: 0.10\nfloor: {hit@3: 0.80}\ncritical: 0\nleaks: 0\n",
		"policy: {primary: rr@5, tolerance: 0.1}", "flor: 1", "- a", "a: &b c", "<<: {a: b}", "primary: \"hit@3\"\ncutoffs: [1,3]",
		"{", "\x00", "primary: hit@3\n? [a, b]\n: c", "? a\n? b", "primary: >\n  hit@3\n", "a: !!binary x",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("f.yaml", data)
		if err != nil {
			var pe *PolicyError
			if !errors.As(err, &pe) || len(pe.Faults) == 0 || err.Error() == "" {
				t.Fatalf("unhelpful error %T %v", err, err)
			}
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("parsed, but not valid: %v", err)
		}
		if p.Digest() == "" {
			t.Fatal("no digest")
		}
	})
}
