package dense

import (
	"math"
	"math/rand/v2"
)

// rotation is a fixed orthogonal map: rounds of flipping signs and a fast Walsh-Hadamard
// transform over the first, then the last p dimensions, p the largest power of two that fits.
// It spreads any vector's length evenly over its dimensions; a full random matrix would do the
// same in dim² steps instead of dim·log(dim).
type rotation struct {
	p     int
	scale float64
	signs [rotationRounds][]float64
}

const (
	rotationRounds = 4
	rotationSeed   = 0x61737361795f7631 // part of the format: codes depend on it
)

func newRotation(dim int) *rotation {
	r := &rotation{p: 1}
	for r.p*2 <= dim {
		r.p *= 2
	}
	r.scale = 1 / math.Sqrt(float64(r.p))
	rng := rand.New(rand.NewPCG(rotationSeed, uint64(dim)))
	for i := range r.signs {
		s := make([]float64, dim)
		for j := range s {
			s[j] = 1 - 2*float64(rng.Uint64()>>63)
		}
		r.signs[i] = s
	}
	return r
}

// apply rotates v in place. The result differs from the exact one by less than
// rotationError·‖v‖: 4 rounds of at most 2·14 additions and one multiplication in float64.
func (r *rotation) apply(v []float64) {
	for i, signs := range r.signs {
		signs = signs[:len(v)]
		for j := range v {
			v[j] *= signs[j]
		}
		part := v[:r.p]
		if i%2 == 1 {
			part = v[len(v)-r.p:]
		}
		hadamard(part)
		for j := range part {
			part[j] = float64(part[j] * r.scale)
		}
	}
}

const rotationError = 1e-13

// hadamard transforms v, whose length is a power of two, in place and unscaled.
func hadamard(v []float64) {
	for h := 1; h < len(v); h *= 2 {
		for i := 0; i < len(v); i += 2 * h {
			a, b := v[i:i+h], v[i+h:i+2*h]
			b = b[:len(a)]
			for j, x := range a {
				y := b[j]
				a[j], b[j] = x+y, x-y
			}
		}
	}
}
