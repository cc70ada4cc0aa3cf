package measure

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ in, own, trec, ir string }{
		{"hit@3", "hit@3", "success_3", "Success@3"},
		{"Success@5", "hit@5", "success_5", "Success@5"},
		{"success_10", "hit@10", "success_10", "Success@10"},
		{"p@5", "p@5", "P_5", "P@5"},
		{"P@5", "p@5", "P_5", "P@5"},
		{"P.5", "p@5", "P_5", "P@5"},
		{"P(rel=2)@5", "p(rel=2)@5", "P_5", "P(rel=2)@5"},
		{"P(rel=1)@5", "p@5", "P_5", "P@5"},
		{"R@100", "recall@100", "recall_100", "R@100"},
		{"recall_1000", "recall@1000", "recall_1000", "R@1000"},
		{"rr@5", "rr@5", "rr@5", "RR@5"},
		{"RR", "rr", "recip_rank", "RR"},
		{"MRR@10", "rr@10", "rr@10", "RR@10"},
		{"recip_rank", "rr", "recip_rank", "RR"},
		{"nDCG@10", "ndcg@10", "ndcg_cut_10", "nDCG@10"},
		{"nDCG(dcg='exp-log2')@10", "ndcg_exp@10", "ndcg_exp@10", "nDCG(dcg='exp-log2')@10"},
		{"ndcg", "ndcg", "ndcg", "nDCG"},
		{"ndcg_cut_10", "ndcg@10", "ndcg_cut_10", "nDCG@10"},
		{"ndcg_cut.20", "ndcg@20", "ndcg_cut_20", "nDCG@20"},
		{"map", "ap", "map", "AP"},
		{"AP@1000", "ap@1000", "map_cut_1000", "AP@1000"},
		{"AP(rel=2)", "ap(rel=2)", "map", "AP(rel=2)"},
		{"Rprec", "r_prec", "Rprec", "Rprec"},
		{"r_prec", "r_prec", "Rprec", "Rprec"},
		{"Bpref", "bpref", "bpref", "Bpref"},
		{"all_hit@3", "all_hit@3", "all_hit@3", "all_hit@3"},
		{"Judged@10", "judged@10", "judged@10", "Judged@10"},
		{"dup@3", "dup@3", "dup@3", "dup@3"},
		{"char_recall@3", "char_recall@3", "char_recall@3", "char_recall@3"},
		{"iprec_at_recall_0.10", "iprec@0.10", "iprec_at_recall_0.10", "IPrec@0.1"},
		{"IPrec@0.1", "iprec@0.10", "iprec_at_recall_0.10", "IPrec@0.1"},
		{"set_F", "set_f", "set_F", "SetF"},
		{"NumRet(rel=1)", "num_rel_ret", "num_rel_ret", "NumRet(rel=1)"},
		{"num_ret", "num_ret", "num_ret", "NumRet"},
		{"unj_5", "unjudged@5", "unj_5", "unjudged@5"},
	} {
		m, err := Parse(tt.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.in, err)
			continue
		}
		if m.Rel > 1 && tt.trec == "P_5" || m.Rel > 1 && tt.trec == "map" {
			tt.trec = tt.own // trec_eval takes the level as an option, so its name would lie
		}
		if m.String() != tt.own || m.TREC() != tt.trec || m.IR() != tt.ir {
			t.Errorf("Parse(%q) prints %q, %q, %q; want %q, %q, %q", tt.in, m, m.TREC(), m.IR(), tt.own, tt.trec, tt.ir)
		}
		for _, name := range []string{m.String(), m.TREC(), m.IR()} {
			if again, err := Parse(name); err != nil || again != m {
				t.Errorf("%q, printed for %q, reads as %+v, %v", name, tt.in, again, err)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"hit@0", `cutoff "0" is no whole number`},
		{"hit@-1", `cutoff "-1"`},
		{"hit@1.5", `cutoff "1.5"`},
		{"hit@three", `cutoff "three"`},
		{"hit@03", `cutoff "03"`},
		{"hit@9999999", "from 1 to 1000000"},
		{"hit@", `cutoff ""`},
		{"hit", "a cutoff is missing: write hit@10"},
		{"r_prec@3", "takes no cutoff"},
		{"hitt@3", "not known"},
		{"", "not known"},
		{"P(rel=2@5", "not closed"},
		{"P(rel=x)@5", "rel \"x\""},
		{"P(x=1)@5", "not known: known are rel and dcg"},
		{"P(dcg='exp-log2')@5", "argument of nDCG alone"},
		{"iprec", "level of recall is missing"},
		{"iprec@2", "no number from 0 to 1"},
		{"ndcg(rel=2)@3", "has no rel level"},
		{"ndcg_cut_0", `cutoff "0"`},
	} {
		if m, err := Parse(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) = %v, %v; want %q", tt.in, m, err, tt.want)
		}
	}
}

func TestExpand(t *testing.T) {
	ms, err := Expand([]string{"hit", "rr", "r_prec", "ndcg@10", "hit@3"}, []int{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range ms {
		got = append(got, m.String())
	}
	if s := strings.Join(got, " "); s != "hit@1 hit@3 rr@1 rr@3 r_prec ndcg@10" {
		t.Errorf("Expand = %s", s)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"hit@3", "P(rel=2)@5", "nDCG(dcg='exp-log2')@10", "iprec_at_recall_0.10", "ndcg_cut.20", "11pt_avg", "IPrec@1e-7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(m.String()); err != nil || again != m {
			t.Fatalf("%q prints %q, which reads as %+v, %v", s, m, again, err)
		}
	})
}

