package answer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParts(t *testing.T) {
	for _, tt := range []struct {
		name, question string
		want           []string
	}{
		{"one", "How long is the warranty?", nil},
		{"one with a condition", "If I sell it, does the warranty pass on?", nil},
		{"two things to buy", "A kettle and a fan, what do they cost?", nil},
		{"verb within a statement", "It shows E-05 and is old. What is broken?", nil},
		{"none", "", nil},
		{"two", "What do I pay, and where does the money go?", []string{"What do I pay", "and where does the money go?"}},
		{"verb", "Send me a copy. How fast, and is it free?", []string{"Send me a copy. How fast", "and is it free?"}},
		{"single words are no part", "Price? Or is it free? When?", nil},
		{"German", "Was kostet das und wie lange dauert es?", []string{"Was kostet das", "und wie lange dauert es?"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parts(tt.question)); diff != "" {
				t.Error(diff)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.String().Draw(t, "question")
		for _, p := range parts(q) {
			if !strings.Contains(q, p) {
				t.Fatalf("part %q is not of %q", p, q)
			}
		}
	})
}

func TestAmount(t *testing.T) {
	for _, tt := range []struct {
		question, text string
		want           amount
		fits           float64
	}{
		{"What does delivery cost?", "It costs 30,000 VND.", moneyAmount, 1},
		{"What does delivery cost?", "It takes 3 days.", moneyAmount, 0.5},
		{"What does delivery cost?", "It is cheap.", moneyAmount, 0},
		{"How many days until it comes?", "Within 3 days.", timeAmount, 1},
		{"Until what hour can I order?", "Before 13:00.", timeAmount, 1},
		{"How long is the cover?", "Model RC-18.", timeAmount, 0},
		{"How many cups?", "1.8 cups", anyAmount, 1},
		{"Wie lange dauert es?", "3 Tage", timeAmount, 1},
		{"Is it allowed?", "3 days", noAmount, 0},
	} {
		if got := asksFor(tt.question); got != tt.want || got.fits(tt.text) != tt.fits {
			t.Errorf("%q asks for %d, fits %q by %g; want %d, %g", tt.question, got, tt.text, got.fits(tt.text), tt.want, tt.fits)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	if got := identifiers("It shows E-04, 3 times."); len(got) != 1 || got[0] != "e-04" {
		t.Errorf("got %q", got)
	}
	if got := identifiers("nothing"); got != nil {
		t.Errorf("got %q", got)
	}
}

func TestConfidence(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		mass, covered, missing float64
		answered               bool
	}{
		{"nothing", 0, 0, 0, false},
		{"one rare word of many", 4, 0.2, 0, false},
		{"two rare words of many", 8, 0.3, 0, true},
		{"two rare words of many, but not the name", 8, 0.2, 4, false},
		{"one word that is all", 4, 1, 0, true},
		{"half of a short question", 2, 0.5, 0, false},
		{"a name alone is missing", 0, 0, 4, false},
	} {
		if c := confidence(tt.mass, tt.covered, tt.missing); c < 0 || c >= 1 || c >= DefaultThreshold != tt.answered {
			t.Errorf("%s: confidence %g", tt.name, c)
		}
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		question string
		want     []string
	}{
		{"Would you take Bitcoin?", []string{"bitcoin"}},
		{"Is the layer of the RC-18 free of PFAS?", []string{"rc", "pfas"}},
		{"PFAS in the pan?", []string{"pfas"}},
		{"What's the fee to get a fan out to Truong Sa? Thanks", []string{"truong", "sa"}},
		{"How much CO2 does it put out?", []string{"co2"}},
		{"Where? When: Now!", nil},
		{"HOW MUCH IS IT", nil},
		{"Wie lange habe ich für die Rückgabe Zeit?", nil},
		{"xôi ở đâu", nil},
	} {
		if diff := cmp.Diff(tt.want, names(tt.question)); diff != "" {
			t.Errorf("%q: %s", tt.question, diff)
		}
	}
}

func BenchmarkExtractive(b *testing.B) {
	e := NewExtractive(ExtractiveOptions{Similarity: WordSimilarity()})
	var ps []Passage
	for i := range 5 {
		text := strings.Repeat("Parking at the harbour costs 5 EUR a day. Boats sail on Mondays at 10:00. Dogs stay on the lead, children pay half of it.\n\n", 5)
		ps = append(ps, Passage{Marker: i + 1, Text: text})
	}
	r := Request{Question: "What does parking near the port cost, and when do ferries leave?", Passages: ps}
	if _, err := e.Answer(b.Context(), r); err != nil { // the word vectors are read once
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := e.Answer(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
