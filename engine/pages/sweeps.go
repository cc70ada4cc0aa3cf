package pages

import (
	"context"
	"errors"
	"html/template"
	"net/http"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/evalkit/sweep"
)

// A sweep compares totals over all documents and keeps no hits by which a question could be told to
// be somebody's, so it is shown as a whole or not at all: to callers that may see every document it
// was about.
func seesSweep(c serve.Caller, s *engine.SavedSweep) bool {
	return c.All || s.Err == nil && s.Visible(c.As)
}

// sweepChart is a chart with its picture.
type sweepChart struct {
	sweep.Chart
	Picture template.HTML
}

// sweepData is a sweep as it is shown; the pages and the report share it.
type sweepData struct {
	*engine.SavedSweep
	Says                 []string
	Table, Slices, Clock [][]string
	Charts               []sweepChart
}

func newSweepData(s *engine.SavedSweep) *sweepData {
	d := &sweepData{SavedSweep: s, Says: s.Report.Sentences(), Table: s.Report.Table()}
	if rows := s.Report.SliceTable(true); len(rows) > 1 {
		d.Slices = rows
	}
	if len(s.Times) > 0 {
		d.Clock = sweep.TimesTable(s.Times)
	}
	for _, c := range sweep.Charts(s.Report) {
		d.Charts = append(d.Charts, sweepChart{c, template.HTML(c.SVG)}) // the pictures escape what they show
	}
	return d
}

type sweepsPage struct {
	base
	Sweeps []engine.SavedSweep
}

func (s *site) sweeps(w http.ResponseWriter, r *http.Request) error {
	p := sweepsPage{base: s.base(r, "Sweeps")}
	all, err := s.e.SavedSweeps()
	if err != nil {
		return err
	}
	for i := range all {
		if seesSweep(p.Caller, &all[i]) {
			p.Sweeps = append(p.Sweeps, all[i])
		}
	}
	return s.render(w, http.StatusOK, "sweeps", p)
}

type sweepPage struct {
	base
	*sweepData
}

func (s *site) sweep(w http.ResponseWriter, r *http.Request) error {
	missing := notFound("There is no such sweep, or you may not see it.")
	id := r.URL.Query().Get("id")
	if !isID(id) {
		return missing
	}
	saved, err := s.e.SavedSweep(id)
	c := serve.CallerFrom(r.Context())
	switch {
	case saved == nil && errors.Is(err, engine.ErrNoSweep), saved != nil && !seesSweep(c, saved):
		return missing
	case err != nil:
		return err
	}
	if err := s.lookAtConfirmation(r.Context(), saved, c.Name); err != nil {
		return err
	}
	return s.render(w, http.StatusOK, "sweep", sweepPage{s.base(r, "Sweep "+saved.ID), newSweepData(saved)})
}

// lookAtConfirmation records that a person is shown totals of the holdout, once for each person and
// sweep while the server runs.
func (s *site) lookAtConfirmation(ctx context.Context, saved *engine.SavedSweep, who string) error {
	if saved.Report.Confirmed == nil {
		return nil
	}
	return s.once(who+" sweep "+saved.ID, func() error {
		return s.e.LookAtSweep(ctx, s.set(), saved, who)
	})
}

// sweepOf is the newest sweep that measured a build and that the caller may see, nil if there is
// none.
func sweepOf(e *engine.Engine, c serve.Caller, build string) (*engine.SavedSweep, error) {
	all, err := e.SavedSweeps()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Measured(build) && seesSweep(c, &all[i]) {
			return &all[i], nil
		}
	}
	return nil, nil
}
