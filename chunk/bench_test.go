package chunk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/chunk"
)

// BenchmarkSplit reports MB/s of cutting a document of 1 MiB that is already read.
func BenchmarkSplit(b *testing.B) {
	var text strings.Builder
	for i := 0; text.Len() < 1<<20; i++ {
		fmt.Fprintf(&text, "## Part %d\n\n", i)
		for j := range 6 {
			text.WriteString("Orders above five hundred are delivered free of charge, smaller ones for thirty. Bảo hành 12 tháng cho ấm đun nước. ")
			if j%3 == 2 {
				text.WriteString("\n\n")
			}
		}
	}
	d := load(b, "a.md", text.String())
	for _, s := range []chunk.Settings{
		{Kind: chunk.KindSection}, {Kind: chunk.KindSection, Max: 200}, {Kind: chunk.KindSection, Max: 200, Units: chunk.UnitTokens},
		{Kind: chunk.KindFixed}, {Kind: chunk.KindFixed, Overlap: 200}, {Kind: chunk.KindRecursive}, {Kind: chunk.KindSentence}, {Kind: chunk.KindSentence, Neighbours: 1},
	} {
		b.Run(fmt.Sprintf("kind=%s/limit=%d/overlap=%d/units=%s/neighbours=%d", s.Kind, s.Limit(), s.Overlap, s.WithDefaults().Units, s.Neighbours), func(b *testing.B) {
			b.SetBytes(int64(len(d.Text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chunk.Split(d, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
