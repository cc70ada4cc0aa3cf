package engine

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/index/lexical"
)

// settingsDoc holds the comments of the types that read the settings, by key. It is written from
// them by TestSettingsDescriptions, which fails where the two differ.
//
//go:embed settings.doc.json
var settingsDoc []byte

// SettingsJSONSchema returns the JSON Schema of the settings file, made from the types that
// read it, so that it cannot drift from them.
func SettingsJSONSchema() []byte {
	var said map[string]string
	if err := json.Unmarshal(settingsDoc, &said); err != nil {
		panic("engine: the descriptions of settings are JSON: " + err.Error())
	}
	schema := schemaOf(reflect.TypeFor[Settings](), "", said)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "assay settings"
	var policy any
	if err := json.Unmarshal([]byte(verdict.PolicyJSONSchema()), &policy); err != nil {
		panic("engine: the policy's schema is JSON: " + err.Error())
	}
	schema["properties"].(map[string]any)["policy"] = policy
	data, err := encode(schema)
	if err != nil {
		panic("engine: a schema always encodes: " + err.Error())
	}
	return data
}

// accepted lists the values of settings that take one of a few words.
func accepted(path string) []string {
	switch path {
	case "chunk.kind":
		return []string{"section", "fixed", "recursive", "sentence"}
	case "chunk.units":
		return []string{"runes", "tokens"}
	case "chunk.prefix":
		return []string{"both", "heading", "title", "none"}
	case "corpus.invalid":
		return []string{"skip", "replace", "error"}
	case "embed.kind":
		return []string{"builtin", "openai", "command", "precomputed", "none"}
	case "embed.overlong":
		return []string{"split", "truncate", "refuse"}
	case "embed.refit":
		return []string{"always", "drift"}
	case "embed.missing":
		return []string{"error", "none"}
	case "lexical.analyzer":
		return lexical.Analyzers()
	case "lexical.long_queries":
		return []string{"trim", "keep"}
	case "lexical.statistics":
		return []string{"global", "per-label"}
	case "hybrid.mode":
		return []string{"hybrid", "vector", "lexical"}
	case "hybrid.fusion":
		return []string{"weighted", "rrf"}
	case "rerank.kind":
		return []string{"none", "mmr", "features"}
	case "search.superseded":
		return []string{"keep", "below"}
	case "answer.kind":
		return []string{"extractive", "chat"}
	}
	return nil
}

// schemaOf is the schema of one setting with its description.
func schemaOf(t reflect.Type, path string, said map[string]string) map[string]any {
	s := shapeOf(t, path, said)
	if text := said[path]; text != "" {
		if hint, ok := s["description"].(string); ok {
			text += "; " + hint
		}
		s["description"] = text
	}
	return s
}

func shapeOf(t reflect.Type, path string, said map[string]string) map[string]any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[time.Duration]() {
		return map[string]any{"type": "string", "description": "a duration such as 30s or 2m"}
	}
	switch t.Kind() {
	case reflect.Struct:
		props := map[string]any{}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == "" || name == "-" {
				continue
			}
			at := name
			if path != "" {
				at = path + "." + name
			}
			props[name] = schemaOf(f.Type, at, said)
		}
		return map[string]any{"type": "object", "additionalProperties": false, "properties": props}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": shapeOf(t.Elem(), path, said)}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": shapeOf(t.Elem(), path, said)}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	s := map[string]any{"type": "string"}
	if words := accepted(path); words != nil {
		s["enum"] = words
	}
	return s
}
