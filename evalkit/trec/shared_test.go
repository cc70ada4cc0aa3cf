package trec

import (
	"os"
	"path/filepath"
	"testing"
)

// shared returns the folder of public collections that some tests read: ASSAY_SHARED, else a
// folder "shared" beside the repository. Without it the test is skipped.
func shared(t testing.TB, parts ...string) string {
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
		t.Skipf("no shared data (set ASSAY_SHARED): %v", err)
	}
	return path
}
