package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed792a4543/assay/index"
)

// verifyCounts asks every node for the number of objects. Nodes that do not answer are left out
// as long as fewer of them are down than there are copies.
func (c *Cluster) verifyCounts(ctx context.Context, m *meta) error {
	var wrong []string
	var silent []error
	for _, n := range c.counts(ctx, c.Collection(m.Build)) {
		switch {
		case n.err != nil:
			silent = append(silent, fmt.Errorf("node %s: %w", n.node, n.err))
		case n.n != m.Chunks:
			wrong = append(wrong, fmt.Sprintf("%d at node %s", n.n, n.node))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return &index.CorruptError{
			File:   c.Collection(m.Build),
			Reason: fmt.Sprintf("the cluster counts %s, the build has %d chunks", strings.Join(wrong, ", "), m.Chunks),
			Repair: "wait for its copies to agree, or run `assay-remote build` again",
		}
	}
	if len(silent) > 0 && (len(silent) >= m.Replication || len(silent) == len(c.clients)) {
		return fmt.Errorf("count %s: %w: %w", c.Collection(m.Build), ErrUnavailable, errors.Join(silent...))
	}
	return nil
}

// countsWait bounds how long copies may take to agree after the last write.
const countsWait = 2 * time.Minute

// awaitCounts waits until the counts are right.
func (c *Cluster) awaitCounts(ctx context.Context, m *meta) error {
	until := time.Now().Add(countsWait)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := c.verifyCounts(ctx, m)
		if err == nil || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		if perr := pause(ctx, wait); perr != nil {
			return errors.Join(err, perr)
		}
	}
}
