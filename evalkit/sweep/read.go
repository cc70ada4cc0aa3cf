package sweep

import (
	"fmt"
	"slices"
)

// Validate reports whether a report that was read from a file can be shown: that it is of this
// schema, has variants, and a value in its matrix for each of its variants and questions.
func (r *Report) Validate() error {
	switch {
	case r.Schema != Schema:
		return fmt.Errorf("sweep: schema is %q, this version reads %q", r.Schema, Schema)
	case len(r.Variants) == 0:
		return fmt.Errorf("sweep: the report has no variants")
	case len(r.Matrix) != len(r.Variants):
		return fmt.Errorf("sweep: the report has %d variants and values of %d", len(r.Variants), len(r.Matrix))
	case r.Optimism != nil && (r.Optimism.Winner < 0 || r.Optimism.Winner >= len(r.Variants)):
		return fmt.Errorf("sweep: the winner is variant %d of %d", r.Optimism.Winner, len(r.Variants))
	case !slices.ContainsFunc(r.Variants, func(l Line) bool { return l.Name == r.Baseline }):
		return fmt.Errorf("sweep: the report has no variant %q, its baseline", r.Baseline)
	}
	for i, m := range r.Matrix {
		if m.Variant != r.Variants[i].Name || len(m.Values) != len(r.Questions) {
			return fmt.Errorf("sweep: values of %q: %d for %d questions of %q", m.Variant, len(m.Values), len(r.Questions), r.Variants[i].Name)
		}
		if c := r.Variants[i].Curve; len(c) != len(r.Variants[0].Curve) {
			return fmt.Errorf("sweep: hit@k of %q is known for %d cutoffs, of %q for %d", r.Variants[i].Name, len(c), r.Variants[0].Name, len(r.Variants[0].Curve))
		}
	}
	return nil
}
