package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/evalkit/stats"
)

// Simplicity is the order in which variants are called simple, as reports print it.
const Simplicity = "fewest chat calls, then no outside embedder, then one retriever rather than two, then fewest steps after fusion, then fewest settings changed from the baseline, then the smallest index"

// Recommendation names one variant. The rule, in this order:
//
//  1. Variants with failed queries or leaks are never recommended.
//  2. Proven better: those whose mean is above the baseline's with a Holm-adjusted two-sided p of
//     at most Alpha. If there are any, the best of them is taken, and with it those of them that
//     the same kind of test, adjusted for their number, does not show to be worse than the best;
//     the simplest of these is recommended.
//  3. Else the baseline stays, unless a variant of fewer Parts is shown to lose less than Margin:
//     the lower end of its paired interval, one-sided at Alpha divided by the number of such
//     variants, lies above −Margin. Then the simplest of these is recommended.
//
// Among equally simple variants that with the higher mean wins, then the one declared first.
type Recommendation struct {
	Variant string            `json:"variant"`
	Build   string            `json:"build,omitempty"`
	Reason  string            `json:"reason"`
	Changes map[string]string `json:"changes,omitempty"` // settings that differ from the baseline's
	// Best has the highest mean, which is optimistic; see Report.Optimism.
	Best string `json:"best"`
	// Alike are the variants that the questions cannot tell from the recommended one (two-sided p
	// above Alpha, unadjusted), in the report's order.
	Alike []string `json:"alike,omitempty"`
	Order string   `json:"simplicity"` // what simple means
}

func (a *analysis) recommend() Recommendation {
	lines := a.report.Variants
	var better, fewer []*Line
	var base *Line
	for i := range lines {
		l := &lines[i]
		switch {
		case l.row == a.base:
			base = l
		case l.Excluded != "":
		case l.Sign == "+":
			better = append(better, l)
		case l.Sign == "~" && l.Parts.Compare(a.base.Parts) < 0:
			fewer = append(fewer, l)
		}
	}
	rec := Recommendation{Best: lines[0].Name, Order: Simplicity}
	var chosen *Line
	switch {
	case len(better) > 0:
		chosen, rec.Reason = a.amongBetter(better)
	default:
		chosen, rec.Reason = a.amongSimpler(base, fewer)
	}
	rec.Variant, rec.Build = chosen.Name, chosen.Build
	for _, key := range a.report.Varied {
		if v, ok := chosen.row.Settings[key]; ok && v != a.base.Settings[key] {
			if rec.Changes == nil {
				rec.Changes = map[string]string{}
			}
			rec.Changes[key] = v
		}
	}
	for i := range lines {
		if l := &lines[i]; l != chosen && l.Excluded == "" && a.p(compare(l.row, chosen.row, a.scored)) > a.o.Alpha {
			rec.Alike = append(rec.Alike, l.Name)
		}
	}
	return rec
}

// simplest returns the simplest of lines, which are in the order of the report.
func simplest(lines []*Line) *Line {
	return slices.MinFunc(lines, func(x, y *Line) int {
		return cmp.Or(x.Parts.Compare(y.Parts), cmp.Compare(x.Changed, y.Changed),
			cmp.Compare(x.Cost.IndexBytes, y.Cost.IndexBytes), cmp.Compare(x.Rank, y.Rank))
	})
}

func (a *analysis) amongBetter(better []*Line) (*Line, string) {
	best := better[0]
	ps := make([]float64, len(better)-1)
	for i, l := range better[1:] {
		ps[i] = a.p(compare(l.row, best.row, a.scored))
	}
	within := []*Line{best}
	for i, p := range stats.Holm(ps) {
		if p > a.o.Alpha {
			within = append(within, better[i+1])
		}
	}
	chosen := simplest(within)
	reason := fmt.Sprintf("it is better than %s by %+.3f %s (adjusted p %.2g)", a.base.Name, chosen.Delta.V, a.o.Primary, chosen.PHolm.V)
	switch {
	case chosen != best:
		reason += fmt.Sprintf("; %s has the higher mean, within noise, and is less simple", best.Name)
	case len(within) > 1:
		reason += fmt.Sprintf("; of the %d that the questions cannot tell apart at the top it is the simplest", len(within))
	}
	return chosen, reason
}

func (a *analysis) amongSimpler(base *Line, fewer []*Line) (*Line, string) {
	var safe []*Line
	if a.o.Margin > 0 {
		for _, l := range fewer {
			iv, promise, ok := a.interval(compare(l.row, a.base, a.scored), 1-2*a.o.Alpha/float64(len(fewer)))
			if ok && promise && iv.Lo > -a.o.Margin {
				safe = append(safe, l)
			}
		}
	}
	if len(safe) > 0 {
		chosen := simplest(safe)
		return chosen, fmt.Sprintf("nothing is shown to be better than %s, and it has fewer parts and is shown to lose less than %g %s (difference %+.3f)",
			base.Name, a.o.Margin, a.o.Primary, chosen.Delta.V)
	}
	reason := "the baseline stays: no variant is shown to be better"
	if len(a.report.Variants) == 1 {
		return base, "it is the only variant"
	}
	if len(fewer) > 0 {
		names := make([]string, len(fewer))
		for i, l := range fewer {
			names[i] = l.Name
		}
		verb := "has"
		if len(names) > 1 {
			verb = "have"
		}
		reason += fmt.Sprintf("; %s %s fewer parts but may lose %g or more", strings.Join(names, ", "), verb, max(a.o.Margin, 0))
	}
	return base, reason
}
