package embed

import (
	"context"
	"fmt"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// ProbeTexts returns the texts that Probe embeds: an English sentence, a line of figures and a
// sentence in other scripts.
func ProbeTexts() []string {
	return []string{
		"Unused goods can be returned within seven days of delivery, with the receipt.",
		"2 × 4.75 mm, 30000 VND, 12:30, ISO 9001:2015, part no. 88-B/17",
		"Trả hàng trong vòng bảy ngày. 七天内可以退货。 Rückgabe binnen sieben Tagen.",
	}
}

// DefaultDrift is the cosine below which CompareProbes calls a probe moved. Servers that batch
// or quantise differently from day to day stay above it; another model does not.
const DefaultDrift = 0.999

// Probe embeds the probe texts as documents, past any cache. The vectors are stored with a
// build and compared when it is opened, because a model can change behind its name. A text
// without a vector gives nil.
func Probe(ctx context.Context, e index.Embedder) ([][]float32, error) {
	for {
		u, ok := e.(interface{ Unwrap() index.Embedder })
		if !ok {
			break
		}
		e = u.Unwrap()
	}
	rows, err := e.Embed(ctx, ProbeTexts(), index.KindDocument)
	if err != nil {
		return nil, fmt.Errorf("probe embedder %s: %w", e.Fingerprint().Model, err)
	}
	return rows, nil
}

// Moved is a probe whose vector is not what it was.
type Moved struct {
	Text   string
	Cosine float64 // between then and now, in [-1,1]; 0 if one has no vector or another dimension
}

// CompareProbes returns the probes that moved: cosine below threshold (0 means DefaultDrift),
// or a vector on one side only. It returns nil if the model is what it was. Fewer probes then
// than now (an older program asked fewer) compares those there are.
func CompareProbes(then, now [][]float32, threshold float64) []Moved {
	if threshold == 0 {
		threshold = DefaultDrift
	}
	var out []Moved
	texts := ProbeTexts()
	for i := range min(len(then), len(now), len(texts)) {
		if len(then[i]) == 0 && len(now[i]) == 0 {
			continue
		}
		if c := unit.Cosine(then[i], now[i]); !(c >= threshold) {
			out = append(out, Moved{texts[i], c})
		}
	}
	return out
}
