package hybrid

// rrf sets the scores to Σ 1/(k + rank) over the lists that hold the chunk, ranks from 1; absence
// adds nothing (Cormack, Clarke & Büttcher, SIGIR 2009).
func rrf(out []Fused, k int) {
	for i := range out {
		f := &out[i]
		f.Score = 0
		if f.Vector.Rank > 0 {
			f.Score += 1 / float64(k+f.Vector.Rank)
		}
		if f.Lexical.Rank > 0 {
			f.Score += 1 / float64(k+f.Lexical.Rank)
		}
	}
}
