package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/evalkit/stats"
)

// ComparisonSchema is the schema key of a Comparison.
const ComparisonSchema = "assay.comparison/v1"

// Side is one of the two systems of a comparison.
type Side struct {
	Name       string // for tables; "" takes the evaluation's build or run
	Evaluation *evalkit.Evaluation
	// Settings are all recorded settings as key-value pairs, such as chunk.max → 900.
	Settings map[string]string
	// Run, if given, adds scores to the ranked lists.
	Run *evalkit.Run
}

// CompareOptions of Compare; the zero value is valid.
type CompareOptions struct {
	CorpusCause string      // as in Input
	Golden      *golden.Set // for the questions' text; nil leaves it out
	Depth       int         // slots shown per list; 0 means the primary's cutoff plus 2, at least 5
	Measures    []string    // nil: all that both evaluations have
	Reference   *evalkit.Evaluation
	SelfTest    *SelfTest
	Measured    map[string]float64
	NoPromotion bool     // as in Input: A is not live, and reasons call it by its name
	Warnings    []string // of the caller, to be listed with the others
	// UnderTest is the setting that was meant to change; it does not count among the differences
	// that raise a warning.
	UnderTest []string
}

// Comparison is two systems side by side; b is the candidate.
type Comparison struct {
	Schema    string        `json:"schema"`
	A         string        `json:"a"`
	B         string        `json:"b"`
	Primary   string        `json:"primary"`
	Alpha     float64       `json:"alpha"`
	Verdict   *Verdict      `json:"verdict"`
	Measures  []MeasureDiff `json:"measures"`
	Settings  []SettingDiff `json:"settings"` // every recorded setting that differs
	Flips     []Flip        `json:"flips"`    // lost first, then gained, then graded changes by size
	Unchanged int           `json:"unchanged"`
	Warnings  []string      `json:"warnings"`
}

// MeasureDiff compares the means of one measure.
type MeasureDiff struct {
	Name   string        `json:"name"`
	A      evalkit.Value `json:"a"`
	B      evalkit.Value `json:"b"`
	Delta  evalkit.Value `json:"delta"`
	Lower  evalkit.Value `json:"lower"` // 90 %
	Upper  evalkit.Value `json:"upper"`
	Method string        `json:"method"`
	Test   string        `json:"test"`   // of P, with draws and seed where it is random
	P      evalkit.Value `json:"p"`      // two-sided, one question one vote
	PHolm  evalkit.Value `json:"p_holm"` // of the primary p itself, of the others adjusted over all others
	Wins   int           `json:"wins"`   // questions on which B is higher
	Ties   int           `json:"ties"`
	Losses int           `json:"losses"`
	N      int           `json:"n"`
	// Detectable says whether PHolm is at most alpha or LossShown; the text table prints ~ where
	// it is not.
	Detectable bool `json:"detectable"`
	// LossShown says that the verdict's one-sided test shows a loss; primary only.
	LossShown   bool `json:"loss_shown,omitempty"`
	Descriptive bool `json:"descriptive,omitempty"`
}

// SettingDiff is one setting that differs; "" stands for a setting that one side lacks.
type SettingDiff struct {
	Key string `json:"key"`
	A   string `json:"a"`
	B   string `json:"b"`
}

// Flip is one question whose primary value differs.
type Flip struct {
	Question string        `json:"question"`
	Text     string        `json:"text,omitempty"`
	Kind     string        `json:"kind"` // gained, lost, improved or worsened
	Critical bool          `json:"critical,omitempty"`
	A        evalkit.Value `json:"a"`
	B        evalkit.Value `json:"b"`
	// Tie is true when a relevant slot stands in a run of equal scores that crosses the cutoff in
	// one of the lists: another order of equal scores would undo the flip.
	Tie   bool   `json:"tie"`
	ListA []Slot `json:"list_a"`
	ListB []Slot `json:"list_b"`
}

// Slot is one position of a ranked list as shown beside the other.
type Slot struct {
	Rank    int            `json:"rank"`
	Chunk   corpus.ChunkID `json:"chunk"`
	Section string         `json:"section"` // doc > section
	Gold    bool           `json:"gold"`
	Tied    bool           `json:"tied,omitempty"` // same score as the slot above
	Score   *float64       `json:"score,omitempty"`
}

// The kinds of flips.
const (
	Gained   = "gained"
	Lost     = "lost"
	Improved = "improved"
	Worsened = "worsened"
)

// Compare puts a and b side by side under a policy and decides as if b were to replace a. Where
// the two cannot be compared the verdict is invalid and says why; measures and flips are then
// left out, because numbers from different exams invite being read. Every setting that differs is
// named, and more than the one under test is a warning.
func Compare(a, b Side, p *Policy, o CompareOptions) *Comparison {
	in := Input{Policy: p, Candidate: b.Evaluation, Live: a.Evaluation, Reference: o.Reference,
		CorpusCause: o.CorpusCause, SelfTest: o.SelfTest, Measured: o.Measured, NoSelfTest: o.SelfTest == nil, NoPromotion: o.NoPromotion}
	if o.NoPromotion {
		in.LiveName = a.name("A")
	}
	return CompareWith(a, b, p, Decide(in), o)
}

