package dense

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/seed792a4543/assay/internal/collections"
)

// wordVectors returns the word vectors among the shared data, nil for words without one, or
// skips the test.
func wordVectors(t *testing.T) [][]float32 {
	t.Helper()
	b, err := os.ReadFile(collections.Path(t, "data", "glove-40k-64", "glove-40k-64.bin"))
	if err != nil {
		t.Fatal(err)
	}
	const dim = 64
	var rows [][]float32
	for ; len(b) >= 4+dim; b = b[4+dim:] {
		scale := math.Float32frombits(binary.LittleEndian.Uint32(b))
		row := make([]float32, dim)
		for i := range row {
			row[i] = scale * float32(int8(b[4+i]))
		}
		if _, reason := checkVector(row); reason != "" {
			rows = append(rows, nil)
			continue
		}
		rows = append(rows, unitVector(row))
	}
	if rows[0] == nil {
		// The comparison takes the dimension from the first row.
		rows[0] = make([]float32, dim)
		rows[0][0] = 1
	}
	return rows
}
