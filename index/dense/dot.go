package dense

// dot is the score: products rounded to float32, added in order. The conversion keeps the
// compiler from fusing multiplication and addition where the machine could.
func dot(q, x []float32) float32 {
	x = x[:len(q)]
	var s float32
	for i, v := range q {
		s += float32(v * x[i])
	}
	return s
}

// dot4 is dot for four rows at once, which keeps four additions in flight where one would
// wait for the other; every sum has the order of dot.
func dot4(q, a, b, c, d []float32) (sa, sb, sc, sd float32) {
	a, b, c, d = a[:len(q)], b[:len(q)], c[:len(q)], d[:len(q)]
	for i, v := range q {
		sa += float32(v * a[i])
		sb += float32(v * b[i])
		sc += float32(v * c[i])
		sd += float32(v * d[i])
	}
	return sa, sb, sc, sd
}
