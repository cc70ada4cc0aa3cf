package evalkit

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// sect returns a gold member that names section s of document d.
func sect(s string, grade int) golden.Member {
	return golden.Member{Doc: "d", Section: &s, Grade: grade}
}

// question returns an answerable question; gold "a b|c" is the groups {a} and {b or c}, "a:3"
// gives a grade.
func question(id, gold string) golden.Question {
	q := golden.Question{ID: id, Question: id, Answerable: gold != "", Split: golden.Dev, State: golden.Accepted}
	for g := range strings.FieldsSeq(gold) {
		var group golden.Group
		for m := range strings.SplitSeq(g, "|") {
			name, grade := m, 1
			if at := strings.IndexByte(m, ':'); at >= 0 {
				name = m[:at]
				fmt.Sscan(m[at+1:], &grade)
			}
			group = append(group, sect(name, grade))
		}
		q.Gold = append(q.Gold, group)
	}
	return q
}

// ranking returns hits on the sections in order, one chunk each.
func ranking(id string, sections ...string) Result {
	r := Result{Question: id}
	for i, s := range sections {
		r.Hits = append(r.Hits, Hit{
			Chunk: corpus.ChunkID(fmt.Sprintf("d#%03d-%s", i, s)), Doc: "d", Section: s,
			Score: float64(len(sections) - i), Rank: i + 1,
		})
	}
	return r
}

func mustEvaluate(t testing.TB, o Options, qs []golden.Question, rs ...Result) *Evaluation {
	t.Helper()
	o.Resamples = max(o.Resamples, -1)
	ev, err := Evaluate(&golden.Set{Name: "t", Version: 1, Questions: qs}, nil, &Run{Tag: "r", Results: rs}, o)
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func x(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("x%d", i)
	}
	return out
}

// TestVectors holds the table of EVALUATION section 3 and the numbers of the cases ME. Want is
// compared to the digits given.
func TestVectors(t *testing.T) {
	list := func(parts ...any) []string {
		var out []string
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				out = append(out, strings.Fields(p)...)
			case []string:
				out = append(out, p...)
			}
		}
		return out
	}
	for _, tt := range []struct {
		name, view, gold string
		ranking          []string
		want             string
	}{
		{"V0", "", "a b", list("x a y b z"), "hit@1 0 hit@3 1 p@3 .333 rr@5 .5 ndcg@5 .651"},
		{"V1", "", "C:1 B:2 A:3", list("C B A"), "ndcg@3 .7900 ndcg_exp@3 .6806"},
		{"V2", "", "a b c d e", list("a b"), "ndcg@2 1 ndcg@3 .7654 p@5 .4 recall@5 .4"},
		{"V3", "", "a b c d e", list("a"), "ndcg@10 .3392"},
		{"V4", "", "a b c d e", list(x(5), "a b c d e"), "ndcg@10 .5410 rr@10 .1667 rr@5 0"},
		{"V5", "", "a b", list("a", x(9)), "ndcg@10 .6131 ap .5 recall@10 .5 ap@10 .5"},
		{"V6", "", "a b c d", list("a", x(3)), "ap .25 ap@10 .25"},
		{"V7 slots", "slots", "s1 s2", list("s1 s1 s2"), "ndcg@3 .9197 p@3 1 recall@2 .5 dup@3 .333"},
		{"V7 sections", "sections", "s1 s2", list("s1 s1 s2"), "ndcg@3 1 recall@2 1 dup@3 0"},
		{"V8", "", "s", list("x s y"), "recall@3 1"},
		{"V9", "", "a b c d e f g h i j k l m n o", list("a b c d e f g h i j"), "ndcg@10 1"},
		{"V10", "", "a|b", list("a x y"), "ndcg@3 1 recall@3 1"},
		{"V11", "", "a b", list("a x b"), "rr@3 1 ndcg@3 .9197 all_hit@3 1 all_hit@2 0"},
		{"V12 A", "", "g:3 h:2 i:2 j:2", list("h i j x"), "ndcg@4 .6960 ndcg_exp@4 .5471"},
		{"V12 B", "", "g:3 h:2|w:1 i:2 j:2", list("g w x y"), "ndcg@4 .5930 ndcg_exp@4 .6531"},

		{"ME-01 one", "", "S", list("S S X"), "hit@3 1 recall@3 1 rr@3 1 ndcg@3 1 p@3 .6667"},
		{"ME-01 two", "", "S T", list("S S X"), "recall@3 .5 ndcg@3 .6131"},
		{"ME-01 sections", "sections", "S", list("S S X"), "p@3 .3333"},
		{"ME-02 rank 1", "", "S", list("S x y"), "ndcg@3 1.0000"},
		{"ME-02 rank 2", "", "S", list("x S y"), "ndcg@3 .6309"},
		{"ME-02 rank 3", "", "S", list("x y S"), "ndcg@3 .5000"},
		{"ME-03 a", "", "a b c d e", list("a x y z w"), "ndcg@5 .3392 recall@5 .2 p@5 .2"},
		{"ME-03 b", "", "a b c d e f g h i j k l", list("a b c d e f g h i j"), "ndcg@10 1.0 recall@10 .8333"},
		{"ME-03 c", "", "a b", list("x a y b z"), "ndcg@5 .6509 rr@5 .5 p@3 .3333"},
		{"ME-04 short", "", "S", list("S"), "p@3 .3333"},
		{"ME-04 small corpus", "", "a b", list("a b"), "p@5 .4 recall@5 1"},
		{"ME-04 empty", "", "a b", nil, "hit@3 0 p@3 0 recall@3 0 rr@3 0 ndcg@3 0 ap 0 all_hit@3 0 judged@3 0 dup@3 0 r_prec 0 bpref 0"},
		{"ME-08 cutoff above the list", "", "a", list("a b"), "p@10000 .0001"},

		// Several groups in one slot stay within [0,1] and keep their worth: see package measure.
		{"one section twice in the gold", "", "a a", list("a x"), "ndcg@2 1 ap 1 ndcg@1 1 recall@1 1 all_hit@1 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fields := strings.Fields(tt.want)
			var names []string
			for i := 0; i < len(fields); i += 2 {
				names = append(names, fields[i])
			}
			// A bare "ap" would expand over the cutoffs; trec_eval's name is the whole list.
			for i, n := range names {
				if n == "ap" {
					names[i] = "map"
				}
			}
			ev := mustEvaluate(t, Options{View: tt.view, Measures: names}, []golden.Question{question("q", tt.gold)}, ranking("q", tt.ranking...))
			for i := 0; i < len(fields); i += 2 {
				got := ev.Questions[0].Measures[fields[i]]
				var want float64
				fmt.Sscan(fields[i+1], &want)
				digits := len(fields[i+1]) - strings.IndexByte(fields[i+1], '.') - 1
				if !strings.Contains(fields[i+1], ".") {
					digits = 12
				}
				if !got.OK || math.Abs(got.V-want) > 0.5000001*math.Pow10(-digits) {
					t.Errorf("%s = %v, want %s", fields[i], got.V, fields[i+1])
				}
			}
		})
	}
}

