package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/evalkit/stats"
)

// Correct returns a copy of the set with all label corrections applied and its version raised by
// one, and one line per change. Without any change the copy keeps its version. A correction that
// the set already contains is named and skipped; a question or place that does not exist, or a
// removal that leaves an answerable question without gold, is an error.
func Correct(set *golden.Set, decisions []Decision) (corrected *golden.Set, changes []string, err error) {
	c := *set
	c.Questions = slices.Clone(set.Questions)
	changed := false
	note := func(format string, args ...any) { changes = append(changes, fmt.Sprintf(format, args...)) }
	for i := range decisions {
		d := &decisions[i]
		if d.Decision != LabelWrong {
			continue
		}
		q := c.Find(d.Question)
		if q == nil {
			return nil, nil, fmt.Errorf("review of %s: no such question in golden set %s", d.Question, set.Name)
		}
		if d.Retire {
			if q.State != golden.Retired {
				q.State, changed = golden.Retired, true
				note("%s: retired (%s: %s)", q.ID, d.Author, d.Reason)
			}
			continue
		}
		// The questions were copied one level deep only; gold is copied before it changes.
		q.Gold = slices.Clone(q.Gold)
		for g := range q.Gold {
			q.Gold[g] = slices.Clone(q.Gold[g])
		}
		for _, p := range d.Add { // before removals, so that a member can be exchanged
			done, err := add(q, p)
			if err != nil {
				return nil, nil, fmt.Errorf("review of %s: %w", q.ID, err)
			}
			if done {
				changed = true
				note("%s: gold + %s (%s: %s)", q.ID, p.member(), d.Author, d.Reason)
			} else {
				note("%s: %s is in the set already", q.ID, p.member())
			}
		}
		for _, p := range d.Remove {
			if remove(q, p) {
				changed = true
				note("%s: gold − %s (%s: %s)", q.ID, p.member(), d.Author, d.Reason)
			} else {
				note("%s: %s is not in the set any more", q.ID, p.member())
			}
		}
		if q.Answerable && len(q.Gold) == 0 {
			return nil, nil, fmt.Errorf("review of %s: nothing is left of its gold: add what is right, or retire the question", q.ID)
		}
	}
	if changed {
		c.Version++
	}
	return &c, changes, nil
}

// same reports whether a member stands at a place.
func same(m golden.Member, p Place) bool {
	if m.Doc != p.Doc || (m.Section == nil) != (p.Section == nil) {
		return false
	}
	return m.Section == nil || *m.Section == *p.Section
}

func add(q *golden.Question, p Place) (done bool, err error) {
	if !q.Answerable {
		return false, fmt.Errorf("it is labelled unanswerable; edit the golden file to make it answerable with gold %s", p.member())
	}
	for _, g := range q.Gold {
		if slices.ContainsFunc(g, func(m golden.Member) bool { return same(m, p) && m.Quote == p.Quote }) {
			return false, nil
		}
	}
	group := p.Group
	if group == 0 {
		if len(q.Gold) > 1 {
			return false, fmt.Errorf("it has %d gold entries; say with group which of them %s is an alternative of", len(q.Gold), p.member())
		}
		group = 1
	}
	switch {
	case group <= len(q.Gold):
		q.Gold[group-1] = append(q.Gold[group-1], p.member())
	case group == len(q.Gold)+1:
		q.Gold = append(q.Gold, golden.Group{p.member()})
	default:
		return false, fmt.Errorf("group %d: it has %d gold entries", group, len(q.Gold))
	}
	return true, nil
}

func remove(q *golden.Question, p Place) (done bool) {
	for g := range q.Gold {
		before := len(q.Gold[g])
		q.Gold[g] = slices.DeleteFunc(q.Gold[g], func(m golden.Member) bool {
			return same(m, p) && (p.Quote == "" || m.Quote == p.Quote)
		})
		done = done || len(q.Gold[g]) < before
	}
	q.Gold = slices.DeleteFunc(q.Gold, func(g golden.Group) bool { return len(g) == 0 })
	return done
}

