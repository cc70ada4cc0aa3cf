package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/sweep"
)

// Tuning is a fitted weight of the vector list.
type Tuning struct {
	Dense   float64 // to be written into the settings as hybrid.dense
	Default float64 // what it was compared with: the settings' weight
	Report  *sweep.Report
}

// TuneFusion fits hybrid.dense on the dev questions: the weights 0, 0.1 to 1 and the settings' own,
// which stays unless another is better by the paired test of a sweep, adjusted for the number of
// weights. The settings must fuse with weights. The result is a number to be written into the
// settings, so that a build made with them depends on nothing else.
func (e *Engine) TuneFusion(ctx context.Context, source corpus.Source, set *golden.Set, settings Settings, o SweepOptions) (*Tuning, error) {
	settings = settings.WithDefaults()
	if h := settings.Hybrid; h.Mode != "hybrid" || h.Fusion != "weighted" {
		return nil, badInput("tuning needs hybrid.mode hybrid and hybrid.fusion weighted, the settings have %s and %s", h.Mode, h.Fusion)
	}
	weights, variants := tuneGrid(settings)
	out, err := e.SweepReport(ctx, source, set, variants, o, sweep.Options{Margin: -1})
	if err != nil {
		return nil, err
	}
	t := &Tuning{Default: weights[0], Report: out.Report}
	i := slices.IndexFunc(variants, func(v Variant) bool { return v.Name == out.Report.Recommend.Variant })
	t.Dense = weights[i]
	return t, nil
}

// tuneGrid lists the weights to try, the settings' own first.
func tuneGrid(settings Settings) ([]float64, []Variant) {
	weights := []float64{*settings.Hybrid.Dense}
	for i := range 11 {
		if w := float64(i) / 10; w != weights[0] {
			weights = append(weights, w)
		}
	}
	variants := make([]Variant, len(weights))
	for i, w := range weights {
		s := settings
		s.Hybrid.Dense = &w
		variants[i] = Variant{Name: fmt.Sprintf("dense %g", w), Settings: s}
	}
	return weights, variants
}

// tune is TuneFusion on an index that is there already.
func (s *sweeper) tune(ctx context.Context, r *reader, v Variant) (float64, error) {
	v.Settings.Hybrid.Fusion = "weighted"
	weights, variants := tuneGrid(v.Settings)
	rows := make([]sweep.Row, len(variants))
	for i := range variants {
		variants[i].Rewrite = v.Rewrite
		ev, _, err := s.evaluate(ctx, r, variants[i])
		if err != nil {
			return 0, err
		}
		if rows[i], err = sweep.Reduce(ev, s.o.Primary, nil); err != nil {
			return 0, err
		}
		rows[i].Name, rows[i].Parts = variants[i].Name, parts(variants[i])
	}
	report, err := sweep.Analyse(sweep.Questions(s.set, golden.Dev), rows, sweep.Options{Primary: s.o.Primary, Seed: s.o.Seed, Margin: -1})
	if err != nil {
		return 0, err
	}
	for i := range rows {
		if rows[i].Name == report.Recommend.Variant {
			return weights[i], nil
		}
	}
	return weights[0], nil
}
