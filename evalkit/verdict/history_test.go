package verdict

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/stats"
)

// TestHistory simulates a team's history: 200 rebuilds that change nothing on the whole and 200
// builds that truly lose ten points, each decided from its own questions. The rates seen must
// agree with those that Chances, and so the policy linter, predicts. Run it with -v to see them;
// docs/verdict.md quotes the output.
func TestHistory(t *testing.T) {
	const builds = 200
	for _, row := range []struct {
		n      int
		margin float64
		share  float64 // of questions that flip although nothing changed
	}{
		{27, .10, .05},
		{100, .10, .08},
		{200, .05, .05},
		{300, .05, .08},
	} {
		policy := &Policy{Primary: "hit@3", Margin: ptr(row.margin), Floor: map[string]float64{"hit@3": .1}}
		for _, kind := range []struct {
			name       string
			gain, loss float64
		}{
			{"nothing changed", row.share / 2, row.share / 2},
			{"a true loss of 10 points", row.share / 2, row.share/2 + .10},
		} {
			t.Run(fmt.Sprintf("n=%d M=%.2f %s", row.n, row.margin, kind.name), func(t *testing.T) {
				r := rand.New(rand.NewPCG(20, uint64(row.n)))
				counts := map[Outcome]int{}
				for range builds {
					cand, live := rebuilt(r, row.n, kind.gain, kind.loss)
					counts[Decide(Input{Policy: policy, Candidate: cand, Live: live, SelfTest: sure()}).Verdict]++
				}
				accept, reject := policy.Chances(row.n, kind.gain, kind.loss)
				for _, x := range []struct {
					outcome Outcome
					want    float64
				}{{Accept, accept}, {Reject, reject}, {Inconclusive, 1 - accept - reject}} {
					got := float64(counts[x.outcome]) / builds
					t.Logf("%-12s observed %5.3f  predicted %5.3f", x.outcome, got, x.want)
					// The exact interval around the observed rate, at 1 % over all 24 comparisons.
					if iv, _ := stats.ClopperPearson(counts[x.outcome], builds, 1-.01/24); !iv.Contains(x.want) {
						t.Errorf("%s: predicted %.4f is outside %.4f to %.4f", x.outcome, x.want, iv.Lo, iv.Hi)
					}
				}
				if counts[Invalid] > 0 {
					t.Errorf("%d invalid verdicts", counts[Invalid])
				}
			})
		}
	}
}

// rebuilt returns a live build and a candidate whose questions are gained and lost at these rates.
func rebuilt(r *rand.Rand, n int, gain, loss float64) (cand, live *evalkit.Evaluation) {
	now, was := make([]bool, n), make([]bool, n)
	for i := range n {
		switch u := r.Float64(); {
		case u < gain:
			now[i] = true
		case u < gain+loss:
			was[i] = true
		default:
			hit := r.Float64() < .8
			now[i], was[i] = hit, hit
		}
	}
	return evaluation("cand", n, func(i int) bool { return now[i] }), evaluation("live", n, func(i int) bool { return was[i] })
}
