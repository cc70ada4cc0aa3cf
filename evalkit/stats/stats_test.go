package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// near compares to half a unit of the last printed digit.
func near(t *testing.T, call string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within {
		t.Errorf("%s = %.6f, want %v ± %g", call, got, want, within)
	}
}

// ones returns hits ones and n−hits zeros.
func ones(hits, n int) []float64 {
	v := make([]float64, n)
	for i := range hits {
		v[i] = 1
	}
	return v
}

func TestOneRate(t *testing.T) {
	for _, row := range []struct {
		name        string
		s, n        int
		wLo, wHi    float64 // Wilson 95 %
		cpLo, cpHi  float64 // Clopper–Pearson 95 %
		wilsonPlace float64
	}{
		{"23 of 27", 23, 27, .675, .941, .663, .958, .0005},
		{"5 of 5", 5, 5, .566, 1, .478, 1, .0005},    // CP: .025^(1/5)
		{"0 of 5", 0, 5, 0, .434, 0, .522, .0005},    // the mirror image
		{"27 of 27", 27, 27, .875, 1, .872, 1, .001}, // .8754
		{"1 of 1", 1, 1, .207, 1, .025, 1, .0005},    // 1/(1+z²) = 1/4.8415
		{"20 of 20", 20, 20, .839, 1, .832, 1, .0005},
		{"14 of 19", 14, 19, .512, .882, .488, .909, .0005},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, ok := Wilson(row.s, row.n, .95)
			if !ok {
				t.Fatalf("Wilson(%d, %d) gave no interval", row.s, row.n)
			}
			near(t, fmt.Sprintf("Wilson(%d,%d).Lo", row.s, row.n), w.Lo, row.wLo, row.wilsonPlace)
			near(t, fmt.Sprintf("Wilson(%d,%d).Hi", row.s, row.n), w.Hi, row.wHi, row.wilsonPlace)
			cp, _ := ClopperPearson(row.s, row.n, .95)
			near(t, fmt.Sprintf("ClopperPearson(%d,%d).Lo", row.s, row.n), cp.Lo, row.cpLo, .0005)
			near(t, fmt.Sprintf("ClopperPearson(%d,%d).Hi", row.s, row.n), cp.Hi, row.cpHi, .0005)
		})
	}
	t.Run("ends of Clopper–Pearson in closed form", func(t *testing.T) {
		cp, _ := ClopperPearson(5, 5, .95)
		near(t, "Lo", cp.Lo, math.Pow(.025, 1./5), 1e-12)
		cp, _ = ClopperPearson(0, 400, .95)
		near(t, "Hi", cp.Hi, 1-math.Pow(.025, 1./400), 1e-12)
	})
	t.Run("no interval", func(t *testing.T) {
		for _, a := range [][2]int{{0, 0}, {1, 0}, {-1, 5}, {6, 5}} {
			if iv, ok := Wilson(a[0], a[1], .95); ok || iv != (Interval{}) {
				t.Errorf("Wilson(%d, %d) = %v, %v; want none", a[0], a[1], iv, ok)
			}
			if iv, ok := ClopperPearson(a[0], a[1], .95); ok || iv != (Interval{}) {
				t.Errorf("ClopperPearson(%d, %d) = %v, %v; want none", a[0], a[1], iv, ok)
			}
		}
		if _, ok := Wilson(1, 2, 1); ok {
			t.Error("Wilson at confidence 1 gave an interval")
		}
	})
	t.Run("trials without a failure", func(t *testing.T) {
		if n, ok := ZeroFailures(.90, .95); n != 29 || !ok { // .9^29 = .0471, .9^28 = .0523
			t.Errorf("ZeroFailures(.90, .95) = %d, want 29", n)
		}
	})
}