// TestRandomBaseline checks the closed forms of EVALUATION 3.6 (N = 51 sections, one relevant)
// against their numbers and against simulation.
func TestRandomBaseline(t *testing.T) {
	units := make([]Hit, 51)
	for i := range units {
		units[i] = Hit{Chunk: corpus.ChunkID(fmt.Sprint(i)), Doc: "d", Section: fmt.Sprintf("s%d", i)}
	}
	evaluate := func(gold string, units []Hit, o Options) *Evaluation {
		ev, err := Evaluate(&golden.Set{Questions: []golden.Question{question("q", gold)}}, nil, &Run{Chunks: units}, o)
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	ev := evaluate("s7", units, Options{Measures: []string{"hit@1", "hit@3", "rr@5", "ndcg@5"}})
	for name, want := range map[string]float64{"hit@1": .0196, "hit@3": .0588, "rr@5": .0448, "ndcg@5": .0578} {
		if got := ev.Random[name]; !got.OK || math.Abs(got.V-want) > .00005 {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}

	// Several groups, several chunks of one section, OR members of unequal grade.
	var mixed []Hit
	for i := range 14 {
		mixed = append(mixed, Hit{Chunk: corpus.ChunkID(fmt.Sprint(i)), Doc: "d", Section: fmt.Sprintf("s%d", i/2)})
	}
	names := []string{"hit@3", "p@3", "recall@3", "rr@5", "ndcg@5", "ndcg_exp@5", "ap@5", "all_hit@5", "dup@4", "judged@3", "r_prec", "map", "recip_rank"}
	o := Options{Measures: names, Seed: 7}
	closed := evaluate("s0:2|s1 s2:3 s3", mixed, o).Random
	set := &golden.Set{Questions: []golden.Question{question("q", "s0:2|s1 s2:3 s3")}}
	e, err := newEvaluator(set, nil, &Run{Chunks: mixed}, Options{Measures: names, Seed: 7, Simulate: 40000})
	if err != nil {
		t.Fatal(err)
	}
	b := newBaseline(e, nil)
	out := make([]Value, len(e.measures))
	all := make([]int, len(out))
	for i := range all {
		all[i] = i
	}
	b.simulate(e.worker(), e.topics[0], b.views[""], 0, all, out)
	for i, name := range e.names {
		if got, want := closed[name], out[i]; !got.OK || math.Abs(got.V-want.V) > .012 {
			t.Errorf("%s: closed form %v, simulation %v", name, got, want)
		}
	}
}
