package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/evalkit/stats"
)

// Schema is the schema key of a Report.
const Schema = "assay.sweep/v1"

// Defaults of Options.
const (
	DefaultAlpha  = 0.05
	DefaultMargin = 0.03
)

// Options of Analyse. The zero value is valid but for Primary.
type Options struct {
	Primary  string // measure that orders and decides, such as hit@3
	Baseline string // name of the variant that the others are compared with; "" is the first row
	// Alpha is the chance of calling any variant different when none is, over all of them; 0 means
	// 0.05.
	Alpha float64
	// Margin is the loss that a simpler variant must be shown to stay within before it may replace
	// the baseline; 0 means 0.03, negative means that none may.
	Margin    float64
	Seed      uint64 // of bootstrap and sign flips
	Resamples int    // of the bootstraps; 0 means 2000
	Draws     int    // of the sign-flip tests; 0 means 10000
}

// Report is a sweep's outcome. Its JSON is the same bytes for the same rows and options.
type Report struct {
	Schema    string            `json:"schema"`
	Golden    evalkit.GoldenRef `json:"golden"` // digest of the questions asked alone
	Corpus    string            `json:"corpus,omitempty"`
	Split     string            `json:"split,omitempty"`
	Rule      string            `json:"rule,omitempty"`
	View      string            `json:"view,omitempty"`
	Primary   string            `json:"primary"`
	Baseline  string            `json:"baseline"`
	Alpha     float64           `json:"alpha"`
	Margin    float64           `json:"margin"`
	Seed      uint64            `json:"seed"`
	Scored    int               `json:"n_scored"` // questions with a value of the primary measure
	Interval  string            `json:"interval"` // method of the intervals
	Test      string            `json:"test"`     // of the p-values
	Varied    []string          `json:"varied"`   // settings in which variants differ
	Variants  []Line            `json:"variants"` // best first
	Optimism  *stats.Optimism   `json:"optimism"` // Winner indexes Variants; nil below two variants
	Recommend Recommendation    `json:"recommendation"`
	Questions []Question        `json:"questions"`
	Matrix    []MatrixRow       `json:"matrix"` // in the order of Variants
	LeftOut   []LeftOut         `json:"left_out,omitempty"`
	Warnings  []string          `json:"warnings,omitempty"`
	Confirmed *Confirmation     `json:"confirmation,omitempty"`
}

// Line is one variant of the table.
type Line struct {
	Rank     int                      `json:"rank"`
	Name     string                   `json:"name"`
	Build    string                   `json:"build,omitempty"`
	Settings map[string]string        `json:"settings,omitempty"` // those of Report.Varied
	Mean     evalkit.Value            `json:"mean"`
	Measures map[string]evalkit.Value `json:"measures"`
	Curve    []evalkit.Value          `json:"hit_at,omitempty"`
	Delta    evalkit.Value            `json:"delta"` // mean paired difference from the baseline
	CI       *[2]float64              `json:"ci"`    // 95 %, of Delta; nil for the baseline
	// Descriptive says that too few questions changed for the interval to promise anything.
	Descriptive bool          `json:"descriptive,omitempty"`
	P           evalkit.Value `json:"p"`      // two-sided
	PHolm       evalkit.Value `json:"p_holm"` // adjusted for the number of variants
	Better      int           `json:"better"` // questions on which it beats the baseline
	Worse       int           `json:"worse"`
	Sign        string        `json:"sign"` // "+", "-" or "~" (no difference shown) by PHolm; "=" is the baseline
	// Slices are those whose mean is below the baseline's, whatever the whole does, worst first.
	Slices   []SliceLoss `json:"slices_worse,omitempty"`
	Parts    Parts       `json:"parts"`
	Changed  int         `json:"changed"` // settings that differ from the baseline
	Cost     Cost        `json:"cost"`
	Pareto   bool        `json:"pareto"`             // no variant is as good with a smaller index
	Excluded string      `json:"excluded,omitempty"` // why it cannot be recommended
	Note     string      `json:"note,omitempty"`

	row *Row
}

// SliceLoss is a slice on which a variant is worse than the baseline.
type SliceLoss struct {
	Slice  string        `json:"slice"`
	N      int           `json:"n"`
	Delta  float64       `json:"delta"`
	Better int           `json:"better"`
	Worse  int           `json:"worse"`
	P      evalkit.Value `json:"p"`      // two-sided
	PHolm  evalkit.Value `json:"p_holm"` // adjusted for the slices of the variant
}

