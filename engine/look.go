package engine

import (
	"context"
	"errors"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// RecordLook notes that holdout questions of a build were looked at: in the store's ledger and,
// for a set that was read from a file, in the one beside it. questions says that single results
// were shown, after which the holdout can no longer confirm anything. Looks at dev are not
// noted.
func (e *Engine) RecordLook(ctx context.Context, set *golden.Set, split, build, who string, questions bool) error {
	if split == "" || split == golden.Dev || set == nil {
		return nil
	}
	return e.look(ctx, refOf(set), set.Path, build, "", who, questions)
}

// LookAtRecord is RecordLook for whoever shows the questions of a stored run, whichever version of
// the set it asked. Without the set, or with another one, the store's ledger alone has the look.
func (e *Engine) LookAtRecord(ctx context.Context, set *golden.Set, rec *evalkit.Record, who string) error {
	ev := rec.Evaluation
	if ev.Split == "" || ev.Split == golden.Dev {
		return nil
	}
	path := ""
	if set != nil && set.Name == ev.Golden.Name {
		path = set.Path
	}
	return e.look(ctx, ev.Golden, path, ev.Build, rec.Digest, who, true)
}

func (e *Engine) look(ctx context.Context, set evalkit.GoldenRef, path, build, record, who string, questions bool) error {
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return err
	}
	return errors.Join(e.recordLook(set, path, build, record, who, questions), unlock())
}

func refOf(set *golden.Set) evalkit.GoldenRef {
	return evalkit.GoldenRef{Name: set.Name, Version: set.Version, Digest: set.Digest()}
}
