package sweep_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/sweep"
)

// row returns a row whose values are those given, by question.
func row(name string, values ...float64) sweep.Row {
	r := sweep.Row{Name: name, Parts: sweep.Parts{Retrievers: 2}, Cost: sweep.Cost{IndexBytes: 1000}}
	for _, v := range values {
		r.Values = append(r.Values, evalkit.Num(v))
	}
	return r
}

// bits returns n values: ones at the first k places from offset on, around.
func bits(n, k, offset int) []float64 {
	out := make([]float64, n)
	for i := range k {
		out[(offset+i)%n] = 1
	}
	return out
}

func questions(n int) []sweep.Question {
	out := make([]sweep.Question, n)
	for i := range out {
		out[i] = sweep.Question{ID: fmt.Sprintf("q%03d", i), Slices: []string{[]string{"even", "odd"}[i%2]}}
	}
	return out
}

func analyse(t *testing.T, n int, o sweep.Options, rows ...sweep.Row) *sweep.Report {
	t.Helper()
	if o.Primary == "" {
		o.Primary = "hit@3"
	}
	r, err := sweep.Analyse(questions(n), rows, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEqualVariants draws sweeps in which every variant is equally good and counts how often the
// baseline is recommended. The seeds are fixed: the counts are the same on every machine.
func TestEqualVariants(t *testing.T) {
	const repetitions, variants, n = 200, 12, 80
	for _, c := range []struct {
		name    string
		primary string
		draw    func(r *rand.Rand, easy float64) float64
		parts   func(i int) sweep.Parts
	}{
		{"hit or miss", "hit@3", func(r *rand.Rand, easy float64) float64 {
			if r.Float64() < easy {
				return 1
			}
			return 0
		}, func(int) sweep.Parts { return sweep.Parts{Retrievers: 2} }},
		{"graded", "ndcg@10", func(r *rand.Rand, easy float64) float64 {
			return min(1, max(0, easy+0.3*(r.Float64()-0.5)))
		}, func(int) sweep.Parts { return sweep.Parts{Retrievers: 2} }},
		{"hit or miss, half with fewer parts", "hit@3", func(r *rand.Rand, easy float64) float64 {
			if r.Float64() < easy {
				return 1
			}
			return 0
		}, func(i int) sweep.Parts { return sweep.Parts{Retrievers: 2 - i%2} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			baseline, simpler := 0, 0
			plain := questions(n)
			for q := range plain {
				plain[q].Slices = nil // they decide nothing
			}
			for rep := range repetitions {
				r := rand.New(rand.NewPCG(uint64(rep), 10))
				easy := make([]float64, n) // questions differ, variants do not
				for q := range easy {
					easy[q] = 0.4 + 0.6*r.Float64()
				}
				rows := make([]sweep.Row, variants)
				for i := range rows {
					values := make([]float64, n)
					for q := range values {
						values[q] = c.draw(r, easy[q])
					}
					rows[i] = row(fmt.Sprintf("v%d", i), values...)
					rows[i].Parts = c.parts(i)
				}
				report, err := sweep.Analyse(plain, rows, sweep.Options{Primary: c.primary, Seed: 1, Resamples: 50, Draws: 400})
				if err != nil {
					t.Fatal(err)
				}
				for i := range rows {
					switch {
					case rows[i].Name != report.Recommend.Variant:
					case i == 0:
						baseline++
					case rows[i].Parts.Compare(rows[0].Parts) < 0:
						simpler++ // rightly: it is as good and has fewer parts
					}
				}
			}
			t.Logf("of %d sweeps of equal variants %d recommend the baseline, %d one with fewer parts", repetitions, baseline, simpler)
			if (baseline+simpler)*100 < 95*repetitions {
				t.Errorf("%d of %d sweeps of equal variants recommend the baseline, %d one with fewer parts; want 95 %%", baseline, repetitions, simpler)
			}
		})
	}
}

func TestRecommend(t *testing.T) {
	const n = 100
	base := func() sweep.Row { return row("base", bits(n, 60, 0)...) }
	with := func(r sweep.Row, f func(*sweep.Row)) sweep.Row { f(&r); return r }
	simple := func(r *sweep.Row) { r.Parts.Retrievers = 1 }
	for _, c := range []struct {
		name string
		rows []sweep.Row
		o    sweep.Options
		want string
		says string // part of the reason
	}{
		{"alone", []sweep.Row{base()}, sweep.Options{}, "base", "only variant"},
		{"identical", []sweep.Row{base(), row("same", bits(n, 60, 0)...)}, sweep.Options{}, "base", "no variant is shown to be better"},
		// 5 gained, 0 lost: two-sided p 2/32, not enough.
		{"a little better", []sweep.Row{base(), row("up", bits(n, 65, 0)...)}, sweep.Options{}, "base", "no variant is shown"},
		// 20 gained, 0 lost: p 2e-6.
		{"better", []sweep.Row{base(), row("up", bits(n, 80, 0)...)}, sweep.Options{}, "up", "+0.200"},
		// The best by mean has more parts and is within noise of the simpler one.
		{"simplest of the better", []sweep.Row{base(), with(row("costly", bits(n, 82, 0)...), func(r *sweep.Row) { r.Parts.Chat = 1 }), row("cheap", bits(n, 80, 0)...)},
			sweep.Options{}, "cheap", "costly has the higher mean"},
		// 20 more hits than the simpler one: no noise.
		{"best where the simple one is worse", []sweep.Row{base(), with(row("costly", bits(n, 100, 0)...), func(r *sweep.Row) { r.Parts.Chat = 1 }), row("cheap", bits(n, 80, 0)...)},
			sweep.Options{}, "costly", "+0.400"},
		{"simpler and the same", []sweep.Row{base(), with(row("simple", bits(n, 60, 0)...), simple)}, sweep.Options{}, "simple", "fewer parts"},
		{"simpler, margin too small for so few questions", []sweep.Row{base(), with(row("simple", bits(n, 60, 0)...), simple)}, sweep.Options{Margin: 0.01}, "base", "may lose"},
		{"simpler, none allowed", []sweep.Row{base(), with(row("simple", bits(n, 60, 0)...), simple)}, sweep.Options{Margin: -1}, "base", "no variant"},
		// 4 lost of 100 and nothing gained: the interval reaches beyond −0.03.
		{"simpler but perhaps worse", []sweep.Row{base(), with(row("simple", bits(n, 56, 0)...), simple)}, sweep.Options{}, "base", "may lose"},
		{"failed", []sweep.Row{base(), with(row("up", bits(n, 80, 0)...), func(r *sweep.Row) { r.Errors = 1 })}, sweep.Options{}, "base", ""},
		{"leaks", []sweep.Row{base(), with(row("up", bits(n, 80, 0)...), func(r *sweep.Row) { r.Leaks = 1 })}, sweep.Options{}, "base", ""},
		{"named baseline", []sweep.Row{row("up", bits(n, 80, 0)...), base()}, sweep.Options{Baseline: "base"}, "up", "better than base"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyse(t, n, c.o, c.rows...)
			if r.Recommend.Variant != c.want || !strings.Contains(r.Recommend.Reason, c.says) {
				t.Errorf("Analyse recommends %q: %s; want %q because %q", r.Recommend.Variant, r.Recommend.Reason, c.want, c.says)
			}
		})
	}
}

// TestTable checks one line against numbers worked out by hand.
func TestTable(t *testing.T) {
	// 10 questions; the variant gains q6, q7 and q8 and loses q0.
	base := row("base", 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
	other := row("other", 0, 1, 1, 1, 1, 1, 1, 1, 1, 0)
	base.Settings = map[string]string{"hybrid.mode": "hybrid", "chunk.max": "900"}
	other.Settings = map[string]string{"hybrid.mode": "lexical", "chunk.max": "900"}
	r := analyse(t, 10, sweep.Options{}, base, other)
	l := r.Variants[0]
	if l.Name != "other" || l.Mean.V != 0.8 || l.Better != 3 || l.Worse != 1 || l.Sign != "~" {
		t.Errorf("first line is %+v, want other .8, 3 better, 1 worse, ~", l)
	}
	// McNemar two-sided: 2·(C(4,0)+C(4,1))/2⁴ = 10/16.
	if l.P.V != 0.625 {
		t.Errorf("p = %v, want 0.625", l.P.V)
	}
	if diff := cmp.Diff([]string{"hybrid.mode"}, r.Varied); diff != "" {
		t.Errorf("varied (-want +got):\n%s", diff)
	}
	if l.Changed != 1 || r.Variants[1].Changed != 0 {
		t.Errorf("changed settings %d and %d, want 1 and 0", l.Changed, r.Variants[1].Changed)
	}
	// Slice even (q0, q2, …): base 1,1,1,0,0; other 0,1,1,1,1: better. Slice odd: q7 gained: better.
	if len(l.Slices) != 0 {
		t.Errorf("slices below the baseline: %+v, want none", l.Slices)
	}
}

// TestSliceLoss: the mean rises and one slice falls.
func TestSliceLoss(t *testing.T) {
	const n = 100
	base, up := make([]float64, n), make([]float64, n)
	for i := range n {
		if i%2 == 0 && i < 40 {
			base[i] = 1 // even questions: 20 lost
		}
		if i%2 == 1 {
			up[i] = 1 // odd ones: 50 gained
		}
	}
	r := analyse(t, n, sweep.Options{}, row("base", base...), row("up", up...))
	l := r.Variants[0]
	if l.Name != "up" || len(l.Slices) != 1 || l.Slices[0].Slice != "even" || l.Slices[0].Worse != 20 {
		t.Fatalf("slices of %s: %+v, want even with 20 worse", l.Name, l.Slices)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "worse on slice even") {
		t.Errorf("warnings %q do not call out slice even", r.Warnings)
	}
	var b bytes.Buffer
	if err := sweep.Text(&b, r, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "worse on slice even") {
		t.Errorf("the text does not call out slice even:\n%s", b.String())
	}
}

func TestAnalyseErrors(t *testing.T) {
	na := row("b", 1, 1)
	na.Values[1] = evalkit.Value{}
	failed := row("a", 1, 0)
	failed.Errors = 2
	none := row("a")
	none.Values = make([]evalkit.Value, 2)
	for _, c := range []struct {
		name string
		rows []sweep.Row
		o    sweep.Options
		want string
	}{
		{"no variants", nil, sweep.Options{}, "no variants"},
		{"same name", []sweep.Row{row("a", 1, 0), row("a", 1, 0)}, sweep.Options{}, `two variants are called "a"`},
		{"unknown baseline", []sweep.Row{row("a", 1, 0)}, sweep.Options{Baseline: "z"}, `no variant "z"`},
		{"different questions", []sweep.Row{row("a", 1, 0), na}, sweep.Options{}, "q001"},
		{"other number of questions", []sweep.Row{row("a", 1)}, sweep.Options{}, "values of 1 questions"},
		{"failed baseline", []sweep.Row{failed}, sweep.Options{}, "2 queries of the baseline"},
		{"nothing scored", []sweep.Row{none}, sweep.Options{}, "no question has a value"},
		{"no measure", []sweep.Row{row("a", 1, 0)}, sweep.Options{Primary: "hit@x"}, "primary"},
		{"alpha", []sweep.Row{row("a", 1, 0)}, sweep.Options{Alpha: 1}, "alpha"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.o.Primary == "" {
				c.o.Primary = "hit@3"
			}
			_, err := sweep.Analyse(questions(2), c.rows, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Analyse = %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestOutputs: names come from files that users wrote, so they must not become markup; the same
// report gives the same bytes; every chart has its numbers beside it.
func TestOutputs(t *testing.T) {
	const n = 40
	evil := row(`<script>alert("1")</script>`, bits(n, 30, 3)...)
	evil.Curve = []evalkit.Value{evalkit.Num(0.5), evalkit.Num(1)}
	base := row("base", bits(n, 25, 0)...)
	base.Curve = []evalkit.Value{evalkit.Num(0.25), evalkit.Num(0)}
	same := row("same", bits(n, 25, 0)...)
	same.Curve = base.Curve
	render := func() string {
		r := analyse(t, n, sweep.Options{Seed: 7}, base, evil, same)
		var b bytes.Buffer
		data, err := json.MarshalIndent(r, "", " ")
		if err := errors.Join(err, sweep.Text(&b, r, []sweep.Times{{Variant: "base", BuildNS: 5e6}}), sweep.HTML(&b, r, nil), sweep.MatrixCSV(&b, r)); err != nil {
			t.Fatal(err)
		}
		charts := sweep.Charts(r)
		if len(charts) != 4 {
			t.Errorf("%d charts, want 4", len(charts))
		}
		for _, c := range charts {
			d := xml.NewDecoder(strings.NewReader(c.SVG))
			for {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("chart %s is no XML: %v", c.Name, err)
				}
			}
			if len(c.Table) < 3 {
				t.Errorf("chart %s has a table of %d lines", c.Name, len(c.Table))
			}
			if strings.Contains(c.SVG, "NaN") || strings.Contains(c.SVG, "Inf") {
				t.Errorf("chart %s holds a number that is none", c.Name)
			}
			b.WriteString(c.SVG)
		}
		return string(data) + b.String()
	}
	first := render()
	if strings.Contains(first[strings.Index(first, "<!doctype"):strings.Index(first, "</html>")], "<script") {
		t.Error("a name became markup")
	}
	if again := render(); again != first {
		t.Error("the same report gives other bytes")
	}
	if !strings.HasPrefix(first, "{\n \"schema\": \"assay.sweep/v1\"") {
		t.Errorf("JSON does not lead with its schema: %.60s", first)
	}
}

func TestPair(t *testing.T) {
	c, err := sweep.Pair(questions(10), row("a", bits(10, 4, 0)...), row("b", bits(10, 6, 0)...), sweep.Options{Primary: "hit@3"})
	if err != nil {
		t.Fatal(err)
	}
	// 2 gained, none lost: two-sided p 2/4.
	if c.N != 10 || c.Better != 2 || c.Worse != 0 || c.P.V != 0.5 || c.BaseMean.V != 0.4 || c.Mean.V != 0.6 {
		t.Errorf("Pair = %+v", c)
	}
}
