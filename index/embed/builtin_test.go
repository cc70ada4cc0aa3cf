package embed

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/index/embed/internal/unit"
	"github.com/seed792a4543/assay/index/embed/words"
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

// TestBuiltinFold: "café" is a word of the English table where the texts are English.
func TestBuiltinFold(t *testing.T) {
	ctx := context.Background()
	fold := func(w string) string { return strings.NewReplacer("é", "e", "ü", "u").Replace(w) }
	row := func(b *Builtin, text string) []float32 {
		t.Helper()
		rows, err := b.Embed(ctx, []string{text}, index.KindQuery)
		if err != nil {
			t.Fatal(err)
		}
		return rows[0]
	}
	for _, n := range []int{3, 120} {
		b, err := FitBuiltin(ctx, sampleTexts(n), BuiltinOptions{Dimensions: 8, Fold: fold})
		if err != nil {
			t.Fatal(err)
		}
		if got := row(b, "Café"); got == nil || gocmp.Diff(row(b, "cafe"), got) != "" {
			t.Errorf("%d texts: café is not cafe: %v", n, got)
		}
		plain, err := FitBuiltin(ctx, sampleTexts(n), BuiltinOptions{Dimensions: 8})
		if err != nil {
			t.Fatal(err)
		}
		if got := row(plain, "für"); got != nil {
			t.Errorf("%d texts: für has a vector although nothing says that the texts are English", n)
		}
		if plain.Fingerprint() == b.Fingerprint() {
			t.Errorf("%d texts: the fingerprint does not tell", n)
		}
		path := filepath.Join(t.TempDir(), "model")
		if err := b.Save(nil, path); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenBuiltin(path, BuiltinOptions{}); !errors.Is(err, index.ErrEmbedder) {
			t.Errorf("opened without folding: %v, want ErrEmbedder", err)
		}
		opened, err := OpenBuiltin(path, BuiltinOptions{Fold: fold})
		if err != nil || opened.Fingerprint() != b.Fingerprint() || row(opened, "café") == nil {
			t.Errorf("opened: %v", err)
		}
		if err := plain.Save(nil, path); err != nil {
			t.Fatal(err)
		}
		if opened, err = OpenBuiltin(path, BuiltinOptions{Fold: fold}); err != nil || row(opened, "café") != nil {
			t.Errorf("a model made without folding folds: %v", err)
		}
	}
}

func fitted(t testing.TB) *Builtin {
	t.Helper()
	b, err := FitBuiltin(context.Background(), sampleTexts(120), BuiltinOptions{Dimensions: 8})
	if err != nil {
		t.Fatal(err)
	}
	if !b.Fitted() {
		t.Fatal("120 texts are not fitted")
	}
	return b
}

func TestBuiltinRows(t *testing.T) {
	b := fitted(t)
	texts := []string{"boiler pump", "item3", "automobile", "item3 automobile", "zzzz qqqq", "", "refund the money"}
	rows, err := b.Embed(context.Background(), texts, index.KindQuery)
	if err != nil {
		t.Fatal(err)
	}
	dim := b.Fingerprint().Dimension
	if dim != 8+64 {
		t.Errorf("dimension %d, want 72", dim)
	}
	for i, text := range texts {
		if i == 4 || i == 5 {
			if rows[i] != nil {
				t.Errorf("%q has a vector", text)
			}
			continue
		}
		if err := unit.Check(rows[i], dim); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	zero := func(v []float32) bool { return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) }
	if zero(rows[1][:8]) || !zero(rows[1][8:]) {
		t.Error("a word known to the fitted model alone should have that half alone")
	}
	if !zero(rows[2][:8]) || zero(rows[2][8:]) {
		t.Error("a word known to the word table alone should have that half alone")
	}
	share := 0.0
	for _, x := range rows[3][8:] {
		share += float64(x) * float64(x)
	}
	if math.Abs(share-.3/1.3) > 1e-5 {
		t.Errorf("the word table weighs %.6f, want .3/1.3", share)
	}
}

func TestBuiltinSaveOpen(t *testing.T) {
	for _, n := range []int{3, 120} {
		b, err := FitBuiltin(context.Background(), sampleTexts(n), BuiltinOptions{Dimensions: 8, Tokenizer: "en/1", Tokenize: words.Tokens})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model")
		if err := b.Save(nil, path); err != nil {
			t.Fatal(err)
		}
		c, err := OpenBuiltin(path, BuiltinOptions{Tokenizer: "en/1", Tokenize: words.Tokens})
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(b.Fingerprint(), c.Fingerprint()); d != "" {
			t.Error(d)
		}
		texts := []string{"boiler valve", "money back", "nothingknown"}
		x, _ := b.Embed(context.Background(), texts, index.KindDocument)
		y, _ := c.Embed(context.Background(), texts, index.KindDocument)
		if d := gocmp.Diff(x, y); d != "" {
			t.Error(d)
		}
		if _, err := OpenBuiltin(path, BuiltinOptions{Tokenizer: "de/1", Tokenize: words.Tokens}); !errors.Is(err, index.ErrEmbedder) {
			t.Errorf("another tokenizer: %v, want ErrEmbedder", err)
		}
	}
}

