package verdict

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPolicyJSONSchema keeps the published schema and the reader in step.
func TestPolicyJSONSchema(t *testing.T) {
	var schema struct {
		Properties map[string]struct {
			Properties map[string]any
			Enum       []string
		}
	}
	if err := json.Unmarshal([]byte(PolicyJSONSchema()), &schema); err != nil {
		t.Fatal(err)
	}
	keys := []string{"schema"}
	for f := range reflect.TypeFor[Policy]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	if d := cmp.Diff(keys, slices.Sorted(maps.Keys(schema.Properties))); d != "" {
		t.Errorf("keys of Policy and of the schema (-Policy +schema):\n%s", d)
	}
	for key, property := range schema.Properties {
		if _, err := Parse("p", []byte("primary: hit@3\n"+key+": ~\n")); key != "primary" && (err == nil || strings.Contains(err.Error(), "unknown key")) {
			t.Errorf("the reader does not know %s: %v", key, err)
		}
		for _, word := range property.Enum {
			if _, err := Parse("p", []byte("primary: hit@3\n"+key+": "+word+"\n")); err != nil {
				t.Errorf("the reader refuses %s: %s: %v", key, word, err)
			}
		}
	}
	var names []string
	for _, g := range Guardrails() {
		names = append(names, g.Name)
	}
	if d := cmp.Diff(names, slices.Sorted(maps.Keys(schema.Properties["guardrails"].Properties))); d != "" {
		t.Errorf("guardrails (-reader +schema):\n%s", d)
	}
}
