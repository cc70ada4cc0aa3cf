package stats

import (
	"math/rand/v2"
	"testing"
)

// The tests here simulate with fixed seeds, so they are deterministic: the bounds below were
// chosen before looking, from theory and the simulation's own standard error.

// draw returns the gained and lost questions of one simulated pair of builds.
func draw(r *rand.Rand, n int, gain, loss float64) (g, l int) {
	for range n {
		switch u := r.Float64(); {
		case u < gain:
			g++
		case u < gain+loss:
			l++
		}
	}
	return g, l
}

func TestCoverage(t *testing.T) {
	const trials = 4000
	t.Run("Wilson is near 95 %, Clopper–Pearson never below", func(t *testing.T) {
		// Exact, not simulated: the coverage at p is a sum over n+1 outcomes.
		for _, n := range []int{10, 27, 100} {
			var wilson, points float64
			for p := .05; p < .96; p += .05 {
				var w, cp float64
				for s := 0; s <= n; s++ {
					prob := binomialPMF(n, s, p)
					if iv, _ := Wilson(s, n, .95); iv.Contains(p) {
						w += prob
					}
					if iv, _ := ClopperPearson(s, n, .95); iv.Contains(p) {
						cp += prob
					}
				}
				if cp < .95-1e-9 {
					t.Errorf("Clopper–Pearson covers %.4f at n=%d p=%.2f", cp, n, p)
				}
				wilson += w
				points++
			}
			near(t, "mean coverage of Wilson", wilson/points, .95, .01)
		}
	})
	t.Run("Tango at 90 %", func(t *testing.T) {
		for _, row := range []struct {
			name       string
			n          int
			gain, loss float64
		}{
			{"small and even", 27, .08, .08},
			{"a loss of 5 points", 100, .03, .08},
			{"a gain of 10 points", 60, .15, .05},
			{"large and quiet", 300, .02, .02},
		} {
			t.Run(row.name, func(t *testing.T) {
				// Exact again; the lower end alone must err in at most about 5 %, which is what
				// accept rests on.
				var both, lowerWrong float64
				d := row.gain - row.loss
				EachFlips(row.n, row.gain, row.loss, func(g, l int, p float64) {
					iv, _ := Tango(row.n, g, l, DefaultConf)
					if iv.Contains(d) {
						both += p
					}
					if iv.Lo > d {
						lowerWrong += p
					}
				})
				near(t, "coverage", both, .90, .03)
				if lowerWrong > .065 {
					t.Errorf("the lower end is above the truth in %.4f of cases", lowerWrong)
				}
			})
		}
	})
	t.Run("a loss of exactly the margin is accepted in about 5 %", func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 1))
		accepted := 0
		for range trials {
			g, l := draw(r, 200, .03, .08)
			if TangoAbove(200, g, l, .05, DefaultConf) {
				accepted++
			}
		}
		// The truth is within a point of 5 %; two standard errors of the simulation are .7 points.
		near(t, "accept rate", float64(accepted)/trials, .05, .017)
	})
	t.Run("McNemar rejects at most 5 % of unchanged builds", func(t *testing.T) {
		r := rand.New(rand.NewPCG(12, 1))
		rejected := 0
		for range trials {
			g, l := draw(r, 150, .06, .06)
			if McNemar(g, l) <= .05 {
				rejected++
			}
		}
		rate := float64(rejected) / trials
		if rate > .05 || rate < .015 { // exact tests are conservative, not dead
			t.Errorf("rejects %.4f of unchanged builds", rate)
		}
	})
	t.Run("sign-flip rejects about 5 % of unchanged builds", func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 1))
		const trials = 1000
		for _, nonZero := range []int{12, 30} { // exact, drawn
			rejected := 0
			for i := range trials {
				d := make([]float64, nonZero)
				for j := range d {
					d[j] = r.NormFloat64()
				}
				if p, _ := SignFlip(d, Less, 199, uint64(i)); p.P <= .05 {
					rejected++
				}
			}
			near(t, "reject rate", float64(rejected)/trials, .05, .02)
		}
	})
	t.Run("BCa and percentile at 90 %", func(t *testing.T) {
		r := rand.New(rand.NewPCG(14, 1))
		const trials = 400
		bca, pct := 0, 0
		for i := range trials {
			d := make([]float64, 60)
			for j := range d { // mean 0.5, skewed
				d[j] = r.ExpFloat64() / 2
			}
			if b, _ := BCa(d, 400, uint64(i), .9); b.Contains(.5) {
				bca++
			}
			if b, _ := BootstrapPercentile(d, 400, uint64(i), .9); b.Contains(.5) {
				pct++
			}
		}
		near(t, "coverage of BCa", float64(bca)/trials, .90, .05)
		near(t, "coverage of percentile", float64(pct)/trials, .89, .06)
	})
	t.Run("Rogan–Gladen at 95 %", func(t *testing.T) {
		r := rand.New(rand.NewPCG(15, 1))
		for _, truth := range []float64{.5, .8, .95} {
			covered := 0
			const trials = 2000
			count := func(n int, p float64) (k int) {
				for range n {
					if r.Float64() < p {
						k++
					}
				}
				return k
			}
			const sens, spec = .92, .80
			for range trials {
				apparent := truth*sens + (1-truth)*(1-spec)
				c, ok := RoganGladen(count(200, apparent), 200, count(60, sens), 60, count(60, spec), 60, .95)
				if ok && c.Contains(truth) {
					covered++
				}
			}
			rate := float64(covered) / trials
			if rate < .935 || rate > .99 {
				t.Errorf("covers %.4f at %.2f", rate, truth)
			}
		}
	})
	t.Run("prediction-powered at 95 %", func(t *testing.T) {
		r := rand.New(rand.NewPCG(16, 1))
		const trials, truth = 1500, .7
		coverage := func(labelled int, lenient float64) float64 {
			covered := 0
			for range trials {
				var labels, pred, rest []float64
				for i := range labelled + 400 {
					y := oneIf(r.Float64() < truth)
					f := y
					if r.Float64() < lenient {
						f = 1
					}
					if i < labelled {
						labels, pred = append(labels, y), append(pred, f)
					} else {
						rest = append(rest, f)
					}
				}
				if p, _ := PredictionPowered(labels, pred, rest, .95); p.Interval.Contains(truth) {
					covered++
				}
			}
			return float64(covered) / trials
		}
		near(t, "coverage at 200 labels and 18 disagreements", coverage(200, .3), .945, .015)
		// The limit that the field Descriptive stands for, measured and not hidden.
		near(t, "coverage at 60 labels and 3 disagreements", coverage(60, .15), .90, .025)
	})
}
