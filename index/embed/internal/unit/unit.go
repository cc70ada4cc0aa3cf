// Package unit checks vectors that came from outside and scales them to length 1.
package unit

import (
	"errors"
	"fmt"
	"math"
)

// ErrZero says that a vector has length 0, so that no cosine with it exists.
var ErrZero = errors.New("all components are zero")

// Scale returns v scaled to length 1 in float32, summed in float64 in index order. NaN and
// infinite components are errors that name the position; a zero vector is ErrZero; so is one
// so short that its components vanish in float32. len(v) = 0 is an error.
func Scale[F float32 | float64](v []F) ([]float32, error) {
	if len(v) == 0 {
		return nil, errors.New("vector of dimension 0")
	}
	big := 0.0
	for i, x := range v {
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("component %d is %v", i, f)
		}
		big = max(big, math.Abs(f))
	}
	if big == 0 {
		return nil, ErrZero
	}
	// Dividing by the largest component first keeps the sum of squares in range.
	sum := 0.0
	for _, x := range v {
		f := float64(x) / big
		sum += float64(f * f)
	}
	norm := math.Sqrt(sum)
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / big / norm)
	}
	return out, nil
}

// Check reports whether v is usable as it stands: the right length, finite, and of length 1
// within 1e-3.
func Check(v []float32, dim int) error {
	if len(v) != dim {
		return fmt.Errorf("dimension %d, want %d", len(v), dim)
	}
	sum := 0.0
	for i, x := range v {
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("component %d is %v", i, f)
		}
		sum += float64(f * f)
	}
	if sum == 0 {
		return ErrZero
	}
	if math.Abs(math.Sqrt(sum)-1) > 1e-3 {
		return fmt.Errorf("length %.4g, want 1", math.Sqrt(sum))
	}
	return nil
}

// Cosine returns the cosine of two vectors of equal length, in [-1,1], and 0 if either has
// length 0 or the dimensions differ.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab += float64(x * y)
		aa += float64(x * x)
		bb += float64(y * y)
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return max(-1, min(1, ab/math.Sqrt(aa)/math.Sqrt(bb)))
}