func TestBootstrap(t *testing.T) {
	t.Run("23 of 27 is .70 to .96 at 2,000 resamples", func(t *testing.T) {
		b, ok := BootstrapPercentile(ones(23, 27), 0, 1, .95)
		if !ok || b.Resamples != 2000 || b.Uninformative {
			t.Fatalf("BootstrapPercentile = %+v, %v", b, ok)
		}
		near(t, "Lo", b.Lo, .70, .005) // 19/27 = .7037
		near(t, "Hi", b.Hi, .96, .005) // 26/27 = .9630
	})
	t.Run("same seed, same interval", func(t *testing.T) {
		v := []float64{.1, .5, .9, .3, 1, 0, .2, .7}
		a, _ := BootstrapPercentile(v, 500, 7, .95)
		b, _ := BootstrapPercentile(v, 500, 7, .95)
		c, _ := BootstrapPercentile(v, 500, 8, .95)
		if a != b {
			t.Errorf("seed 7 gave %+v and %+v", a, b)
		}
		if a.Interval == c.Interval {
			t.Error("seeds 7 and 8 gave the same interval: the seed is not used")
		}
	})
	t.Run("ST-03", func(t *testing.T) {
		for _, v := range [][]float64{ones(5, 5), ones(0, 5), ones(27, 27), {1}} {
			b, ok := BootstrapPercentile(v, 0, 1, .95)
			if !ok || !b.Uninformative {
				t.Errorf("constant sample %v: %+v, want it marked uninformative", v, b)
			}
		}
		if b, ok := BootstrapPercentile(nil, 0, 1, .95); ok {
			t.Errorf("no values gave %+v", b)
		}
		if b, ok := BootstrapPercentile([]float64{1, math.NaN()}, 0, 1, .95); ok {
			t.Errorf("a NaN gave %+v", b)
		}
		w, _ := Wilson(5, 5, .95)
		near(t, "Wilson(5,5).Lo", w.Lo, .57, .005)
		w, _ = Wilson(27, 27, .95)
		near(t, "Wilson(27,27).Lo", w.Lo, .88, .005)
		w, _ = Wilson(0, 5, .95)
		near(t, "Wilson(0,5).Hi", w.Hi, .43, .005)
		w, _ = Wilson(1, 1, .95)
		near(t, "Wilson(1,1).Lo", w.Lo, .21, .005)
	})
	t.Run("ST-02", func(t *testing.T) {
		a := []float64{.2, .4, .6, .8}
		d := make([]float64, len(a))
		for i, v := range a {
			d[i] = (v + .05) - v
		}
		b, ok := BCa(d, 0, 1, .95)
		if !ok {
			t.Fatal("no interval")
		}
		near(t, "mean", b.Mean, .05, 1e-12)
		near(t, "Lo", b.Lo, .05, 1e-12)
		near(t, "Hi", b.Hi, .05, 1e-12)
		if !b.Descriptive {
			t.Error("4 questions are not called descriptive")
		}
	})
	t.Run("BCa leans towards the long tail", func(t *testing.T) {
		// Twenty-five zeros, ten small gains and five large ones: skewed to the right.
		v := make([]float64, 40)
		for i := range 10 {
			v[i] = .1
		}
		for i := 10; i < 15; i++ {
			v[i] = 1
		}
		p, _ := BootstrapPercentile(v, 4000, 3, .95)
		b, _ := BCa(v, 4000, 3, .95)
		if b.Descriptive {
			t.Error("15 non-zero of 40 is called descriptive")
		}
		if !(b.Lo >= p.Lo && b.Hi > p.Hi) {
			t.Errorf("BCa %v is not shifted right of percentile %v", b.Interval, p.Interval)
		}
	})
}

func TestMcNemar(t *testing.T) {
	t.Run("losses needed at .05", func(t *testing.T) {
		var got []int
		for g := range 7 {
			got = append(got, LossesNeeded(g, .05))
		}
		if d := cmp.Diff([]int{5, 7, 9, 10, 12, 13, 15}, got); d != "" {
			t.Errorf("LossesNeeded(0…6, .05) (-want +got):\n%s", d)
		}
	})
	for _, row := range []struct {
		g, l int
		want float64
	}{
		{0, 0, 1},
		{0, 3, .125},         // 1/8
		{0, 5, .03125},       // 1/32
		{1, 2, .5},           // 4/8
		{3, 5, 93. / 256},    // 56+28+8+1
		{1, 0, 1},            // Σ from 0 is everything
		{0, 62, 0x1p-62},     // the last one in integers
		{0, 63, 0x1p-63},     // the first one in floating point
		{200, 200, .5199347}, // .5 + C(400,200)/2^401, C(400,200)/2^400 = √(2/400π)·(1 − 1/1600) = .0398693
	} {
		near(t, fmt.Sprintf("McNemar(%d,%d)", row.g, row.l), McNemar(row.g, row.l), row.want, 1e-6*row.want)
	}
	t.Run("both ways of counting agree at the border", func(t *testing.T) {
		for l := 0; l <= 62; l++ {
			near(t, fmt.Sprintf("binomialUpper(62,%d)", l), binomialUpper(62, l, .5), McNemar(62-l, l), 1e-12)
		}
	})
	t.Run("ST-01", func(t *testing.T) {
		if p := McNemarTwoSided(1, 0); p != 1 {
			t.Errorf("one flip: two-sided p = %v, want 1", p)
		}
		iv, _ := Tango(27, 1, 0, DefaultConf)
		if !iv.Contains(0) {
			t.Errorf("one gain in 27: interval %v leaves out 0", iv)
		}
	})
}

