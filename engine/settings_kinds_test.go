package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/engine"
)

// What is written must be of the kind that the setting has: no number is cut, none is read out of
// text, and no slip stands for a default.
func TestKindsOfSettings(t *testing.T) {
	for _, tt := range []struct{ name, yaml, want string }{
		{"CH-05 size", "chunk:\n  kind: fixed\n  size: 0\n", "assay.yaml:3: chunk.size is 0: use 1 or more"},
		{"CH-05 max", "chunk: {max: 0}\n", "assay.yaml:1: chunk.max is 0: use 1 or more"},
		{"CH-05 level", "chunk: {level: 0}\n", "chunk.level is 0"},
		{"CH-05 depth", "golden: g.yaml\nhybrid: {depth: 0}\n", "assay.yaml:2: hybrid.depth is 0"},
		{"CH-05 rrf", "hybrid: {fusion: rrf, k: 0}\n", "hybrid.k is 0"},
		{"fraction", "chunk: {max: 9.5}\n", "chunk.max is 9.5: use a whole number"},
		{"fraction of depth", "hybrid: {depth: 100.7}\n", "hybrid.depth is 100.7: use a whole number"},
		{"fraction of overlap", "chunk: {kind: fixed, size: 10, overlap: 0.9}\n", "chunk.overlap is 0.9: use a whole number"},
		{"quoted number", "chunk: {max: \"900\"}\n", `chunk.max is "900": use a whole number, without quotes`},
		{"quoted share", "hybrid: {dense: '0.3'}\n", "hybrid.dense is '0.3': use a number, without quotes"},
		{"word for a number", "chunk: {max: abc}\n", "chunk.max is abc: use a whole number"},
		{"word for a switch", "lexical: {fold: maybe}\n", "assay.yaml:1: lexical.fold is maybe: use true or false"},
		{"word for a share", "lexical: {b: abc}\n", "lexical.b is abc: use a number"},
		{"no list", "corpus: {include: \"**/*.md\"}\n", `corpus.include is "**/*.md": write a list`},
		{"null", "chunk: {max: ~}\n", "chunk.max is null: write a value"},
		{"null in a list", "corpus: {exclude: [a, ~]}\n", "corpus.exclude[1] is null: write a value"},
		{"no section", "chunk: 5\n", "assay.yaml:1: chunk is 5: write its settings"},
		{"anchor", "chunk: &c {max: 9}\n", "anchors and aliases are not read"},
		{"alias", "chunk: {max: &m 9}\nhybrid: {depth: *m}\n", "anchors and aliases are not read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := engine.ParseSettings("assay.yaml", []byte(tt.yaml))
			if !errors.Is(err, engine.ErrInput) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
	for _, fine := range []string{
		"chunk:\n# all left to the defaults\nhybrid: {dense: 0, depth: 5}\n", "hybrid: {dense: 1}\n", "chunk: {kind: fixed, size: 10, overlap: 0}\n",
		"embed: {kind: openai, url: http://localhost:1, model: m, timeout: 30s}\n", "corpus: {include: [\"**/*.md\"], charset: {\"*.txt\": latin1}}\n",
		"lexical: {k1: 2, b: .5, fold: false}\n", "answer: {temperature: 0}\n", "# nothing but this\n",
	} {
		if _, err := engine.ParseSettings("assay.yaml", []byte(fine)); err != nil {
			t.Errorf("%q: %v", fine, err)
		}
	}
}
