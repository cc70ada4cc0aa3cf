package stats

import (
	"math/rand/v2"
	"testing"
)

func TestWinnerOptimism(t *testing.T) {
	t.Run("one variant is not chosen", func(t *testing.T) {
		o, ok := WinnerOptimism([][]float64{ones(7, 10)}, 4000, 1)
		if !ok || o.Winner != 0 || o.Share != 1 {
			t.Errorf("%+v", o)
		}
		near(t, "bias", o.Bias, 0, .01)
	})
	t.Run("a clear winner", func(t *testing.T) {
		o, _ := WinnerOptimism([][]float64{ones(10, 60), ones(50, 60), ones(20, 60)}, 1000, 1)
		if o.Winner != 1 || o.Share != 1 {
			t.Errorf("%+v", o)
		}
		near(t, "bias", o.Bias, 0, .01)
	})
	t.Run("the best of twelve equal settings", func(t *testing.T) {
		// Truth: every setting hits with .7, so the winner's bias is its mean − .7. Settings agree
		// with each other as real ones do: three in four questions do not depend on the setting.
		r := rand.New(rand.NewPCG(21, 1))
		const sweeps, n = 60, 100
		var claimed, ifEqual, actual, single float64
		for s := range sweeps {
			values := make([][]float64, 12)
			for i := range values {
				values[i] = make([]float64, n)
			}
			for q := range n {
				shared := r.Float64() < .75
				hit := oneIf(r.Float64() < .7)
				for i := range values {
					if !shared {
						hit = oneIf(r.Float64() < .7)
					}
					values[i][q] = hit
				}
			}
			o, _ := WinnerOptimism(values, 300, uint64(s))
			claimed += o.Bias / sweeps
			ifEqual += o.IfEqual / sweeps
			actual += (o.Mean - .7) / sweeps
			single += (mean(values[0]) - .7) / sweeps
		}
		if actual < .02 || single > .015 {
			t.Fatalf("the simulation shows no optimism: winner %+.4f, one setting %+.4f", actual, single)
		}
		t.Logf("winner's optimism: if as observed %.4f, if equal %.4f, actual %.4f", claimed, ifEqual, actual)
		near(t, "optimism if equal", ifEqual, actual, .006)
		if claimed <= 0 || claimed > ifEqual {
			t.Errorf("as observed %.4f, if equal %.4f", claimed, ifEqual)
		}
	})
	t.Run("refused", func(t *testing.T) {
		for _, v := range [][][]float64{nil, {{}}, {{1, 0}, {1}}} {
			if o, ok := WinnerOptimism(v, 0, 1); ok {
				t.Errorf("WinnerOptimism(%v) = %+v", v, o)
			}
		}
	})
}
