package bench

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// The kinds of vectors.
const (
	// Topics are vectors as texts have them: 1,000 topics, documents that mix a few of them,
	// and 20 chunks per document near it, all within a space of far fewer directions than
	// dimensions, plus noise in all of them. The neighbours of a query stand out.
	Topics = "topics"
	// Random are directions drawn evenly: the hardest case, since all rows are about equally
	// far from any query and no structure helps.
	Random = "random"
)

const (
	topics         = 1000
	chunksPerDoc   = 20
	latent         = 64
	vocabulary     = 50_000
	queryNoise     = .35
	chunkNoise     = .5
	isotropicNoise = .25
)

// Vectors returns n rows of length 1 in one matrix and queries near some of them; the same
// arguments give the same values.
func Vectors(kind string, seed uint64, n, dim, queries int) (rows, qs [][]float32) {
	rng := rand.New(rand.NewPCG(seed, 1))
	matrix := make([]float32, n*dim)
	rows = make([][]float32, n)
	for i := range rows {
		rows[i] = matrix[i*dim : (i+1)*dim : (i+1)*dim]
	}
	qs = make([][]float32, queries)
	if kind == Random {
		for _, r := range rows {
			gaussian(rng, r, 1)
			normalise(r)
		}
		for i := range qs {
			qs[i] = make([]float32, dim)
			gaussian(rng, qs[i], 1)
			normalise(qs[i])
		}
		return rows, qs
	}
	// A random map from latent values to dimensions; later latent directions matter less, as
	// the spectrum of embeddings falls.
	basis := make([][]float32, latent)
	for i := range basis {
		basis[i] = make([]float32, dim)
		gaussian(rng, basis[i], 1/math.Sqrt(float64(dim))/math.Sqrt(1+float64(i)/8))
	}
	topic := make([][]float32, topics)
	for i := range topic {
		topic[i] = make([]float32, latent)
		gaussian(rng, topic[i], 1)
	}
	doc, point := make([]float32, latent), make([]float32, latent)
	project := func(dst, z []float32, noise float64) {
		clear(dst)
		for i, v := range z {
			for j, b := range basis[i] {
				dst[j] += v * b
			}
		}
		normalise(dst)
		for j := range dst {
			dst[j] += float32(rng.NormFloat64() * noise / math.Sqrt(float64(dim)))
		}
		normalise(dst)
	}
	at := make([][]float32, 0, queries) // latent points of the rows that queries are near
	for i, r := range rows {
		if i%chunksPerDoc == 0 {
			clear(doc)
			for range 3 {
				w := rng.Float32()
				for j, v := range topic[rng.IntN(topics)] {
					doc[j] += w * v
				}
			}
		}
		for j := range point {
			point[j] = doc[j] + float32(rng.NormFloat64()*chunkNoise)
		}
		project(r, point, isotropicNoise)
		if len(at) < queries && i >= len(at)*n/queries {
			at = append(at, append([]float32(nil), point...))
		}
	}
	for i := range qs {
		qs[i] = make([]float32, dim)
		for j := range point {
			point[j] = at[i%len(at)][j] + float32(rng.NormFloat64()*queryNoise)
		}
		project(qs[i], point, isotropicNoise)
	}
	return rows, qs
}

func gaussian(rng *rand.Rand, v []float32, sigma float64) {
	for i := range v {
		v[i] = float32(rng.NormFloat64() * sigma)
	}
}

func normalise(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i, x := range v {
		v[i] = float32(float64(x) / math.Sqrt(sum))
	}
}

// Texts returns n texts of words drawn from a Zipf law over 50,000 made-up words, and queries
// of 2 to 6 words, each of which one text holds.
func Texts(seed uint64, n, words, queries int) (texts, qs []string) {
	rng := rand.New(rand.NewPCG(seed, 2))
	zipf := rand.NewZipf(rng, 1.07, 8, vocabulary-1)
	texts = make([]string, n)
	var b strings.Builder
	for i := range texts {
		b.Reset()
		for j := range words {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(word(zipf.Uint64()))
		}
		texts[i] = b.String()
	}
	qs = make([]string, queries)
	for i := range qs {
		all := strings.Fields(texts[rng.IntN(n)])
		var q []string
		for range 2 + rng.IntN(5) {
			q = append(q, all[rng.IntN(len(all))])
		}
		qs[i] = strings.Join(q, " ")
	}
	return texts, qs
}

// word spells a number as a pronounceable word that no stemmer or stop list changes.
func word(n uint64) string {
	const consonants, vowels = "bdfgklmnprtvz", "aeiou"
	var b []byte
	for n += 65; n > 0; n /= 65 {
		b = append(b, consonants[n%13], vowels[n/13%5])
	}
	return string(b) + "x"
}

// ID names chunk i so that names sort as the numbers do.
func ID(i int) string {
	s := strconv.Itoa(i)
	return "chunk-" + strings.Repeat("0", 9-len(s)) + s
}
