package suggest

import "testing"

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"kitten", "sitting", 3}, {"feul", "fuel", 1}, {"ab", "ba", 1}, {"giá", "gia", 1}, {"abc", "", 3}} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"floor", "margin", "min_effect", "corpus", "chunk"}
	for _, tt := range []struct{ in, want string }{
		{"flor", "floor"},
		{"Margn", "margin"},
		{"min-effect", "min_effect"},
		{"zebra", ""},
		{"", ""},
	} {
		if got := Nearest(tt.in, names); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
