package embed

import (
	"context"
	"testing"

	"github.com/seed792a4543/assay/index"
)

var _ index.Embedder = (*Builtin)(nil)

func TestBuiltinWordsAlone(t *testing.T) {
	b, err := FitBuiltin(context.Background(), []string{"one text"}, BuiltinOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := b.Embed(context.Background(), []string{"a car for sale", "buy an automobile", "boil the potatoes", "the of", "xqzzt"}, index.KindDocument)
	if err != nil {
		t.Fatal(err)
	}
	dot := func(a, b []float32) (s float64) {
		for i := range a {
			s += float64(a[i]) * float64(b[i])
		}
		return s
	}
	if near, far := dot(rows[0], rows[1]), dot(rows[0], rows[2]); near < far+.2 {
		t.Errorf("car/automobile %.3f, car/potatoes %.3f: want the first clearly higher", near, far)
	}
	if rows[3] != nil || rows[4] != nil {
		t.Errorf("stop words and unknown words have vectors: %v, %v", rows[3] != nil, rows[4] != nil)
	}
}
