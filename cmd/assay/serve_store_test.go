package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// A server without a store starts, and says what is missing and how to make it.
func TestServeWithoutStore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it ends as soon as it serves
	t.Chdir(t.TempDir())
	var stdout, stderr bytes.Buffer
	run(ctx, []string{"--store", filepath.Join(t.TempDir(), "none"), "serve", "--addr", "127.0.0.1:0"}, strings.NewReader(""), &stdout, &stderr)
	if got := stderr.String(); !strings.Contains(got, "warning: there is no store") || !strings.Contains(got, "make one with `assay") {
		t.Errorf("serve without a store says %q, want a warning and how to make one", got)
	}
}
