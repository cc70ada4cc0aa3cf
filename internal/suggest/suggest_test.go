package suggest

import "testing"

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
