package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index/lexical"
)

func TestLearned(t *testing.T) {
	chunks := chunkTexts{7, func(i int) lexical.Doc { return lexical.Doc{Body: string(rune('a' + i))} }}
	for _, tt := range []struct {
		fit  []bool
		most int
		want []string
	}{
		{nil, 1, []string{"a"}},
		{nil, 3, []string{"a", "c", "e"}},
		{nil, 6, []string{"a", "b", "c", "d", "e", "f"}},
		{nil, 7, []string{"a", "b", "c", "d", "e", "f", "g"}},
		{nil, 9, []string{"a", "b", "c", "d", "e", "f", "g"}},
		{[]bool{false, true, true, false, true, false, true}, 9, []string{"b", "c", "e", "g"}},
		{[]bool{false, true, true, false, true, false, true}, 2, []string{"b", "e"}},
		{make([]bool, 7), 2, []string{}},
	} {
		if diff := cmp.Diff(tt.want, learned(chunks, tt.fit, tt.most)); diff != "" {
			t.Errorf("at most %d of %v (-want +got):\n%s", tt.most, tt.fit, diff)
		}
	}
}