func TestTango(t *testing.T) {
	for _, row := range []struct {
		n, g, l int
		lo, hi  float64
	}{
		{27, 0, 0, -.0911, .0911}, // z²/(n+z²) = 2.7055/29.7055
		{27, 1, 2, -.1721, .0903},
		{27, 0, 3, -.2478, -.0099},
		{27, 0, 5, -.3345, -.0772},
		{100, 5, 3, -.0304, .0739},
		{100, 3, 5, -.0739, .0304},
		{300, 9, 12, -.0369, .0160},
		{300, 6, 18, -.0692, -.0139},
	} {
		t.Run(fmt.Sprintf("%d, %d–%d", row.n, row.g, row.l), func(t *testing.T) {
			iv, ok := Tango(row.n, row.g, row.l, DefaultConf)
			if !ok {
				t.Fatal("no interval")
			}
			near(t, "Lo", iv.Lo, row.lo, .00005)
			near(t, "Hi", iv.Hi, row.hi, .00005)
		})
	}
	t.Run("no interval", func(t *testing.T) {
		for _, a := range [][3]int{{0, 0, 0}, {3, 2, 2}, {3, -1, 0}} {
			if iv, ok := Tango(a[0], a[1], a[2], .9); ok {
				t.Errorf("Tango(%v) = %v, want none", a, iv)
			}
		}
	})
	t.Run("extremes stay inside [-1,1]", func(t *testing.T) {
		for _, a := range [][3]int{{1, 1, 0}, {1, 0, 1}, {5, 5, 0}, {5, 0, 5}, {1, 0, 0}, {10000, 10000, 0}} {
			iv, ok := Tango(a[0], a[1], a[2], .9)
			if !ok || !(iv.Lo >= -1 && iv.Hi <= 1 && iv.Lo <= iv.Hi) {
				t.Errorf("Tango(%v) = %v, %v", a, iv, ok)
			}
		}
	})
	t.Run("is the mirror image of itself", rapid.MakeCheck(func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		g := rapid.IntRange(0, n).Draw(t, "gained")
		l := rapid.IntRange(0, n-g).Draw(t, "lost")
		a, _ := Tango(n, g, l, .9)
		b, _ := Tango(n, l, g, .9)
		if math.Abs(a.Lo+b.Hi) > 1e-9 || math.Abs(a.Hi+b.Lo) > 1e-9 {
			t.Fatalf("Tango(%d,%d,%d) = %v but mirrored %v", n, g, l, a, b)
		}
		if !a.Contains(float64(g-l) / float64(n)) {
			t.Fatalf("Tango(%d,%d,%d) = %v leaves out the estimate", n, g, l, a)
		}
		// More losses never raise the lower end.
		if g+l < n {
			if c, _ := Tango(n, g, l+1, .9); c.Lo > a.Lo+1e-9 {
				t.Fatalf("one loss more raised the lower end from %v to %v", a.Lo, c.Lo)
			}
		}
		for _, m := range []float64{.02, .05, .1, .3} {
			if got, want := TangoAbove(n, g, l, m, .9), a.Lo > -m; got != want && math.Abs(a.Lo+m) > 1e-9 {
				t.Fatalf("TangoAbove(%d,%d,%d,%v) = %v but lower is %v", n, g, l, m, got, a.Lo)
			}
		}
	}))
	t.Run("the constrained estimate maximises the likelihood", func(t *testing.T) {
		// An independent route to the same statistic: maximise the trinomial likelihood under
		// gain − loss = d by golden section, then form the score.
		for _, a := range [][3]int{{27, 1, 2}, {100, 5, 3}, {50, 0, 4}, {40, 6, 0}} {
			n, g, l := float64(a[0]), float64(a[1]), float64(a[2])
			for _, d := range []float64{-.3, -.1, -.05, .05, .2} {
				logLik := func(q float64) float64 {
					v := 0.0
					for _, term := range [][2]float64{{g, q + d}, {l, q}, {n - g - l, 1 - 2*q - d}} {
						if term[0] > 0 {
							v += term[0] * math.Log(term[1])
						}
					}
					return v
				}
				lo, hi := math.Max(0, -d)+1e-15, (1-d)/2-1e-15
				const phi = 0.6180339887498949
				for range 200 {
					x, y := hi-phi*(hi-lo), lo+phi*(hi-lo)
					if logLik(x) > logLik(y) {
						hi = y
					} else {
						lo = x
					}
				}
				q := (lo + hi) / 2
				want := (g - l - n*d) / math.Sqrt(n*(2*q+d-d*d))
				near(t, fmt.Sprintf("score(%v, %v)", a, d), tangoScore(a[0], a[1], a[2], d), want, 1e-4)
			}
		}
	})
}

