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
	unlock, err := e.lock(ctx, e.o.LockWait)
	if err != nil {
		return err
	}
	return errors.Join(e.recordLook(set, build, "", who, questions), unlock())
}

// LookAtRecord is RecordLook for whoever shows the questions of a stored run.
func (e *Engine) LookAtRecord(ctx context.Context, set *golden.Set, rec *evalkit.Record, who string) error {
	return e.RecordLook(ctx, set, rec.Evaluation.Split, rec.Evaluation.Build, who, true)
}