func TestBuiltinDamage(t *testing.T) {
	data := fitted(t).encode()
	for n := range len(data) {
		if _, err := decodeBuiltin("f", data[:n], BuiltinOptions{}); !errors.Is(err, index.ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: %v, want ErrCorrupt", n, len(data), err)
		}
	}
	for i := range data {
		bad := slices.Clone(data)
		bad[i] ^= 0x10
		_, err := decodeBuiltin("f", bad, BuiltinOptions{})
		if !errors.Is(err, index.ErrCorrupt) && !(i < 12 && errors.Is(err, index.ErrFormat)) {
			t.Fatalf("byte %d flipped: %v", i, err)
		}
	}
}

func FuzzModelFile(f *testing.F) {
	f.Add(fitted(f).encode()[12:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		// The checksum is made right, so that what lies behind it is reached.
		data := append([]byte("ASSAYLSM\x01\x00\x00\x00"), body[:max(0, len(body)-32)]...)
		sum := sha256.Sum256(data)
		b, err := decodeBuiltin("f", append(data, sum[:]...), BuiltinOptions{})
		if err != nil {
			return
		}
		rows, err := b.Embed(context.Background(), []string{"boiler water automobile"}, index.KindDocument)
		if err != nil {
			t.Fatal(err)
		}
		if rows[0] != nil && unit.Check(rows[0], b.Fingerprint().Dimension) != nil {
			t.Errorf("row %v", rows[0])
		}
		again, err := decodeBuiltin("f", b.encode(), BuiltinOptions{})
		if err != nil || again.revision != b.revision {
			t.Errorf("printed and parsed back: %v", err)
		}
	})
}

func TestNeedsRefit(t *testing.T) {
	b := fitted(t)
	same, err := b.Measure(context.Background(), sampleTexts(120))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		d    Drift
		want bool
	}{
		{"the same", same, false},
		{"grown by a quarter", Drift{Texts: 150, Tokens: 1000}, false},
		{"grown by more", Drift{Texts: 151, Tokens: 1000}, true},
		{"shrunk by a fifth", Drift{Texts: 96, Tokens: 1000}, false},
		{"shrunk by more", Drift{Texts: 95, Tokens: 1000}, true},
		{"too small now", Drift{Texts: 49}, true},
		{"half a point unknown", Drift{Texts: 120, Tokens: 1000, Unknown: 5}, false},
		{"more unknown", Drift{Texts: 120, Tokens: 1000, Unknown: 6}, true},
	} {
		if got := b.NeedsRefit(tt.d); got != tt.want {
			t.Errorf("%s: NeedsRefit(%+v) = %v", tt.name, tt.d, got)
		}
	}
}

func TestRefit(t *testing.T) {
	ctx := context.Background()
	old, texts := fitted(t), sampleTexts(120)
	path := filepath.Join(t.TempDir(), "model")
	if err := old.Save(nil, path); err != nil {
		t.Fatal(err)
	}
	opened, err := OpenBuiltin(path, BuiltinOptions{Dimensions: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Builtin{old, opened} {
		kept, d, err := b.Refit(ctx, append(slices.Clone(texts), "boiler pump zzqy"))
		if err != nil {
			t.Fatal(err)
		}
		if kept != b {
			t.Errorf("one text more: fitted again, drift %+v", d)
		}
		if want := (Drift{Texts: 121, Tokens: d.Tokens, Unknown: 1}); d != want || d.Tokens < 120 {
			t.Errorf("one text more: drift %+v, want %+v", d, want)
		}
		double := sampleTexts(240)
		next, _, err := b.Refit(ctx, double)
		if err != nil {
			t.Fatal(err)
		}
		full, err := FitBuiltin(ctx, double, BuiltinOptions{Dimensions: 8})
		if err != nil {
			t.Fatal(err)
		}
		if next == b || string(next.encode()) != string(full.encode()) {
			t.Error("twice as many texts: not the model fitted on them")
		}
		if next.Fingerprint() == b.Fingerprint() {
			t.Error("another model has the same fingerprint")
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := old.Refit(cancelled, texts); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
