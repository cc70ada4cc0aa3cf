// Package collections finds the public collections that some tests and studies read. They are
// no part of the project: where they are missing, the test is skipped.
package collections

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns a file or folder below the collections' root: the folder that the environment
// variable ASSAY_SHARED names, else a folder "shared" beside the repository. Without it t is
// skipped.
func Path(t testing.TB, parts ...string) string {
	t.Helper()
	root := os.Getenv("ASSAY_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				root = filepath.Join(filepath.Dir(dir), "shared")
				break
			}
		}
	}
	path := filepath.Join(append([]string{root}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no public collections here (set ASSAY_SHARED to their folder): %v", err)
	}
	return path
}