// CompareWith is Compare with a verdict that has been made already, by Decide from the same
// evaluations.
func CompareWith(a, b Side, p *Policy, v *Verdict, o CompareOptions) *Comparison {
	c := &Comparison{
		Schema: ComparisonSchema, A: a.name("A"), B: b.name("B"), Verdict: v,
		Measures: []MeasureDiff{}, Settings: []SettingDiff{}, Flips: []Flip{}, Warnings: append([]string{}, o.Warnings...),
	}
	c.settings(a, b, o)
	if p == nil || a.Evaluation == nil || b.Evaluation == nil {
		return c
	}
	policy := p.Resolved()
	c.Primary, c.Alpha = policy.Primary, policy.Alpha
	if len(incomparable(c.A, a.Evaluation, c.B, b.Evaluation, cmpCause(o.CorpusCause, v))) > 0 {
		return c
	}
	if a.Evaluation.Corpus != b.Evaluation.Corpus && a.Evaluation.Corpus != "" && b.Evaluation.Corpus != "" {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the corpus differs (%s): documents and build changed together", cmpCause(o.CorpusCause, v)))
	}
	c.measures(a, b, &policy, o)
	c.flips(a, b, &policy, o)
	return c
}

func cmpCause(cause string, v *Verdict) string {
	if cause == "" && v != nil {
		return v.CorpusCause
	}
	return cause
}

func (s *Side) name(otherwise string) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Evaluation == nil:
	case s.Evaluation.Build != "":
		return s.Evaluation.Build
	case s.Evaluation.Run != "":
		return s.Evaluation.Run
	}
	return otherwise
}

// settings lists what differs, sorted by key, and warns of more than the one under test.
func (c *Comparison) settings(a, b Side, o CompareOptions) {
	keys := map[string]bool{}
	for k := range a.Settings {
		keys[k] = true
	}
	for k := range b.Settings {
		keys[k] = true
	}
	var others []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a.Settings[k] != b.Settings[k] {
			c.Settings = append(c.Settings, SettingDiff{Key: k, A: a.Settings[k], B: b.Settings[k]})
			if !slices.Contains(o.UnderTest, k) {
				others = append(others, k)
			}
		}
	}
	allowed := 1 // the one under test, when nobody said which
	if len(o.UnderTest) > 0 {
		allowed = 0
	}
	if len(others) > allowed {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d settings differ (%s): the difference cannot be put down to one of them", len(c.Settings), list(others)))
	}
}

// measures compares all measures. The primary was declared before looking and stands alone; the
// others are read because they are there, so their p-values are adjusted together.
func (c *Comparison) measures(a, b Side, p *Policy, o CompareOptions) {
	names := o.Measures
	if names == nil {
		for name := range b.Evaluation.Measures {
			if a.Evaluation.Measures[name] != nil {
				names = append(names, name)
			}
		}
		slices.SortFunc(names, func(x, y string) int { return compareNames(c.Primary, x, y) })
	}
	var ps []float64
	var at []int
	for _, name := range names {
		d := measureDiff(name, a.Evaluation, b.Evaluation, p.Seed)
		switch {
		case !d.P.OK:
		case name == c.Primary:
			d.PHolm = d.P
			// The verdict asks one-sided whether something was lost; a loss it shows is not ~ here.
			d.LossShown = c.Verdict != nil && c.Verdict.AgainstLive != nil && c.Verdict.AgainstLive.LossShown
			d.Detectable = d.P.V <= c.Alpha || d.LossShown
		default:
			ps, at = append(ps, d.P.V), append(at, len(c.Measures))
		}
		c.Measures = append(c.Measures, d)
	}
	for i, adjusted := range stats.Holm(ps) {
		d := &c.Measures[at[i]]
		d.PHolm = evalkit.Num(adjusted)
		d.Detectable = adjusted <= c.Alpha
	}
}

// compareNames puts the primary first, then orders by family and cutoff.
func compareNames(primary, x, y string) int {
	if (x == primary) != (y == primary) {
		if x == primary {
			return -1
		}
		return 1
	}
	mx, _ := measure.Parse(x)
	my, _ := measure.Parse(y)
	if n := strings.Compare(string(mx.Family), string(my.Family)); n != 0 {
		return n
	}
	if mx.Cutoff != my.Cutoff {
		return mx.Cutoff - my.Cutoff
	}
	return strings.Compare(x, y)
}

