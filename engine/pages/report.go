package pages

import (
	"bytes"
	"fmt"
	"io"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// ReportOptions of Report. The zero value reports the newest run to a reader without labels.
type ReportOptions struct {
	Run    string          // "" is the newest run of the build
	Caller serve.Caller    // what the report may show
	Golden *golden.Set     // for the text of questions; nil leaves it out
	Policy *verdict.Policy // for the comparison; nil is the default policy
	// Sweep is the kept sweep to show; "" is the newest that measured the build, if there is one, and
	// NoSweep shows none.
	Sweep string
}

// NoSweep leaves sweeps out of a report.
const NoSweep = "none"

// reportQuestion is a question with the top of its list.
type reportQuestion struct {
	questionRow
	Top []verdict.Slot
}

// Report writes one HTML file about a run: verdict, measures, slices, the questions that changed
// since the build it was compared with, and every question. The file needs nothing else, makes
// no request and runs no script.
func Report(w io.Writer, e *engine.Engine, build string, o ReportOptions) error {
	s := &site{e: e, o: Options{Policy: o.Policy}}
	v, rec, err := e.Verdict(build, o.Run)
	if err != nil {
		return err
	}
	data := struct {
		Title, Version string
		Run            *runData
		Compare        *compareData
		Questions      []reportQuestion
		Sweep          *sweepData
	}{Title: "assay: build " + v.Build + ", " + string(v.Verdict), Version: engine.Version()}
	right := s.reading(o.Caller, v.Build)
	if right != nil {
		defer right.Close()
	}
	see := newSees(o.Caller, right, o.Golden)
	data.Run = newRunData(v, rec, see, o.Golden)
	live, err := e.LiveRecord(v.Build, rec.Run)
	if err != nil {
		return err
	}
	if live != nil {
		left := s.reading(o.Caller, live.Evaluation.Build)
		if left != nil {
			defer left.Close()
		}
		c := engine.CompareRecords(live, rec, o.Policy, o.Golden)
		c.Verdict = v
		data.Compare = newCompareData(c, live, rec, newSees(o.Caller, left, o.Golden), see, o.Golden)
		data.Compare.Verdict = nil // it stands at the top already
	}
	byID := records(rec)
	for _, q := range data.Run.Questions {
		row := reportQuestion{questionRow: q}
		for _, sl := range questionList(byID[q.ID], v.Build, right, nil)[:min(5, len(byID[q.ID].Ranked))] {
			row.Top = append(row.Top, sl.Slot)
		}
		data.Questions = append(data.Questions, row)
	}
	saved, err := ReportedSweep(e, v.Build, o)
	if err != nil {
		return err
	}
	if saved != nil {
		data.Sweep = newSweepData(saved)
	}
	var b bytes.Buffer
	if err := parsePages()["report"].ExecuteTemplate(&b, "report", data); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// ReportedSweep finds the sweep that Report shows for a build, nil for none. One that is named and
// that the report's readers may not see is an ErrNoSweep.
func ReportedSweep(e *engine.Engine, build string, o ReportOptions) (*engine.SavedSweep, error) {
	switch o.Sweep {
	case NoSweep:
		return nil, nil
	case "":
		return sweepOf(e, o.Caller, build)
	}
	saved, err := e.SavedSweep(o.Sweep)
	if err == nil && !seesSweep(o.Caller, saved) {
		err = fmt.Errorf("%w that these readers may see: %s is about documents with other labels", engine.ErrNoSweep, saved.ID)
	}
	return saved, err
}
