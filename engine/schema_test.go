package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed792a4543/assay/engine"
)

// Every word that the schema lists is accepted by the reader, and any other is refused.
func TestSettingsSchemaMatchesTheReader(t *testing.T) {
	var schema struct {
		Properties map[string]struct {
			Properties map[string]struct {
				Enum []string `json:"enum"`
			} `json:"properties"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(engine.SettingsJSONSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	extra := map[string]string{
		"embed.openai": ", url: 'http://localhost:1', model: m", "embed.command": ", command: [x]",
		"embed.precomputed": ", path: v.npy", "answer.chat": ", url: 'http://localhost:1', model: m",
	}
	n := 0
	for part, p := range schema.Properties {
		if part == "policy" {
			continue
		}
		for key, k := range p.Properties {
			for _, word := range k.Enum {
				n++
				text := fmt.Sprintf("%s: {%s: %s%s}\n", part, key, word, extra[part+"."+word])
				if _, err := engine.ParseSettings("assay.yaml", []byte(text)); err != nil {
					t.Errorf("%s: %v", strings.TrimSpace(text), err)
				}
			}
			if len(k.Enum) > 0 && key != "missing" && key != "overlong" {
				text := fmt.Sprintf("%s: {%s: nonsense}\n", part, key)
				if _, err := engine.ParseSettings("assay.yaml", []byte(text)); err == nil {
					t.Errorf("%s is accepted", strings.TrimSpace(text))
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d words: the schema has lost some", n)
	}
}
