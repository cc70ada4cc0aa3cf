package golden

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The published schema and the loader know the same keys.
func TestJSONSchema(t *testing.T) {
	var s struct {
		Properties map[string]any `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]any   `json:"properties"`
			OneOf      []map[string]any `json:"oneOf"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(JSONSchema(), &s); err != nil {
		t.Fatal(err)
	}
	fact := s.Defs["phrasing"].OneOf[1]["properties"].(map[string]any)
	for _, tt := range []struct {
		name string
		got  map[string]any
		want []string
	}{
		{"set", s.Properties, setKeys},
		{"question", s.Defs["question"].Properties, questionKeys},
		{"member", s.Defs["member"].Properties, memberKeys},
		{"phrasing", fact, factKeys},
		{"label", s.Defs["label"].Properties, labelKeys},
	} {
		if diff := cmp.Diff(slices.Sorted(slices.Values(tt.want)), slices.Sorted(maps.Keys(tt.got))); diff != "" {
			t.Errorf("%s (-loader +schema):\n%s", tt.name, diff)
		}
	}
}
