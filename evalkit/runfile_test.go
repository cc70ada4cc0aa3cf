package evalkit

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
)

func TestRunFile(t *testing.T) {
	run := &Run{Tag: "t", Build: "b", Results: []Result{
		{Question: "q1", Hits: []Hit{{Chunk: "a#0-3", Doc: "a", Section: "S > T", Span: corpus.Span{Start: 0, End: 3}, Score: .1, Rank: 1, Vector: &Component{Rank: 2, Score: .3}}}},
		{Question: "q2", Hits: []Hit{}, Err: "timeout"},
	}}
	var b bytes.Buffer
	if err := WriteRun(&b, run); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRun("f", &b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(run, got); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ name, in, want string }{
		{"unknown key", "{\"schema\":\"assay.run/v1\",\"tag\":\"t\"}\n{\"question\":\"q\",\"hit\":[]}", `f:2: not a result: json: unknown field "hit"`},
		{"unknown schema", `{"schema":"x"}`, `f:1: schema "x" is not known`},
		{"repeated question", "{\"question\":\"q\"}\n\n{\"question\":\"q\"}", `f:3: question "q" again (first in line 1)`},
		{"repeated chunk", `{"question":"q","hits":[{"chunk":"c","doc":"d","score":1},{"chunk":"c","doc":"d","score":0}]}`, `f:1: question q: chunk "c" is returned twice`},
		{"no score", `{"question":"q","hits":[{"chunk":"c","doc":"d"}]}`, "has no score"},
		{"NaN", `{"question":"q","hits":[{"chunk":"c","doc":"d","score":NaN}]}`, "f:1: not a result"},
		{"too large", `{"question":"q","hits":[{"chunk":"c","doc":"d","score":1e999}]}`, "f:1: not a result"},
		{"no question", `{"hits":[]}`, "f:1: question is missing"},
		{"no doc", `{"question":"q","hits":[{"chunk":"c","score":1}]}`, "hit 1 has no chunk or no doc"},
		{"goes on", `{"question":"q"} {}`, "more text after"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ReadRun("f", strings.NewReader(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}

// Under rule facts a question without facts cannot be judged.
func TestRuleFactsWithoutFacts(t *testing.T) {
	ev := mustEvaluate(t, Options{Rule: RuleFacts}, []golden.Question{question("q", "a")}, ranking("q", "a"))
	if got := ev.Measures["hit@3"]; got.NNA != 1 || got.Mean.OK || len(ev.Warnings) != 1 {
		t.Errorf("hit@3 = %+v, warnings %v", got, ev.Warnings)
	}
}

// Without documents the sections view draws its baseline over the sections the chunks name.
func TestRandomBaselineOfSections(t *testing.T) {
	set := &golden.Set{Questions: []golden.Question{question("q", "s0")}}
	run := &Run{Chunks: ranking("", "s0", "s0", "s0", "s1", "s2", "s3").Hits}
	for view, want := range map[string]Value{ViewSlots: Num(.5), ViewSections: Num(.25)} {
		ev, err := Evaluate(set, nil, run, Options{View: view, Measures: []string{"hit@1"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := ev.Random["hit@1"]; got != want {
			t.Errorf("%s: %v, want %v (over %s)", view, got, want, ev.RandomBasis)
		}
	}
}

func FuzzReadRun(f *testing.F) {
	f.Add("{\"schema\":\"assay.run/v1\",\"tag\":\"t\"}\n{\"question\":\"q\",\"hits\":[{\"chunk\":\"c\",\"doc\":\"d\",\"section\":\"\",\"span\":{\"start\":0,\"end\":3},\"score\":1,\"rank\":1}]}\n")
	f.Fuzz(func(t *testing.T, in string) {
		run, err := ReadRun("f", strings.NewReader(in))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteRun(&b, run); err != nil {
			t.Fatal(err)
		}
		again, err := ReadRun("f", &b)
		if err != nil || !cmp.Equal(run, again) {
			t.Fatalf("does not read back: %v", err)
		}
	})
}
