package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEvenly(t *testing.T) {
	texts := []string{"a", "b", "c", "d", "e", "f", "g"}
	for most, want := range map[int][]string{
		1: {"a"}, 3: {"a", "c", "e"}, 6: {"a", "b", "c", "d", "e", "f"}, 7: texts, 9: texts,
	} {
		if diff := cmp.Diff(want, evenly(texts, most)); diff != "" {
			t.Errorf("evenly(7 texts, %d) (-want +got):\n%s", most, diff)
		}
	}
}
