package dense

import "math"

// codes receives the quantised form of rows; its slices are the sections of the file.
type codes struct {
	layout
	scale, highErr, lowErr, signFac []float32
	high, low                       []byte
	sign                            []uint64
}

// quantise fills in row r from y, the rotated difference to the mean, and returns ‖ŷ‖ of
// either plane. Code c of 0…255 stands for step·(c-127.5) where step = scale/16, its high
// nibble h alone for scale·(h-7.5). The step is the smallest that clips nothing: after the
// rotation the largest value of a row is near 3 standard deviations, where clipping more gains
// next to nothing in the high plane and costs in the low one.
func (c *codes) quantise(r int, y []float64) (highNorm, lowNorm float64) {
	var top, abs, square float64
	for _, v := range y {
		top = max(top, math.Abs(v))
		abs += math.Abs(v)
		square += float64(v * v)
	}
	scale := roundUp(top / 8)
	c.scale[r] = scale
	if abs > 0 {
		c.signFac[r] = float32(square / abs)
	}
	step := float64(scale) / 16
	var highErr, lowErr float64
	for j, v := range y {
		code := 128
		if step > 0 {
			code = min(max(int(math.Floor(v/step))+128, 0), 255)
		}
		g, i := j/8, j%8
		shift := i / 4 * 4
		c.high[c.layout.high(r, g)+i%4] |= byte(code>>4) << shift
		c.low[c.layout.low(r, g)+i%4] |= byte(code&15) << shift
		if v >= 0 {
			c.sign[c.layout.sign(r, j/64)] |= 1 << (j % 64)
		}
		h, l := float64(scale)*(float64(code>>4)-7.5), step*(float64(code)-127.5)
		highNorm += float64(h * h)
		lowNorm += float64(l * l)
		highErr += float64((v - h) * (v - h))
		lowErr += float64((v - l) * (v - l))
	}
	// y itself is off by the error of the rotation; two vectors of length at most 1 differ by
	// at most 2.
	const off = 2 * rotationError
	c.highErr[r] = roundUp(math.Sqrt(highErr)*(1+1e-12) + off)
	c.lowErr[r] = roundUp(math.Sqrt(lowErr)*(1+1e-12) + off)
	return math.Sqrt(highNorm), math.Sqrt(lowNorm)
}

// roundUp returns the smallest float32 that is not below v ≥ 0.
func roundUp(v float64) float32 {
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, math.MaxFloat32)
	}
	return f
}
