package answer

import (
	"math"
	"sync"

	glove "github.com/seed792a4543/assay/index/embed/words"
)

// WordSimilarity returns a function for ExtractiveOptions.Similarity from the English word
// vectors that come with the module: the cosine of two words, 0 if either is unknown or the
// cosine is negative. The function remembers vectors and is safe for concurrent use.
func WordSimilarity() func(a, b string) float64 {
	var mu sync.Mutex
	known := map[string][]float64{}
	vector := func(w string) []float64 {
		mu.Lock()
		defer mu.Unlock()
		if v, ok := known[w]; ok {
			return v
		}
		sum, ok := glove.Sum(w)
		if !ok {
			sum = nil
		}
		if len(known) < 1<<16 {
			known[w] = sum
		}
		return sum
	}
	return func(a, b string) float64 {
		va, vb := vector(a), vector(b)
		if len(va) == 0 || len(va) != len(vb) {
			return 0
		}
		var ab, aa, bb float64
		for i := range va {
			ab += float64(va[i] * vb[i])
			aa += float64(va[i] * va[i])
			bb += float64(vb[i] * vb[i])
		}
		if aa == 0 || bb == 0 {
			return 0
		}
		return max(0, ab/math.Sqrt(aa*bb))
	}
}