func TestSignFlip(t *testing.T) {
	t.Run("ones and minus ones give McNemar", func(t *testing.T) {
		for g := range 8 {
			for l := range 8 {
				var d []float64
				for range g {
					d = append(d, 1)
				}
				for range l {
					d = append(d, -1)
				}
				d = append(d, 0, 0, 0)
				r, _ := SignFlip(d, Less, 0, 1)
				if !r.Exact {
					t.Fatalf("%d differences are not counted exactly", g+l)
				}
				near(t, fmt.Sprintf("SignFlip(%d gains, %d losses)", g, l), r.P, McNemar(g, l), 1e-12)
			}
		}
	})
	t.Run("by hand", func(t *testing.T) {
		// −.5 −.3 +.2: sums ≤ −.6 are −1.0 and −.6, so 2 of 8.
		r, _ := SignFlip([]float64{-.5, -.3, .2}, Less, 0, 1)
		near(t, "Less", r.P, .25, 1e-12)
		r, _ = SignFlip([]float64{-.5, -.3, .2}, TwoSided, 0, 1)
		near(t, "TwoSided", r.P, .5, 1e-12)
		r, _ = SignFlip([]float64{.5, .3, -.2}, Greater, 0, 1)
		near(t, "Greater", r.P, .25, 1e-12)
	})
	t.Run("20 are exact, 21 are drawn", func(t *testing.T) {
		d := make([]float64, 21)
		for i := range d {
			d[i] = -1
		}
		if r, _ := SignFlip(d[:20], Less, 0, 1); !r.Exact || r.P != 0x1p-20 {
			t.Errorf("20 losses: %+v, want exact p 2^-20", r)
		}
		r, _ := SignFlip(d, Less, 999, 1)
		if r.Exact || r.P != 1./1000 || r.Draws != 999 {
			t.Errorf("21 losses: %+v, want (1+0)/(1+999), never 0", r)
		}
	})
	t.Run("drawn p is close to the exact one", func(t *testing.T) {
		var d []float64
		for range 16 {
			d = append(d, -1)
		}
		for range 9 {
			d = append(d, 1)
		}
		r, _ := SignFlip(d, Less, 20000, 5)
		near(t, "p", r.P, McNemar(9, 16), .007) // two standard errors
	})
	t.Run("nothing differs", func(t *testing.T) {
		r, ok := SignFlip([]float64{0, 0, 1e-16}, Less, 0, 1)
		if !ok || r.P != 1 || r.NonZero != 0 {
			t.Errorf("got %+v, want p 1", r)
		}
	})
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{.01, .04, .03, .005})
	// sorted .005·4, .01·3, .03·2, .04·1 raised to .06
	want := []float64{.03, .06, .06, .02}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Errorf("Holm (-want +got):\n%s", d)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("Holm(nil) = %v", got)
	}
}