// MatrixRow holds a variant's value for each of Report.Questions.
type MatrixRow struct {
	Variant string          `json:"variant"`
	Values  []evalkit.Value `json:"values"`
}

// LeftOut names a combination that was not run.
type LeftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Confirmation is the one comparison of the recommended variant with the baseline on questions that
// the choice did not see.
type Confirmation struct {
	Variant  string        `json:"variant"`
	Build    string        `json:"build"`
	Split    string        `json:"split"`
	N        int           `json:"n_scored"`
	Mean     evalkit.Value `json:"mean"`
	BaseMean evalkit.Value `json:"baseline_mean"`
	Delta    evalkit.Value `json:"delta"`
	CI       *[2]float64   `json:"ci"` // 95 %, of Delta
	P        evalkit.Value `json:"p"`  // two-sided
	Better   int           `json:"better"`
	Worse    int           `json:"worse"`
	Looks    int           `json:"looks"` // at this holdout so far, this one included
	Spent    bool          `json:"spent,omitempty"`
}

// Analyse makes the report of rows that were asked the same questions. Rows that disagree about
// which questions have a value, repeated names, an unknown baseline or one with failed queries are
// errors. The report does not share memory with the rows but for their values.
func Analyse(questions []Question, rows []Row, o Options) (*Report, error) {
	a, err := newAnalysis(questions, rows, o)
	if err != nil {
		return nil, err
	}
	r := a.report
	for i := range rows {
		r.Variants = append(r.Variants, a.line(&rows[i]))
	}
	a.adjust()
	a.pareto()
	a.varied()
	// Variants of equal means stay as declared.
	slices.SortStableFunc(r.Variants, func(x, y Line) int { return cmp.Compare(y.Mean.V, x.Mean.V) })
	for i := range r.Variants {
		l := &r.Variants[i]
		l.Rank = i + 1
		r.Matrix = append(r.Matrix, MatrixRow{l.Name, l.row.Values})
	}
	a.optimism()
	r.Recommend = a.recommend()
	a.warn()
	return r, nil
}

type analysis struct {
	o      Options
	binary bool
	base   *Row
	scored []int // numbers of the questions with a value
	slices map[string][]int
	report *Report
}

func newAnalysis(questions []Question, rows []Row, o Options) (*analysis, error) {
	m, err := measure.Parse(o.Primary)
	if err != nil {
		return nil, fmt.Errorf("sweep: primary: %w", err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("sweep: no variants")
	}
	o.Alpha = cmp.Or(o.Alpha, DefaultAlpha)
	o.Margin = cmp.Or(o.Margin, DefaultMargin)
	if !(o.Alpha > 0 && o.Alpha < 1) {
		return nil, fmt.Errorf("sweep: alpha %v is out of range: use a value between 0 and 1, usually 0.05", o.Alpha)
	}
	a := &analysis{o: o, binary: m.Family.Binary(), slices: map[string][]int{}}
	seen := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		if seen[r.Name] {
			return nil, fmt.Errorf("sweep: two variants are called %q: give each a name of its own", r.Name)
		}
		seen[r.Name] = true
		if r.Name == o.Baseline || o.Baseline == "" && i == 0 {
			a.base = r
		}
		if len(r.Values) != len(questions) {
			return nil, fmt.Errorf("sweep: variant %q has values of %d questions, there are %d", r.Name, len(r.Values), len(questions))
		}
		for q, v := range r.Values {
			if v.OK != rows[0].Values[q].OK {
				return nil, fmt.Errorf("sweep: question %s is scored for one of %q and %q only: they were asked different sets", questions[q].ID, rows[0].Name, r.Name)
			}
			if v.OK && (math.IsNaN(v.V) || math.IsInf(v.V, 0)) {
				return nil, fmt.Errorf("sweep: variant %q, question %s: %v is no value", r.Name, questions[q].ID, v.V)
			}
		}
	}
	if a.base == nil {
		return nil, fmt.Errorf("sweep: there is no variant %q to be the baseline: it must be one of those run", o.Baseline)
	}
	if a.base.Errors > 0 {
		return nil, fmt.Errorf("sweep: %d queries of the baseline %q failed: nothing can be compared with it", a.base.Errors, a.base.Name)
	}
	for q, v := range rows[0].Values {
		if !v.OK {
			continue
		}
		a.scored = append(a.scored, q)
		for _, s := range questions[q].Slices {
			a.slices[s] = append(a.slices[s], q)
		}
	}
	if len(a.scored) == 0 {
		return nil, fmt.Errorf("sweep: no question has a value of %s: the set needs answerable questions with gold", o.Primary)
	}
	a.report = &Report{
		Schema: Schema, Primary: o.Primary, Baseline: a.base.Name, Alpha: o.Alpha, Margin: max(0, o.Margin), Seed: o.Seed,
		Scored: len(a.scored), Questions: questions, Interval: "paired bca bootstrap, 95 %", Test: "sign flip, two-sided",
		Varied: []string{},
	}
	if a.binary {
		a.report.Interval, a.report.Test = "tango, 95 %", "mcnemar, exact, two-sided"
	}
	return a, nil
}

