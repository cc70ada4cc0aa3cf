package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/seed792a4543/assay/evalkit/stats"
)

// DefaultFlips is the share of questions assumed to flip between two builds of equal quality when
// no history says otherwise: one in twenty, half up and half down.
const DefaultFlips = 0.05

// LintReport says what a policy can decide with a given number of questions.
type LintReport struct {
	N         int     `json:"n"`
	Flips     float64 `json:"flips"` // share of questions assumed to flip
	Margin    float64 `json:"margin"`
	MinEffect float64 `json:"min_effect"`
	Alpha     float64 `json:"alpha"`
	// AcceptUnchanged, RejectUnchanged: probability of either verdict when nothing changed on the
	// whole, floors and critical questions left aside.
	AcceptUnchanged float64 `json:"accept_unchanged"`
	RejectUnchanged float64 `json:"reject_unchanged"`
	// AcceptAtMargin is the probability that a build which truly loses the margin is accepted.
	AcceptAtMargin float64 `json:"accept_at_margin"`
	// ProvableMargin is the smallest margin this many questions prove when nothing flips.
	ProvableMargin float64 `json:"provable_margin"`
	// LeastLosses is the number of losses without a gain that rejects.
	LeastLosses int `json:"least_losses"`
	// DetectableLoss is the smallest true loss rejected with 80 % probability, 0 if none is.
	DetectableLoss float64 `json:"detectable_loss"`
	// NeededQuestions gives an 80 % chance of accept when nothing changed; 0 if over a million.
	NeededQuestions int      `json:"needed_questions"`
	Warnings        []string `json:"warnings"`
}

// Lint returns what the policy can decide with n scored questions when a share flips of them
// flips between builds of equal quality; flips 0 means DefaultFlips. The arithmetic is for a
// primary that is 0 or 1 on every question; for graded ones it is a guide. n must be positive.
func (p *Policy) Lint(n int, flips float64) *LintReport {
	q := p.Resolved()
	if flips <= 0 || flips >= 1 {
		flips = DefaultFlips
	}
	r := &LintReport{N: n, Flips: flips, Alpha: q.Alpha, Warnings: []string{}}
	if n <= 0 {
		r.Warnings = append(r.Warnings, "no question is scored: nothing can be decided")
		return r
	}
	r.Margin, r.MinEffect = q.MarginFor(n), q.MinEffectFor(n)
	r.AcceptUnchanged, r.RejectUnchanged = q.Chances(n, flips/2, flips/2)
	loss := r.Margin
	if gain := math.Max(0, flips/2-loss/2); gain+gain+loss <= 1 {
		r.AcceptAtMargin, _ = q.Chances(n, gain, gain+loss)
	}
	r.ProvableMargin, _ = stats.ProvableMargin(n, 0, 0, stats.DefaultConf)
	for l := stats.LossesNeeded(0, q.Alpha); l <= n; l++ {
		if q.reachesEffect(n, 0, l) {
			r.LeastLosses = l
			break
		}
	}
	r.DetectableLoss, _ = stats.MinimumDetectableEffect(n, r.MinEffect, q.Alpha, flips/2, 0.80)
	r.NeededQuestions, _ = stats.NeededQuestions(r.Margin, flips, 0.80, stats.DefaultConf)

	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if r.AcceptUnchanged < 0.5 {
		warn("a build that changed nothing is accepted with a chance of %.2f only: add questions (about %d give 0.80) or widen the margin", r.AcceptUnchanged, r.NeededQuestions)
	}
	if r.ProvableMargin >= r.Margin {
		warn("%d questions cannot prove the margin %.4g even without a flip: they prove %.4f", n, r.Margin, r.ProvableMargin)
	}
	if r.DetectableLoss == 0 {
		warn("no loss is rejected with a chance of 0.80: %d questions are too few for alpha %g", n, q.Alpha)
	}
	if q.MinEffect != nil && *q.MinEffect < r.Margin {
		warn("min_effect %.4g is below the margin %.4g: a loss that the margin allows can be rejected", *q.MinEffect, r.Margin)
	}
	if len(q.Floor) == 0 && q.Reference == "" {
		warn("neither a floor nor a reference: many small accepted losses would add up unnoticed")
	}
	if !binary(q.Primary) {
		warn("%s is graded: the chances are for a measure that is 0 or 1", q.Primary)
	}
	return r
}

// Chances returns the probability of accept and of reject by the primary measure alone when each
// of n questions is truly gained with rate gain and lost with rate loss; the rest to 1 is
// inconclusive. Identical rankings do not enter.
func (p *Policy) Chances(n int, gain, loss float64) (accept, reject float64) {
	q := p.Resolved()
	margin := q.MarginFor(n)
	stats.EachFlips(n, gain, loss, func(g, l int, prob float64) {
		switch {
		case q.reachesEffect(n, g, l) && stats.McNemar(g, l) <= q.Alpha:
			reject += prob
		case stats.TangoAbove(n, g, l, margin, stats.DefaultConf):
			accept += prob
		}
	})
	return math.Min(1, accept), math.Min(1, reject)
}

// String returns the report as aligned lines, warnings last.
func (r *LintReport) String() string {
	var s strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&s, "%-34s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("questions", "%d (assuming %.0f %% flip between equal builds)", r.N, 100*r.Flips)
	line("margin", "%.4g", r.Margin)
	line("min_effect, alpha", "%.4g, %g", r.MinEffect, r.Alpha)
	line("accept when nothing changed", "%.3f", r.AcceptUnchanged)
	line("reject when nothing changed", "%.3f", r.RejectUnchanged)
	line("accept at a loss of the margin", "%.3f", r.AcceptAtMargin)
	line("margin provable without flips", "%.4f", r.ProvableMargin)
	if r.LeastLosses > 0 {
		line("losses that reject, without gains", "%d", r.LeastLosses)
	}
	if r.DetectableLoss > 0 {
		line("loss rejected 4 times in 5", "%.3f", r.DetectableLoss)
	}
	if r.NeededQuestions > 0 {
		line("questions for accept 4 in 5", "%d", r.NeededQuestions)
	}
	for _, w := range r.Warnings {
		line("warning", "%s", w)
	}
	return s.String()
}