// Override returns a copy of the evaluation with the metric corrections for its build applied:
// values of single questions, and the means, counts and intervals that contain them. Pooled
// values, which are made of counts a person cannot correct, become n/a. changes has one line per
// value.
func Override(e *evalkit.Evaluation, decisions []Decision) (corrected *evalkit.Evaluation, changes []string, err error) {
	c := *e
	c.Questions = slices.Clone(e.Questions)
	touched := map[string]bool{}
	for i := range decisions {
		d := &decisions[i]
		if d.Decision != MetricWrong || !slices.Contains(d.Builds, e.Build) {
			continue
		}
		m, err := measure.Parse(d.Measure)
		if err != nil {
			return nil, nil, fmt.Errorf("review of %s: %w", d.Question, err)
		}
		name := m.String()
		at := slices.IndexFunc(c.Questions, func(q evalkit.QuestionResult) bool { return q.ID == d.Question })
		if at < 0 {
			return nil, nil, fmt.Errorf("review of %s: the evaluation of build %s has no such question", d.Question, e.Build)
		}
		q := &c.Questions[at]
		was, ok := q.Measures[name]
		if !ok || !was.OK {
			return nil, nil, fmt.Errorf("review of %s: build %s has no value of %s to correct", d.Question, e.Build, name)
		}
		right := evalkit.Num(d.Values[e.Build])
		if was == right {
			continue
		}
		values := make(map[string]evalkit.Value, len(q.Measures))
		for k, v := range q.Measures {
			values[k] = v
		}
		values[name] = right
		q.Measures = values
		touched[name] = true
		changes = append(changes, fmt.Sprintf("%s: %s of build %s %s → %s (%s: %s)", q.ID, name, e.Build, was, right, d.Author, d.Reason))
	}
	if len(changes) == 0 {
		return &c, nil, nil
	}
	c.Warnings = append(slices.Clone(e.Warnings), fmt.Sprintf("%d values were corrected by review", len(changes)))
	c.Measures = summaries(e.Measures, c.Questions, touched, e.Seed)
	c.Slices = make(map[string]*evalkit.Slice, len(e.Slices))
	for tag, s := range e.Slices {
		copied := *s
		var in []evalkit.QuestionResult
		for i := range c.Questions {
			if slices.Contains(c.Questions[i].Slice, tag) {
				in = append(in, c.Questions[i])
			}
		}
		copied.Measures = summaries(s.Measures, in, touched, e.Seed)
		c.Slices[tag] = &copied
	}
	return &c, changes, nil
}

// summaries recomputes the means of touched measures.
func summaries(old map[string]*evalkit.Summary, questions []evalkit.QuestionResult, touched map[string]bool, seed uint64) map[string]*evalkit.Summary {
	out := make(map[string]*evalkit.Summary, len(old))
	for name, s := range old {
		if !touched[name] {
			out[name] = s
			continue
		}
		c := *s
		var values []float64
		var sum float64
		for i := range questions {
			if v := questions[i].Measures[name]; v.OK {
				values = append(values, v.V)
				sum += v.V
			}
		}
		c.Pooled, c.Num, c.Den = evalkit.Value{}, 0, 0
		c.Mean, c.CI, c.CIMethod = evalkit.Value{}, nil, ""
		if len(values) > 0 {
			c.Mean = evalkit.Num(sum / float64(len(values)))
			if m, _ := measure.Parse(name); m.Family.Binary() && (sum == float64(int(sum))) {
				if iv, ok := stats.Wilson(int(sum), len(values), 0.95); ok {
					c.CI, c.CIMethod = &[2]float64{iv.Lo, iv.Hi}, "wilson"
				}
			} else if b, ok := stats.BootstrapPercentile(values, 0, seed, 0.95); ok {
				c.CI, c.CIMethod = &[2]float64{b.Lo, b.Hi}, "bootstrap"
				if b.Uninformative {
					c.CIMethod = "bootstrap, constant sample"
				}
			}
		}
		out[name] = &c
	}
	return out
}

// Rescored is the outcome of Rescore.
type Rescored struct {
	Set     *golden.Set           // corrected
	Before  []*evalkit.Evaluation // as the runs were given
	After   []*evalkit.Evaluation
	Changes []string // one line per correction
	Counts  Counts
}

// Rescore evaluates every run before and after the file's corrections. Label corrections change
// the set, hence every run; metric corrections name a value for both builds they were made on.
func Rescore(set *golden.Set, docs *corpus.Collection, runs []*evalkit.Run, o evalkit.Options, f *File) (*Rescored, error) {
	r := &Rescored{Counts: f.Counts()}
	var err error
	if r.Set, r.Changes, err = Correct(set, f.Decisions); err != nil {
		return nil, err
	}
	for _, run := range runs {
		before, err := evalkit.Evaluate(set, docs, run, o)
		if err != nil {
			return nil, fmt.Errorf("run %s before review: %w", run.Tag, err)
		}
		after, err := evalkit.Evaluate(r.Set, docs, run, o)
		if err != nil {
			return nil, fmt.Errorf("run %s after review: %w", run.Tag, err)
		}
		after, changes, err := Override(after, f.Decisions)
		if err != nil {
			return nil, err
		}
		r.Before, r.After, r.Changes = append(r.Before, before), append(r.After, after), append(r.Changes, changes...)
	}
	return r, nil
}

// Table returns the scores of one measure before and after, one line per run, then the changes
// and the measure's own error rate.
func (r *Rescored) Table(name string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%-24s %-8s %-8s\n", name, "before", "after")
	for i := range r.Before {
		mean := func(e *evalkit.Evaluation) string {
			if m := e.Measures[name]; m != nil {
				return m.Mean.String()
			}
			return evalkit.Value{}.String()
		}
		label := r.Before[i].Build
		if label == "" {
			label = r.Before[i].Run
		}
		fmt.Fprintf(&s, "%-24s %-8s %-8s\n", label, mean(r.Before[i]), mean(r.After[i]))
	}
	for _, c := range r.Changes {
		fmt.Fprintf(&s, "  %s\n", c)
	}
	fmt.Fprintf(&s, "%d questions reviewed: %d labels and %d values overturned\n", r.Counts.Reviewed, r.Counts.LabelWrong, r.Counts.MetricWrong)
	return s.String()
}