// difference is a paired comparison over some questions.
type difference struct {
	diffs         []float64
	mean          float64
	better, worse int
}

func compare(cand, base *Row, questions []int) difference {
	d := difference{diffs: make([]float64, len(questions))}
	sum := 0.0
	for i, q := range questions {
		v := cand.Values[q].V - base.Values[q].V
		switch {
		case math.Abs(v) <= 1e-12: // equal values by other routes
			v = 0
		case v > 0:
			d.better++
		default:
			d.worse++
		}
		d.diffs[i] = v
		sum += v
	}
	d.mean = sum / float64(max(1, len(questions)))
	return d
}

// p is the two-sided p-value of no difference.
func (a *analysis) p(d difference) float64 {
	if a.binary {
		return stats.McNemarTwoSided(d.better, d.worse)
	}
	r, ok := stats.SignFlip(d.diffs, stats.TwoSided, a.o.Draws, a.o.Seed)
	if !ok {
		return 1
	}
	return r.P
}

// interval is the two-sided interval of the mean difference. promise is false where too few
// questions changed for it to cover what it says.
func (a *analysis) interval(d difference, conf float64) (iv stats.Interval, promise, ok bool) {
	if a.binary {
		iv, ok = stats.Tango(len(d.diffs), d.better, d.worse, conf)
		return iv, true, ok
	}
	b, ok := stats.BCa(d.diffs, a.o.Resamples, a.o.Seed, conf)
	return b.Interval, !b.Descriptive && !b.Uninformative, ok
}

func (a *analysis) line(row *Row) Line {
	l := Line{
		Name: row.Name, Build: row.Build, Measures: row.Measures, Curve: row.Curve, Parts: row.Parts, Cost: row.Cost,
		Note: row.Note, Sign: "=", row: row,
	}
	sum := 0.0
	for _, q := range a.scored {
		sum += row.Values[q].V
	}
	l.Mean = evalkit.Num(sum / float64(len(a.scored)))
	switch {
	case row.Errors > 0:
		l.Excluded = fmt.Sprintf("%d queries failed", row.Errors)
	case row.Leaks > 0:
		l.Excluded = fmt.Sprintf("%d leaks", row.Leaks)
	}
	if row == a.base {
		l.Delta = evalkit.Num(0)
		return l
	}
	d := compare(row, a.base, a.scored)
	l.Delta, l.Better, l.Worse = evalkit.Num(d.mean), d.better, d.worse
	if iv, promise, ok := a.interval(d, 0.95); ok {
		l.CI, l.Descriptive = &[2]float64{iv.Lo, iv.Hi}, !promise
	}
	l.P = evalkit.Num(a.p(d))
	l.Slices = a.losses(row)
	return l
}

// losses lists the slices on which a row is below the baseline.
func (a *analysis) losses(row *Row) []SliceLoss {
	var all []SliceLoss
	var ps []float64
	for _, name := range slices.Sorted(maps.Keys(a.slices)) {
		d := compare(row, a.base, a.slices[name])
		p := a.p(d)
		ps = append(ps, p)
		all = append(all, SliceLoss{Slice: name, N: len(d.diffs), Delta: d.mean, Better: d.better, Worse: d.worse, P: evalkit.Num(p)})
	}
	for i, p := range stats.Holm(ps) {
		all[i].PHolm = evalkit.Num(p)
	}
	out := slices.DeleteFunc(all, func(s SliceLoss) bool { return s.Delta >= 0 })
	slices.SortStableFunc(out, func(x, y SliceLoss) int { return cmp.Compare(x.Delta, y.Delta) })
	return out
}