func TestKappa(t *testing.T) {
	yes := func(n int) []string { return repeat("yes", n) }
	no := func(n int) []string { return repeat("no", n) }
	t.Run("JU-04", func(t *testing.T) {
		labels := append(yes(9), no(1)...)
		k, ok := Kappa(labels, yes(10))
		if !ok || k != 0 {
			t.Errorf("a judge that always says yes: kappa %v, %v; want 0", k, ok)
		}
		c := Confusion{TruePositive: 9, FalsePositive: 1}
		acc, _ := c.Accuracy()
		bal, ok := c.BalancedAccuracy()
		if acc != .9 || bal != .5 || !ok {
			t.Errorf("accuracy %v, balanced %v; want .9 and .5", acc, bal)
		}
		if k, ok := c.Kappa(); !ok || k != 0 {
			t.Errorf("Confusion.Kappa = %v, %v; want 0", k, ok)
		}
		c = Confusion{TruePositive: 20, TrueNegative: 14, FalsePositive: 5}
		acc, _ = c.Accuracy()
		near(t, "accuracy", acc, .872, .0005) // 34/39
		near(t, "caught", float64(c.TrueNegative)/19, .737, .0005)
		if _, ok := (Confusion{TruePositive: 20}).BalancedAccuracy(); ok {
			t.Error("balanced accuracy without a negative case")
		}
	})
	t.Run("textbook", func(t *testing.T) {
		// 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: po .7, pe .5, kappa .4.
		a := append(yes(25), no(25)...)
		b := append(append(append(yes(20), no(5)...), yes(10)...), no(15)...)
		k, _ := Kappa(a, b)
		near(t, "kappa", k, .4, 1e-12)
		c := Confusion{TruePositive: 20, FalseNegative: 5, FalsePositive: 10, TrueNegative: 15}
		k, _ = c.Kappa()
		near(t, "Confusion.Kappa", k, .4, 1e-12)
	})
	t.Run("undefined", func(t *testing.T) {
		if _, ok := Kappa(yes(3), yes(3)); ok {
			t.Error("one label only: kappa is 0/0")
		}
		if _, ok := Kappa[string](nil, nil); ok {
			t.Error("no items")
		}
		if _, ok := Kappa(yes(3), yes(2)); ok {
			t.Error("lists of different length")
		}
	})
	t.Run("count", func(t *testing.T) {
		got, ok := Count([]bool{true, true, false, false}, []bool{true, false, true, false})
		if want := (Confusion{1, 1, 1, 1}); !ok || got != want {
			t.Errorf("Count = %+v, want %+v", got, want)
		}
	})
}

func repeat(s string, n int) []string {
	v := make([]string, n)
	for i := range v {
		v[i] = s
	}
	return v
}

func TestRoganGladen(t *testing.T) {
	t.Run("a perfect judge changes nothing", func(t *testing.T) {
		c, ok := RoganGladen(30, 100, 50, 50, 50, 50, .95)
		near(t, "rate", c.Rate, .3, 1e-12)
		if !ok || c.Clipped {
			t.Errorf("got %+v, %v; want .3, not clipped", c, ok)
		}
	})
	t.Run("by hand", func(t *testing.T) {
		// apparent .8, sens .9, spec .7: (.8+.7−1)/(.9+.7−1) = .5/.6
		c, _ := RoganGladen(80, 100, 90, 100, 70, 100, .95)
		near(t, "rate", c.Rate, .8333, .00005)
		if !c.Contains(c.Rate) {
			t.Errorf("%+v leaves out its own rate", c)
		}
	})
	t.Run("clipped", func(t *testing.T) {
		c, _ := RoganGladen(95, 100, 90, 100, 90, 100, .95)
		if c.Rate != 1 || !c.Clipped {
			t.Errorf("got %+v, want 1, clipped", c)
		}
	})
	t.Run("no better than chance", func(t *testing.T) {
		if c, ok := RoganGladen(5, 10, 10, 10, 0, 10, .95); ok {
			t.Errorf("a judge that always says yes was corrected to %+v", c)
		}
	})
}

func TestPredictionPowered(t *testing.T) {
	t.Run("a useless judge leaves the labels alone", func(t *testing.T) {
		labels, pred := ones(20, 40), make([]float64, 40)
		for i := range pred {
			pred[i] = .5
		}
		p, ok := PredictionPowered(labels, pred, []float64{.5, .5, .5}, .95)
		if !ok || p.Lambda != 0 || p.Mean != .5 || p.Interval != p.LabelledOnly {
			t.Errorf("got %+v, want the labelled estimate", p)
		}
	})
	t.Run("a biased judge does not shift it", func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 1))
		var labels, pred, unlabelled []float64
		for i := range 2100 {
			y := oneIf(r.Float64() < .6)
			f := y
			if y == 0 && r.Float64() < .3 { // accepts three in ten wrong ones
				f = 1
			}
			if i < 100 {
				labels, pred = append(labels, y), append(pred, f)
			} else {
				unlabelled = append(unlabelled, f)
			}
		}
		p, _ := PredictionPowered(labels, pred, unlabelled, .95)
		if !p.Interval.Contains(.6) || p.Interval.Contains(mean(unlabelled)) {
			t.Errorf("%+v should hold .6 and not the judge's own %.3f", p, mean(unlabelled))
		}
		if p.Interval.Width() >= p.LabelledOnly.Width() {
			t.Errorf("predictions made the interval wider: %+v", p)
		}
	})
	t.Run("too few", func(t *testing.T) {
		if _, ok := PredictionPowered([]float64{1}, []float64{1}, []float64{1, 0}, .95); ok {
			t.Error("an estimate from one label")
		}
	})
}

