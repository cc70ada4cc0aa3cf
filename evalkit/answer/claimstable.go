package answer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Aggregate is one measure of one system in both averages, which are not the same: macro is
// the mean over cases, pooled divides the sums, so that long answers weigh more.
type Aggregate struct {
	Name   string  `json:"name"`
	Macro  float64 `json:"macro"`
	Cases  int     `json:"cases"` // that entered the macro mean; 0: n/a
	Pooled Ratio   `json:"pooled"`
}

func (a Aggregate) String() string {
	if a.Cases == 0 {
		return fmt.Sprintf("%s macro n/a, pooled n/a", a.Name)
	}
	v, _ := a.Pooled.Value()
	return fmt.Sprintf("%s macro %.4f over %d cases, pooled %d/%d = %.4f", a.Name, a.Macro, a.Cases, a.Pooled.Count, a.Pooled.N, v)
}

// SystemScores are the aggregates of one system.
type SystemScores struct {
	System     string    `json:"system"`
	Precision  Aggregate `json:"precision"`
	Recall     Aggregate `json:"recall"`
	Support    Aggregate `json:"support"`
	Coverage   Aggregate `json:"coverage"`
	Abstention Ratio     `json:"abstention"` // correct / unanswerable
}

// Regression is a case on which a later system is worse than the one before it, on one
// measure. Averages may rise all the same.
type Regression struct {
	Case    string  `json:"case"`
	Measure string  `json:"measure"`
	From    string  `json:"from"`
	To      string  `json:"to"`
	Before  float64 `json:"before"`
	After   float64 `json:"after"`
}

func (r Regression) String() string {
	return fmt.Sprintf("%s regresses from %s to %s: %s %.2f → %.2f", r.Case, r.From, r.To, r.Measure, r.Before, r.After)
}

// ClaimTable is a scored workbook.
type ClaimTable struct {
	K           int            `json:"k"`
	Scores      []ClaimScore   `json:"scores"` // by case in file order, then system
	Systems     []SystemScores `json:"systems"`
	Regressions []Regression   `json:"regressions"` // between systems in alphabetical order
}

// ScoreWorkbook scores every recorded output at cutoff k.
func ScoreWorkbook(w *Workbook, k int) (*ClaimTable, error) { return scoreWorkbook(w, k, claimRules{}) }

func scoreWorkbook(w *Workbook, k int, rules claimRules) (*ClaimTable, error) {
	t := &ClaimTable{K: k, Regressions: []Regression{}}
	bySystem := map[string][]ClaimScore{}
	for i := range w.Cases {
		c := &w.Cases[i]
		for _, name := range slices.Sorted(maps.Keys(c.Systems)) {
			s, err := scoreClaims(c, name, c.Systems[name], k, rules)
			if err != nil {
				return nil, err
			}
			t.Scores = append(t.Scores, s)
			bySystem[name] = append(bySystem[name], s)
		}
	}
	names := slices.Sorted(maps.Keys(bySystem))
	for _, name := range names {
		t.Systems = append(t.Systems, aggregate(name, bySystem[name]))
	}
	for i := 1; i < len(names); i++ {
		t.Regressions = append(t.Regressions, regressions(bySystem[names[i-1]], bySystem[names[i]])...)
	}
	return t, nil
}

func aggregate(name string, scores []ClaimScore) SystemScores {
	s := SystemScores{System: name}
	over := func(measure string, of func(ClaimScore) Ratio) Aggregate {
		a := Aggregate{Name: measure}
		for _, c := range scores {
			r := of(c)
			if v, ok := r.Value(); ok {
				a.Macro += v
				a.Cases++
				a.Pooled.Count, a.Pooled.N = a.Pooled.Count+r.Count, a.Pooled.N+r.N
			}
		}
		if a.Cases > 0 {
			a.Macro /= float64(a.Cases)
		}
		return a
	}
	answerable := func(of func(ClaimScore) Ratio) func(ClaimScore) Ratio {
		return func(c ClaimScore) Ratio {
			if c.Abstained != nil {
				return Ratio{} // claims on unanswerable questions are counted by abstention
			}
			return of(c)
		}
	}
	s.Precision = over("precision", func(c ClaimScore) Ratio { return c.Precision })
	s.Recall = over("recall", func(c ClaimScore) Ratio { return c.Recall })
	s.Support = over("support", answerable(func(c ClaimScore) Ratio { return c.Support }))
	s.Coverage = over("coverage", func(c ClaimScore) Ratio { return c.Coverage })
	for _, c := range scores {
		if c.Abstained != nil {
			s.Abstention.N++
			if *c.Abstained {
				s.Abstention.Count++
			}
		}
	}
	return s
}

func regressions(before, after []ClaimScore) (out []Regression) {
	for _, a := range before {
		i := slices.IndexFunc(after, func(s ClaimScore) bool { return s.Case == a.Case })
		if i < 0 {
			continue
		}
		b := after[i]
		compare := func(name string, x float64, xok bool, y float64, yok bool) {
			if xok && yok && y < x {
				out = append(out, Regression{a.Case, name, a.System, b.System, x, y})
			}
		}
		ratio := func(name string, x, y Ratio) {
			v, vok := x.Value()
			w, wok := y.Value()
			compare(name, v, vok, w, wok)
		}
		ratio("precision", a.Precision, b.Precision)
		ratio("recall", a.Recall, b.Recall)
		v, vok := a.RR()
		w, wok := b.RR()
		compare("rr", v, vok, w, wok)
		ratio("support", a.Support, b.Support)
		ratio("coverage", a.Coverage, b.Coverage)
		if a.Abstained != nil && b.Abstained != nil && *a.Abstained && !*b.Abstained {
			out = append(out, Regression{a.Case, "abstention", a.System, b.System, 1, 0})
		}
	}
	return out
}

// Text returns the table of cases: a header and one line for each case and system.
func (t *ClaimTable) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "case system | P@%d R@%d RR@%d support coverage abstention\n", t.K, t.K, t.K)
	for _, s := range t.Scores {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// Summary returns both averages of each system by name, and the regressions.
func (t *ClaimTable) Summary() string {
	var b strings.Builder
	for _, s := range t.Systems {
		for _, a := range []Aggregate{s.Precision, s.Recall, s.Support, s.Coverage} {
			fmt.Fprintf(&b, "%s: %s\n", s.System, a)
		}
		fmt.Fprintf(&b, "%s: correct abstentions %d/%d\n", s.System, s.Abstention.Count, s.Abstention.N)
	}
	for _, r := range t.Regressions {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}