// adjust corrects the p-values for the number of variants.
func (a *analysis) adjust() {
	lines := a.report.Variants
	var ps []float64
	for i := range lines {
		if lines[i].P.OK {
			ps = append(ps, lines[i].P.V)
		}
	}
	adjusted := stats.Holm(ps)
	for i := range lines {
		l := &lines[i]
		if !l.P.OK {
			continue
		}
		l.PHolm, adjusted = evalkit.Num(adjusted[0]), adjusted[1:]
		switch {
		case l.PHolm.V > a.o.Alpha:
			l.Sign = "~"
		case l.Delta.V > 0:
			l.Sign = "+"
		default:
			l.Sign = "-"
		}
	}
}

// pareto marks the variants that no other beats in measure and index size at once.
func (a *analysis) pareto() {
	lines := a.report.Variants
	for i := range lines {
		l := &lines[i]
		l.Pareto = !slices.ContainsFunc(lines, func(o Line) bool {
			return o.Mean.V >= l.Mean.V && o.Cost.IndexBytes <= l.Cost.IndexBytes &&
				(o.Mean.V > l.Mean.V || o.Cost.IndexBytes < l.Cost.IndexBytes)
		})
	}
}

// varied finds the settings in which variants differ.
func (a *analysis) varied() {
	lines := a.report.Variants
	keys := map[string]bool{}
	for i := range lines {
		for key := range lines[i].row.Settings {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		for i := range lines {
			if lines[i].row.Settings[key] != a.base.Settings[key] {
				a.report.Varied = append(a.report.Varied, key)
				break
			}
		}
	}
	for i := range lines {
		l := &lines[i]
		for _, key := range a.report.Varied {
			v, ok := l.row.Settings[key]
			if ok && v != a.base.Settings[key] {
				l.Changed++ // a setting that the variant has no use for is none
			}
			if ok {
				if l.Settings == nil {
					l.Settings = map[string]string{}
				}
				l.Settings[key] = v
			}
		}
	}
}

func (a *analysis) optimism() {
	lines := a.report.Variants
	if len(lines) < 2 {
		return
	}
	values := make([][]float64, len(lines))
	for i := range lines {
		values[i] = make([]float64, len(a.scored))
		for k, q := range a.scored {
			values[i][k] = lines[i].row.Values[q].V
		}
	}
	if o, ok := stats.WinnerOptimism(values, a.o.Resamples, a.o.Seed); ok {
		a.report.Optimism = &o
	}
}

func (a *analysis) warn() {
	r := a.report
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if r.Scored < 30 {
		warn("%d questions have a value: differences of less than about %.0f points cannot be told from chance", r.Scored, 100*smallest(r.Scored))
	}
	for _, l := range r.Variants {
		if l.Excluded != "" {
			warn("%s cannot be recommended: %s", l.Name, l.Excluded)
		}
		for _, s := range l.Slices {
			if l.Delta.V > 0 && s.PHolm.V <= r.Alpha {
				warn("%s is better on the whole and worse on slice %s: %+.3f over %d questions, p %.2g", l.Name, s.Slice, s.Delta, s.N, s.PHolm.V)
			}
		}
	}
}

// smallest is the smallest loss that n questions show four times out of five.
func smallest(n int) float64 {
	effect, ok := stats.MinimumDetectableEffect(n, 0, 0.05, 0.03, 0.8)
	if !ok {
		return 1
	}
	return effect
}

// Pair compares two rows as Analyse compares a variant with the baseline, for a confirmation on
// other questions.
func Pair(questions []Question, base, candidate Row, o Options) (*Confirmation, error) {
	o.Baseline = base.Name
	if base.Name == candidate.Name {
		return nil, fmt.Errorf("sweep: %q is compared with itself", base.Name)
	}
	a, err := newAnalysis(questions, []Row{base, candidate}, o)
	if err != nil {
		return nil, err
	}
	a.base = &base
	b, c := a.line(&base), a.line(&candidate)
	return &Confirmation{
		Variant: candidate.Name, Build: candidate.Build, N: len(a.scored), Mean: c.Mean, BaseMean: b.Mean,
		Delta: c.Delta, CI: c.CI, P: c.P, Better: c.Better, Worse: c.Worse,
	}, nil
}
