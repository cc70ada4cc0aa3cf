// Package gate puts the store's evaluation in front of a cluster: builds are made and judged by
// package engine, the index that answers the golden questions is the cluster's, and the alias of
// the live build moves only with a promotion or a rollback of the store.
package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/lexical"
	"github.com/seed792a4543/assay/index/remote"
)

// Source reads what a cluster holds of a build. It may be used until c is closed.
func Source(c *engine.Content) (remote.Source, error) {
	m := c.Manifest()
	var stats lexical.Stats
	if err := json.Unmarshal(m.Lexical, &stats); err != nil {
		return remote.Source{}, &index.CorruptError{File: index.ManifestName, Reason: "lexical statistics: " + err.Error()}
	}
	a, err := lexical.NewAnalyzer(stats.Settings)
	if err != nil {
		return remote.Source{}, err
	}
	s := remote.Source{Build: c.Build(), Manifest: m.Digest, Len: c.Len(), ACL: c.ACL, Lexical: stats.Settings}
	if m.Embedder != nil {
		s.Dimension = m.Embedder.Dimension
	}
	s.Chunk = func(ord uint32) (remote.Chunk, error) {
		x := c.Chunk(ord)
		return remote.Chunk{ID: string(x.ID), Terms: remote.WeightedTerms(a, x.Text, stats.Settings), Vector: x.Vector, ACL: x.ACL}, nil
	}
	return s, nil
}

// External lets builds answer from the cluster, for engine.Options.External. Opening a build that
// the cluster does not hold is remote.ErrNoCollection. ctx ends what opening asks of the cluster.
func External(ctx context.Context, cluster *remote.Cluster) func(*engine.Content) (*engine.External, error) {
	return func(c *engine.Content) (*engine.External, error) {
		s, err := Source(c)
		if err != nil {
			return nil, err
		}
		x, err := cluster.Open(ctx, s)
		if err != nil {
			return nil, err
		}
		out := &engine.External{Text: x, Complete: x.Complete, Verify: x.Verify, Settings: x.Settings()}
		if s.Dimension > 0 {
			out.Vector = x
		}
		return out, nil
	}
}

// Gate is a store whose builds answer from a cluster.
type Gate struct {
	Engine  *engine.Engine // opened without its live build, so that one the cluster lacks does not stand in the way
	Cluster *remote.Cluster
}

// Open opens the store in dir in front of the cluster. External in o is replaced.
func Open(ctx context.Context, dir string, cluster *remote.Cluster, o engine.Options) (*Gate, error) {
	o.External = External(ctx, cluster)
	e, err := engine.OpenStore(dir, o)
	if err != nil {
		return nil, err
	}
	return &Gate{Engine: e, Cluster: cluster}, nil
}

// Close closes the store.
func (g *Gate) Close() error { return g.Engine.Close() }

// Build brings a build of the store to the cluster and returns when its counts are right. Nothing
// becomes live.
func (g *Gate) Build(ctx context.Context, build string) (string, *remote.BuildResult, error) {
	c, err := g.Engine.Content(build)
	if err != nil {
		return "", nil, err
	}
	s, err := Source(c)
	var res *remote.BuildResult
	if err == nil {
		res, err = g.Cluster.Build(ctx, s)
	}
	return c.Build(), res, errors.Join(err, c.Close())
}

// Validate asks the golden questions of the build on the cluster, and of the live one there, and
// decides as engine.ValidateWith does.
func (g *Gate) Validate(ctx context.Context, build string, set *golden.Set, policy *verdict.Policy, o engine.ValidateOptions) (*engine.Validation, error) {
	return g.Engine.ValidateWith(ctx, build, set, policy, o)
}

// Promote makes an accepted build live in the store and then on the cluster. The verdict must
// come from the cluster's answers; one on the build's own files is engine.ErrNotAccepted. After
// a crash between the two steps a second call completes the second. changed is false if both
// were done before.
func (g *Gate) Promote(ctx context.Context, build string, o engine.PromoteOptions) (changed bool, err error) {
	info, err := g.Engine.BuildInfo(build)
	if err != nil {
		return false, err
	}
	id := info.ID
	if err := g.Sound(ctx, id); err != nil {
		return false, err
	}
	live, err := g.Engine.LiveID()
	if err != nil {
		return false, err
	}
	there, err := g.Cluster.Live(ctx)
	if err != nil {
		return false, err
	}
	var v *verdict.Verdict
	// A build that is live in the store may be so by a verdict on its own files, which says nothing
	// of the cluster.
	if !o.Override && (live != id || there != id) {
		if v, err = g.accepted(id); err != nil {
			return false, err
		}
		if err := v.Check(id, v.GoldenDigest, v.PolicyDigest); err != nil {
			return false, fmt.Errorf("%w: %w", engine.ErrNotAccepted, err)
		}
	}
	if live != id && there != id && there != live && there != "" {
		return false, fmt.Errorf("%w: the cluster's alias names %s, the store's live build is %q: roll back to one of them first", remote.ErrConflict, there, live)
	}
	if changed, err = g.Engine.PromoteWith(ctx, id, v, o); err != nil {
		return false, err
	}
	return changed || there != id, g.Cluster.SetLive(ctx, id, there)
}

// accepted returns the newest verdict on a build if the cluster's answers were judged.
func (g *Gate) accepted(id string) (*verdict.Verdict, error) {
	v, rec, err := g.Engine.Verdict(id, "")
	if err != nil {
		return nil, err
	}
	if rec == nil || rec.Settings["external.engine"] != "weaviate" {
		return nil, fmt.Errorf("%w: the newest verdict on build %s is on its own files, not on the cluster: run `assay-remote eval %s`", engine.ErrNotAccepted, id, id)
	}
	return v, nil
}

// Sound returns an error for a build that the cluster does not hold whole.
func (g *Gate) Sound(ctx context.Context, id string) error {
	c, err := g.Engine.Content(id)
	if err != nil {
		return err
	}
	err = func() error {
		s, err := Source(c)
		if err != nil {
			return err
		}
		x, err := g.Cluster.Open(ctx, s)
		if err != nil {
			return err
		}
		return x.Verify(ctx)
	}()
	return errors.Join(err, c.Close())
}

// Rollback makes the build live again, in the store and on the cluster, that was live before, or
// the one named by to. One that the cluster does not hold whole is refused before anything moves.
func (g *Gate) Rollback(ctx context.Context, to string, r engine.Reason) (string, error) {
	there, err := g.Cluster.Live(ctx)
	if err != nil {
		return "", err
	}
	if to == "" {
		if to, err = g.Engine.PreviousLive(); err != nil {
			return "", err
		}
	}
	if to != "" { // else the store says that there is none
		info, err := g.Engine.BuildInfo(to)
		if err != nil {
			return "", err
		}
		if err := g.Sound(ctx, info.ID); err != nil {
			return "", fmt.Errorf("rollback to %s: nothing was changed: %w", info.ID, err)
		}
	}
	id, err := g.Engine.Rollback(ctx, to, r)
	if err != nil {
		return "", err
	}
	return id, g.Cluster.SetLive(ctx, id, there)
}
