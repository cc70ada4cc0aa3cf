package engine_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// TestSelfTestByQuestions: a policy that demands what a self-test does not measure must not make its
// faults count as noticed by the questions.
func TestSelfTestByQuestions(t *testing.T) {
	e := store(t)
	b, err := e.Build(t.Context(), shopSource(), engine.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	notes := map[string]string{}
	for name, policy := range map[string]*verdict.Policy{
		"plain": {Primary: "hit@3"},
		"demanding": {Primary: "hit@3", SelfTest: verdict.SelfTestRequired, Statistics: verdict.StatisticsPerLabel,
			Guardrails: map[string]float64{"n_no_result": 1000, "latency_p95_ratio": 1000}},
	} {
		v, err := e.ValidateWith(t.Context(), b.ID, withHoldout(t), policy, engine.ValidateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range v.Verdict.SelfTest.Faults {
			notes[name] += f.Name + ": " + f.Note + "\n"
		}
	}
	if notes["plain"] == "" || notes["plain"] != notes["demanding"] {
		t.Errorf("by a plain policy\n%sby a demanding one\n%s", notes["plain"], notes["demanding"])
	}
}

// TestStatisticsPolicy builds with and without statistics per label under a policy that demands them.
func TestStatisticsPolicy(t *testing.T) {
	t.Run("PM-05", func(t *testing.T) {
		docs := fstest.MapFS{
			"a.md":     {Data: []byte("# Kettle\nThe kettle boils.\n\n## Pan\nThe pan fries.\n\n## Oven\nThe oven bakes.\n")},
			"board.md": {Data: []byte("---\nacl: [board]\n---\n# Plans\nThe merger.\n")},
		}
		open := fstest.MapFS{"a.md": docs["a.md"]}
		set, err := golden.Parse("golden.yaml", []byte(`schema: assay.golden/v1
name: t
version: 1
questions:
  - {id: q1, question: What boils?, answerable: true, gold: [{doc: a.md, section: Kettle}]}
  - {id: q2, question: What fries?, answerable: true, gold: [{doc: a.md, section: Kettle > Pan}]}
`))
		if err != nil {
			t.Fatal(err)
		}
		set.Path = ""
		policy := &verdict.Policy{Primary: "hit@1", Statistics: verdict.StatisticsPerLabel}
		perLabel, words := engine.Settings{}, engine.Settings{}
		perLabel.Lexical.Statistics = "per-label"
		words.Hybrid.Mode = "vector"
		for _, tc := range []struct {
			name   string
			docs   fstest.MapFS
			s      engine.Settings
			reject bool
		}{
			{"global", docs, engine.Settings{}, true},
			{"per label", docs, perLabel, false},
			{"vectors alone", docs, words, false},
			{"no labels", open, engine.Settings{}, false},
		} {
			e, err := engine.OpenStore(filepath.Join(t.TempDir(), "kb"), engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := e.Build(t.Context(), corpus.FS("t", tc.docs, corpus.Options{}), tc.s)
			if err != nil {
				t.Fatal(err)
			}
			v, err := e.ValidateWith(t.Context(), b.ID, set, policy, engine.ValidateOptions{NoSelfTest: true})
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Contains(strings.Join(v.Verdict.Reasons, "\n"), "demands word statistics per label")
			if said != tc.reject || tc.reject != (v.Verdict.Verdict == verdict.Reject) {
				t.Errorf("%s: %s %q", tc.name, v.Verdict.Verdict, v.Verdict.Reasons)
			}
		}
	})
}
