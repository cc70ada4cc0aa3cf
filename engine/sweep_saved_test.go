package engine_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/sweep"
	"github.com/seed792a4543/assay/index"
)

// TestSavedSweep keeps the report of a sweep, reads it back, and damages it.
func TestSavedSweep(t *testing.T) {
	e := store(t)
	if all, err := e.SavedSweeps(); err != nil || len(all) != 0 {
		t.Fatalf("sweeps of an empty store: %v, %v", all, err)
	}
	lexical := engine.Settings{}
	lexical.Hybrid.Mode = "lexical"
	variants := []engine.Variant{{Name: "hybrid"}, {Name: "lexical", Settings: lexical}}
	out, err := e.SweepReport(t.Context(), shopSource(), withHoldout(t), variants, engine.SweepOptions{}, sweep.Options{Resamples: 200, Draws: 200})
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.SaveSweep(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.SavedSweep(id[:6])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sweep.Charts(out.Report), sweep.Charts(got.Report)); diff != "" {
		t.Errorf("charts of what was kept (-made +read):\n%s", diff)
	}
	if diff := cmp.Diff(out.Times, got.Times); diff != "" {
		t.Errorf("times:\n%s", diff)
	}
	if !got.Measured(out.Report.Variants[0].Build) || got.Measured("ffffffffffff") {
		t.Error("the builds that were measured are not told from others")
	}
	out.Report.Confirmed = &sweep.Confirmation{Variant: "lexical", Looks: 1}
	if again, err := e.SaveSweep(t.Context(), out); err != nil || again != id {
		t.Errorf("with its confirmation it is sweep %s, before %s: %v", again, id, err)
	}
	if got, err := e.SavedSweep(id); err != nil || got.Report.Confirmed == nil {
		t.Errorf("the confirmation is lost: %v", err)
	}
	if _, err := e.SavedSweep("ffffffffffff"); !errors.Is(err, engine.ErrNoSweep) {
		t.Errorf("unknown sweep: %v", err)
	}

	path := filepath.Join(e.Dir(), "sweeps", id+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"cut off":       string(data[:len(data)/2]),
		"a number":      strings.Replace(string(data), `"n_scored": `, `"n_scored": 1`, 1),
		"other schema":  strings.Replace(string(data), "saved-sweep/v1", "saved-sweep/v9", 1),
		"another label": strings.Replace(string(data), `"acls": [`, `"acls": [["x"]`, 1),
		"empty":         "",
	} {
		if bad == string(data) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if err := os.WriteFile(path, []byte(bad), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := e.SavedSweep(id); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		all, err := e.SavedSweeps()
		if err != nil || len(all) != 1 || all[0].Err == nil {
			t.Errorf("%s: listed as %+v, %v", name, all, err)
		}
		faults, _, err := e.Check(t.Context())
		if err != nil || len(faults) != 1 {
			t.Errorf("%s: check finds %v, %v", name, faults, err)
		}
	}
}

// TestSavedSweepLabels: a sweep over documents with labels is for those who hold all of them.
func TestSavedSweepLabels(t *testing.T) {
	e := store(t)
	docs := maps.Clone(shop)
	docs["plans.md"] = &fstest.MapFile{Data: []byte("---\nacl: [staff, board]\n---\n# Plans\nSecret plans.\n")}
	docs["rota.md"] = &fstest.MapFile{Data: []byte("---\nacl: [staff]\n---\n# Rota\nWho works when.\n")}
	out, err := e.SweepReport(t.Context(), corpus.FS("shop", docs, corpus.Options{}), withHoldout(t), []engine.Variant{{Name: "a"}}, engine.SweepOptions{}, sweep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.SaveSweep(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.SavedSweep(id)
	if err != nil {
		t.Fatal(err)
	}
	for labels, want := range map[string]bool{"": false, "board": false, "staff": false, "staff board": true, "a board staff z": true} {
		if got := s.Visible(strings.Fields(labels)); got != want {
			t.Errorf("labels %q: visible %v, want %v", labels, got, want)
		}
	}
}
