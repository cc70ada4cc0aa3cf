package trec

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/evalkit/measure"
	"github.com/seed792a4543/assay/internal/collections"
)

// unsupported are the measures of trec_eval that score does not have, by the part of the name
// before a parameter.
var unsupported = []string{
	"runid", "relstring", "infAP", "gm_bpref", "Rprec_mult", "utility", "binG", "G", "ndcg_rel", "Rndcg", "relative_P",
	"set_relative_P", "rbp_resid", "ndcg_1=3,2=9,4=4.5", "11pt_avg_.25,.5,.75",
}

func isUnsupported(name string) bool {
	for _, u := range unsupported {
		if name == u || strings.HasPrefix(name, u+"_") && strings.IndexAny(name[len(u)+1:], "0123456789-") == 0 {
			return true
		}
	}
	return false
}

// TestTrecEval compares every measure that both have with trec_eval's own expected output, to
// all digits printed, for every topic and the mean.
func TestTrecEval(t *testing.T) {
	dir := collections.Path(t, "data", "trec_eval", "test")
	for _, tt := range []struct {
		qrels, run, want string
		o                ScoreOptions
		skip             string // a measure not compared
		compared         int    // lines of the expected output that must have been compared
	}{
		{"qrels.test", "results.test", "out.test", ScoreOptions{}, "", 29},
		{"qrels.test.with-comments", "results.test", "out.test", ScoreOptions{}, "", 29},
		{"qrels.comment.test", "results.comment.test", "out.comment.test", ScoreOptions{}, "", 29},
		{"qrels.test", "results.test", "out.test.a", ScoreOptions{}, "", 70},
		{"qrels.test", "results.test", "out.test.aq", ScoreOptions{}, "", 274},
		{"qrels.test", "results.trunc", "out.test.aqc", ScoreOptions{}, "", 274},
		{"qrels.test", "results.trunc", "out.test.aqcM", ScoreOptions{Depth: 100}, "", 274},
		// trec_eval's rbp keeps its own gains under -l and scales them by an unset variable.
		{"qrels.rel_level", "results.test", "out.test.aql", ScoreOptions{Rel: 2}, "rbp", 270},
		{"qrels.test", "results.test", "out.test.meas_params", ScoreOptions{}, "", 64},
	} {
		t.Run(tt.want+" "+tt.qrels, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, tt.want))
			if err != nil {
				t.Fatal(err)
			}
			type line struct{ name, topic, value string }
			var lines []line
			var measures []measure.Measure
			for l := range strings.Lines(string(data)) {
				f := strings.Fields(l)
				if len(f) != 3 || isUnsupported(f[0]) || f[0] == tt.skip {
					continue
				}
				m, err := measure.Parse(f[0])
				if err != nil {
					t.Fatalf("%q: %v", strings.TrimSpace(l), err)
				}
				if got := m.TREC(); got != f[0] {
					t.Errorf("%s prints as %s", f[0], got)
				}
				if !slices.Contains(measures, m) {
					measures = append(measures, m)
				}
				lines = append(lines, line{f[0], f[1], f[2]})
			}
			s, err := ScoreFiles(filepath.Join(dir, tt.qrels), filepath.Join(dir, tt.run), measures, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			got := map[[2]string]string{}
			for k, m := range measures {
				got[[2]string{m.TREC(), "all"}] = FormatValue(s.Measures[k], s.Means[k].Mean)
				for _, topic := range s.Topics {
					v := FormatValue(s.Measures[k], topic.Values[k])
					if m.Family == measure.GMAP {
						v = strconv.FormatFloat(math.Exp(topic.Values[k].V), 'f', 4, 64)
					}
					got[[2]string{m.TREC(), topic.Topic}] = v
				}
			}
			for _, l := range lines {
				if g := got[[2]string{l.name, l.topic}]; g != l.value {
					t.Errorf("%s %s = %s, trec_eval prints %s", l.name, l.topic, g, l.value)
				}
			}
			if len(lines) != tt.compared {
				t.Errorf("compared %d lines, want %d", len(lines), tt.compared)
			}
		})
	}
}