func TestValue(t *testing.T) {
	for _, tt := range []struct {
		v    Value
		json string
		text string
	}{
		{Value{}, "null", "n/a"}, {Value{0, true}, "0", "0.0000"}, {Value{1.0 / 3, true}, "0.3333333333333333", "0.3333"},
	} {
		data, err := json.Marshal(tt.v)
		if err != nil || string(data) != tt.json || tt.v.String() != tt.text {
			t.Errorf("%+v: %s, %s, %v", tt.v, data, tt.v, err)
		}
		var again Value
		if err := json.Unmarshal(data, &again); err != nil || again != tt.v {
			t.Errorf("%s reads as %+v, %v", data, again, err)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		if data, err := json.Marshal(Value{v, true}); err == nil {
			t.Errorf("%v encodes as %s", v, data)
		}
	}
	var v Value
	if json.Unmarshal([]byte(`"x"`), &v) == nil {
		t.Error("text is accepted as a value")
	}
}

// Evidence that Check accepts gives values in [0,1] for every measure but counts.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := Evidence{Returned: rapid.IntRange(0, 12).Draw(rt, "returned")}
		for range rapid.IntRange(1, 6).Draw(rt, "groups") {
			e.Ideal = append(e.Ideal, rapid.IntRange(1, 5).Draw(rt, "ideal"))
		}
		nonrel := 0
		for r := 1; r <= e.Returned; r++ {
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				e.Relevant = append(e.Relevant, r)
				e.Grades = append(e.Grades, rapid.IntRange(1, 5).Draw(rt, "slot grade"))
				for range rapid.IntRange(0, 2).Draw(rt, "found here") {
					if n := len(e.Found); n < len(e.Ideal) {
						e.Found = append(e.Found, Found{n, r, rapid.IntRange(1, e.Ideal[n]).Draw(rt, "gain")})
					}
				}
			case 1:
				e.Nonrel = append(e.Nonrel, r)
				nonrel++
			}
		}
		e.NonrelTotal = nonrel + rapid.IntRange(0, 3).Draw(rt, "more")
		e.Sort()
		if err := e.Check(); err != nil {
			rt.Fatal(err)
		}
		var s Scorer
		for i := range families {
			f := families[i]
			if f.sum || f.name == GMAP {
				continue
			}
			for _, m := range []Measure{{Family: f.name}, {Family: f.name, Cutoff: 1}, {Family: f.name, Cutoff: 3}, {Family: f.name, Cutoff: 50}, {Family: f.name, Cutoff: 3, Rel: 3}} {
				if m.Cutoff == 0 && f.cut == cutRequired || m.Cutoff > 0 && f.cut == cutNone {
					continue
				}
				v := s.Value(&e, m) // panics outside [0,1]
				if v.OK && math.IsNaN(v.V) {
					rt.Fatalf("%s is NaN", m)
				}
			}
		}
	})
}

func TestCheck(t *testing.T) {
	good := func() Evidence {
		return Evidence{Returned: 5, Ideal: []int{3, 1}, Found: []Found{{0, 2, 3}, {1, 4, 1}}, Relevant: []int{2, 4}, Grades: []int{3, 1}, Nonrel: []int{1}, NonrelTotal: 2, Dup: []int{5}, Chars: []Chars{{3, 4, 5, 6}}}
	}
	e := good()
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Evidence){
		"rank beyond the list":     func(e *Evidence) { e.Relevant[1] = 6 },
		"ranks out of order":       func(e *Evidence) { e.Relevant = []int{4, 2} },
		"rank 0":                   func(e *Evidence) { e.Nonrel[0] = 0 },
		"grades missing":           func(e *Evidence) { e.Grades = nil },
		"more found than gold":     func(e *Evidence) { e.Found = append(e.Found, Found{2, 5, 1}) },
		"group twice":              func(e *Evidence) { e.Found[1].Group = 0 },
		"gain above the ideal":     func(e *Evidence) { e.Found[1].Gain = 2 },
		"gain 0":                   func(e *Evidence) { e.Found[1].Gain = 0 },
		"ideal not descending":     func(e *Evidence) { e.Ideal = []int{1, 3} },
		"more nonrel than judged":  func(e *Evidence) { e.NonrelTotal = 0 },
		"found out of order":       func(e *Evidence) { e.Found[0].Rank = 5 },
		"more shared than gold":    func(e *Evidence) { e.Chars[0].Inter = 6 },
		"repeated section at none": func(e *Evidence) { e.Dup[0] = 7 },
	} {
		e := good()
		change(&e)
		if e.Check() == nil {
			t.Errorf("%s: Check accepts %+v", name, e)
		}
	}
}

func TestExpandWithoutCutoffs(t *testing.T) {
	ms, err := Expand([]string{"ndcg", "rr"}, nil)
	if err != nil || len(ms) != 2 || ms[0] != (Measure{Family: NDCG}) || ms[1] != (Measure{Family: RR}) {
		t.Errorf("Expand = %v, %v", ms, err)
	}
	if _, err := Expand([]string{"hit"}, nil); err == nil {
		t.Error("hit without a cutoff is accepted")
	}
}