func TestPower(t *testing.T) {
	t.Run("probabilities sum to one", func(t *testing.T) {
		for _, a := range []struct {
			n    int
			g, l float64
		}{{1, .5, .5}, {27, .05, .05}, {300, .02, .1}, {5000, .05, .05}, {50, 0, 0}, {50, 0, .1}, {40, .3, 0}} {
			var sum, diff float64
			EachFlips(a.n, a.g, a.l, func(g, l int, p float64) {
				sum += p
				diff += p * float64(g-l)
			})
			near(t, fmt.Sprintf("sum for %+v", a), sum, 1, 1e-9)
			near(t, fmt.Sprintf("mean for %+v", a), diff, float64(a.n)*(a.g-a.l), 1e-5)
		}
	})
	t.Run("without flips it is the width at zero", func(t *testing.T) {
		// z²/(n+z²) < M  ⇔  n > z²(1−M)/M = 24.35 at M .10, 51.40 at M .05
		for _, row := range []struct {
			n      int
			margin float64
			want   float64
		}{{24, .10, 0}, {25, .10, 1}, {51, .05, 0}, {52, .05, 1}} {
			near(t, fmt.Sprintf("AcceptChance(%d, %v)", row.n, row.margin), AcceptChance(row.n, row.margin, 0, 0, .9), row.want, 1e-9)
		}
		if n, _ := NeededQuestions(.10, 0, .8, .9); n != 25 {
			t.Errorf("NeededQuestions(.10, no flips) = %d, want 25", n)
		}
		if n, _ := NeededQuestions(.05, 0, .8, .9); n != 52 {
			t.Errorf("NeededQuestions(.05, no flips) = %d, want 52", n)
		}
	})
	t.Run("needed questions reach the power", func(t *testing.T) {
		for _, row := range []struct{ margin, flips float64 }{{.10, .1}, {.05, .1}, {.05, .04}, {.02, .02}} {
			n, ok := NeededQuestions(row.margin, row.flips, .8, .9)
			if !ok {
				t.Fatalf("none for %+v", row)
			}
			near(t, fmt.Sprintf("chance at %d for %+v", n, row), AcceptChance(n, row.margin, row.flips/2, row.flips/2, .9), .82, .03)
			if c := AcceptChance(n/2, row.margin, row.flips/2, row.flips/2, .9); c >= .8 {
				t.Errorf("half of %d already gives %.3f", n, c)
			}
		}
		if n, ok := NeededQuestions(.0001, .5, .8, .9); ok {
			t.Errorf("a margin of .0001 at 50 %% flips needs %d", n)
		}
	})
	t.Run("needed questions at observed rates", func(t *testing.T) {
		n, ok := NeededToAccept(.10, .02, .06, .8, .9)
		if !ok {
			t.Fatal("none")
		}
		near(t, fmt.Sprintf("AcceptChance(%d)", n), AcceptChance(n, .10, .02, .06, .9), .82, .03)
		if n, ok := NeededToAccept(.10, .02, .12, .8, .9); ok {
			t.Errorf("a true loss of the margin is accepted with %d questions", n)
		}
		n, ok = NeededToReject(.10, .05, .02, .22, .8)
		if !ok {
			t.Fatal("none")
		}
		near(t, fmt.Sprintf("RejectChance(%d)", n), RejectChance(n, .10, .05, .02, .22), .82, .03)
		if n, ok := NeededToReject(.10, .05, .02, .12, .8); ok {
			t.Errorf("a true loss of min_effect is rejected four times in five with %d questions", n)
		}
	})
	t.Run("smallest detectable loss", func(t *testing.T) {
		d, ok := MinimumDetectableEffect(100, .10, .05, .02, .8)
		if !ok {
			t.Fatal("none")
		}
		if c := RejectChance(100, .10, .05, .02, .02+d); c < .8 {
			t.Errorf("a loss of %v is seen with %.3f only", d, c)
		}
		if c := RejectChance(100, .10, .05, .02, .02+d-.01); c >= .8 {
			t.Errorf("a loss one point below %v is seen with %.3f already", d, c)
		}
		if d, ok := MinimumDetectableEffect(4, .5, .05, 0, .8); ok { // five losses are needed
			t.Errorf("4 questions detect a loss of %v", d)
		}
	})
}
