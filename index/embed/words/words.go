// Package words is a small table of English word vectors that is part of the binary, so that
// synonyms work on corpora too small to teach them: the 40,000 most frequent words of GloVe
// (Pennington, Socher & Manning 2014; public domain, see NOTICE), 64 dimensions, one byte each.
//
// On its own it is much weaker than a model fitted on the corpus; use it beside one. It knows
// no language but English.
package words

import (
	_ "embed" // for the table
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"unicode"
)

// Dim is the length of the vectors.
const Dim = 64

// Revision names the table; it changes when any vector does.
const Revision = "glove-40k-64/1"

const rowSize = 4 + Dim // float32 scale, then int8 components

//go:embed glove-40k-64.bin
var vectors string

//go:embed glove-40k-64.words.txt
var list string

// rows maps each word to its row. It is built at first use and never changed after.
var rows = sync.OnceValue(func() map[string]int32 {
	m := make(map[string]int32, len(vectors)/rowSize)
	n := int32(0)
	for w := range strings.Lines(list) {
		m[strings.TrimSpace(w)] = n
		n++
	}
	return m
})

// Add adds the vector of word, which must be in lower case, to dst, which must be Dim long,
// and reports whether the table holds a vector other than zero for it: unknown words and
// English stop words add nothing.
func Add(dst []float64, word string) bool {
	r, ok := rows()[word]
	if !ok {
		return false
	}
	row := vectors[int(r)*rowSize : int(r+1)*rowSize]
	scale := float64(math.Float32frombits(binary.LittleEndian.Uint32([]byte(row[:4]))))
	if scale == 0 {
		return false
	}
	known := false
	for i := range Dim {
		c := int8(row[4+i])
		known = known || c != 0
		dst[i] += float64(scale * float64(c))
	}
	return known
}

// Tokens splits text into the table's words: maximal runs of letters and digits in lower
// case. A possessive's s is dropped with its apostrophe; other apostrophes separate.
func Tokens(text string) []string {
	text = strings.ToLower(text)
	text = strings.NewReplacer("'s ", " ", "’s ", " ").Replace(text)
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// Sum returns the sum of the vectors of text's words, and whether any of them is known. The
// words count as often as they occur. The sum is not scaled.
func Sum(text string) (sum []float64, known bool) { return SumFolded(text, nil) }

// SumFolded is Sum, but a word that the table lacks, which holds no letter with a mark, is looked up
// as fold spells it. nil folds nothing.
func SumFolded(text string, fold func(word string) string) (sum []float64, known bool) {
	sum = make([]float64, Dim)
	for _, w := range Tokens(text) {
		if _, ok := rows()[w]; !ok && fold != nil {
			w = fold(w)
		}
		if Add(sum, w) {
			known = true
		}
	}
	return sum, known
}