func measureDiff(name string, a, b *evalkit.Evaluation, seed uint64) MeasureDiff {
	d := difference(&Policy{Primary: name, Seed: seed, Alpha: 0.05}, "", b, a)
	m := MeasureDiff{
		Name: name, A: d.BaseMean, B: d.Mean, Delta: d.Delta, Lower: d.Lower, Upper: d.Upper, Method: d.Method,
		Wins: len(d.Gained) + len(d.Improved), Losses: len(d.Lost) + len(d.Worsened), N: d.N, Descriptive: d.Descriptive,
	}
	m.Ties = m.N - m.Wins - m.Losses
	if m.N == 0 {
		return m
	}
	if binary(name) {
		m.P, m.Test = evalkit.Num(stats.McNemarTwoSided(m.Wins, m.Losses)), d.Test
		return m
	}
	other := byQuestion(a)
	var diffs []float64
	for i := range b.Questions {
		q := &b.Questions[i]
		if now, was := q.Measures[name], other[q.ID].Measures[name]; now.OK && was.OK {
			diffs = append(diffs, now.V-was.V)
		}
	}
	if r, ok := stats.SignFlip(diffs, stats.TwoSided, 0, seed); ok {
		m.P, m.Test = evalkit.Num(r.P), d.Test
	}
	return m
}

// flips lists the questions whose primary value differs.
func (c *Comparison) flips(a, b Side, p *Policy, o CompareOptions) {
	depth := o.Depth
	cutoff := cutoffOf(c.Primary)
	if depth <= 0 {
		depth = max(5, cutoff+2)
	}
	scoresA, scoresB := scores(a.Run), scores(b.Run)
	before := byQuestion(a.Evaluation)
	isBinary := binary(c.Primary)
	for i := range b.Evaluation.Questions {
		qb := &b.Evaluation.Questions[i]
		qa := before[qb.ID]
		now, was := qb.Measures[c.Primary], qa.Measures[c.Primary]
		if !now.OK || !was.OK {
			continue
		}
		d := now.V - was.V
		if d < 1e-12 && d > -1e-12 {
			c.Unchanged++
			continue
		}
		f := Flip{
			Question: qb.ID, Critical: qa.Critical || qb.Critical, A: was, B: now,
			Tie:   crosses(qa, cutoff) || crosses(qb, cutoff),
			ListA: slots(qa, depth, scoresA[qa.ID]), ListB: slots(qb, depth, scoresB[qb.ID]),
		}
		switch {
		case isBinary && d < 0:
			f.Kind = Lost
		case isBinary:
			f.Kind = Gained
		case d < 0:
			f.Kind = Worsened
		default:
			f.Kind = Improved
		}
		if o.Golden != nil {
			if q := o.Golden.Find(qb.ID); q != nil {
				f.Text = q.Question
			}
		}
		c.Flips = append(c.Flips, f)
	}
	slices.SortStableFunc(c.Flips, func(x, y Flip) int {
		dx, dy := x.B.V-x.A.V, y.B.V-y.A.V
		if (dx < 0) != (dy < 0) {
			if dx < 0 {
				return -1
			}
			return 1
		}
		if x.Critical != y.Critical {
			if x.Critical {
				return -1
			}
			return 1
		}
		if dx < 0 {
			dx, dy = -dx, -dy
		}
		switch { // the largest change first; ties stay in golden order
		case dx > dy+1e-12:
			return -1
		case dy > dx+1e-12:
			return 1
		}
		return 0
	})
}

// crosses reports whether a relevant slot of the list stands in a run of equal scores that spans
// the cutoff.
func crosses(q *evalkit.QuestionResult, cutoff int) bool {
	if cutoff <= 0 || !slices.Contains(q.TieAt, cutoff+1) {
		return false
	}
	first, last := cutoff, cutoff+1
	for slices.Contains(q.TieAt, first) {
		first--
	}
	for slices.Contains(q.TieAt, last+1) {
		last++
	}
	return slices.ContainsFunc(q.Evidence.Relevant, func(r int) bool { return first <= r && r <= last })
}

// slots returns the top of a question's list.
func slots(q *evalkit.QuestionResult, depth int, scores []float64) []Slot {
	out := []Slot{}
	for i, chunk := range q.Hits[:min(depth, len(q.Hits))] {
		s := Slot{Rank: i + 1, Chunk: chunk,
			Gold: slices.Contains(q.Evidence.Relevant, i+1), Tied: slices.Contains(q.TieAt, i+1)}
		if i < len(q.Sections) {
			s.Section = q.Sections[i]
		}
		if i < len(scores) {
			s.Score = &scores[i]
		}
		out = append(out, s)
	}
	return out
}

// scores returns the scores of a run's lists by question.
func scores(r *evalkit.Run) map[string][]float64 {
	m := map[string][]float64{}
	if r == nil {
		return m
	}
	for i := range r.Results {
		var s []float64
		for _, h := range r.Results[i].Hits {
			s = append(s, h.Score)
		}
		m[r.Results[i].Question] = s
	}
	return m
}
