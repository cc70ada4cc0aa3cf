package dense

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// wordVectors returns the word vectors among the shared data, nil for words without one, or
// skips the test.
func wordVectors(t *testing.T) [][]float32 {
	t.Helper()
	dir := os.Getenv("ASSAY_SHARED")
	if dir == "" {
		at, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
				dir = filepath.Join(filepath.Dir(at), "shared")
				break
			}
			if filepath.Dir(at) == at {
				break
			}
			at = filepath.Dir(at)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "data", "glove-40k-64", "glove-40k-64.bin"))
	if err != nil {
		t.Skipf("no shared data: set ASSAY_SHARED to its folder: %v", err)
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
