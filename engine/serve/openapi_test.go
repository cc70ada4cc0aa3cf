package serve_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/engine/serve/servetest"
)

// TestOpenAPI holds the handlers to the document: the same endpoints, and every answer and
// refusal fits its schema, which knows every key.
func TestOpenAPI(t *testing.T) {
	s := servetest.New(t)
	h := serve.New(s, serve.Options{Auth: serve.NewAuth(serve.AuthOptions{Local: &serve.Caller{Name: "anna", All: true, Admin: true}})})
	var doc map[string]any
	r := call(h, "GET", "/openapi.json", "")
	r.decode(t, &doc)
	if v := doc["openapi"]; v != "3.1.0" {
		t.Errorf("openapi is %v", v)
	}
	var paths []string
	for path, item := range doc["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			paths = append(paths, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(paths)
	if diff := cmp.Diff(serve.Endpoints(), paths); diff != "" {
		t.Errorf("endpoints (-handlers +document):\n%s", diff)
	}
	for _, tc := range []struct{ method, path, body string }{
		{"POST", "/v1/search", `{"query":"kettle","k":3,"mode":"hybrid"}`},
		{"POST", "/v1/search", `{"query":"the"}`},
		{"POST", "/v1/search", `{"query":"kettle","k":0}`},
		{"POST", "/v1/search", `{"query":"kettle","topk":0}`},
		{"POST", "/v1/search", `{"query":"` + strings.Repeat("x", 5<<20) + `"}`},
		{"POST", "/v1/answer", `{"question":"Within how many days do goods come back after receiving them?","k":2}`},
		{"POST", "/v1/answer", `{"question":""}`},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"Within how many days do goods come back after receiving them?"}]}`},
		{"POST", "/v1/chat/completions", `{"messages":7}`},
		{"GET", "/v1/models", ""},
		{"GET", "/v1/builds", ""},
		{"POST", "/v1/builds", "{}"},
		{"POST", "/v1/promote", `{"build":"` + s.LiveBuild + `"}`},
		{"POST", "/v1/promote", `{"build":"` + s.Candidate + `"}`},
		{"POST", "/v1/promote", `{"build":"ffffffffffff"}`},
		{"POST", "/v1/promote", `{}`},
		{"GET", "/healthz", ""},
		{"GET", "/readyz", ""},
	} {
		r := call(h, tc.method, tc.path, tc.body)
		name := fmt.Sprintf("%s %s %.60s → %d", tc.method, tc.path, tc.body, r.status)
		item, _ := doc["paths"].(map[string]any)[tc.path].(map[string]any)
		op, ok := item[strings.ToLower(tc.method)].(map[string]any)
		if !ok { // a method that is not there: any of the path's refusals
			op = item[slices.Collect(maps.Keys(item))[0]].(map[string]any)
		}
		response, ok := op["responses"].(map[string]any)[fmt.Sprint(r.status)].(map[string]any)
		if !ok {
			t.Errorf("%s: the document does not have this status", name)
			continue
		}
		schema := response["content"].(map[string]any)["application/json"].(map[string]any)["schema"]
		var v any
		r.decode(t, &v)
		for _, problem := range fits(doc, schema, v, "") {
			t.Errorf("%s: %s", name, problem)
		}
		if req, ok := op["requestBody"].(map[string]any); ok && r.status == 200 && tc.method == "POST" {
			var sent any
			if err := json.Unmarshal([]byte(tc.body), &sent); err != nil {
				t.Fatal(err)
			}
			schema := req["content"].(map[string]any)["application/json"].(map[string]any)["schema"]
			for _, problem := range fits(doc, schema, sent, "") {
				t.Errorf("%s: the request was accepted, but %s", name, problem)
			}
		}
	}
	// The check itself must be able to fail.
	hit := map[string]any{"$ref": "#/components/schemas/Hit"}
	if len(fits(doc, hit, map[string]any{"rank": "1"}, "")) < 2 || len(fits(doc, hit, map[string]any{"new_key": 1.0}, "")) < 2 {
		t.Error("the schema check accepts everything")
	}
}

// fits checks v against the part of JSON Schema that the document uses; it knows no other.
func fits(doc map[string]any, schema, v any, at string) (problems []string) {
	s := schema.(map[string]any)
	add := func(format string, args ...any) {
		problems = append(problems, at+": "+fmt.Sprintf(format, args...))
	}
	for key, want := range s {
		switch key {
		case "$ref":
			name := strings.TrimPrefix(want.(string), "#/components/schemas/")
			target, ok := doc["components"].(map[string]any)["schemas"].(map[string]any)[name]
			if !ok {
				add("no schema %s", name)
				continue
			}
			problems = append(problems, fits(doc, target, v, at)...)
		case "type":
			types, ok := want.([]any)
			if !ok {
				types = []any{want}
			}
			if !slices.ContainsFunc(types, func(t any) bool { return isType(v, t.(string)) }) {
				add("%v is no %v", v, want)
			}
		case "const":
			if v != want {
				add("%v is not %v", v, want)
			}
		case "enum":
			if !slices.Contains(want.([]any), v) {
				add("%v is none of %v", v, want)
			}
		case "minimum":
			if n, ok := v.(float64); ok && n < want.(float64) {
				add("%v is below %v", n, want)
			}
		case "maximum":
			if n, ok := v.(float64); ok && n > want.(float64) {
				add("%v is above %v", n, want)
			}
		case "pattern":
			if str, ok := v.(string); ok && !regexp.MustCompile(want.(string)).MatchString(str) {
				add("%q does not match %v", str, want)
			}
		case "required":
			if o, ok := v.(map[string]any); ok {
				for _, name := range want.([]any) {
					if _, ok := o[name.(string)]; !ok {
						add("%v is missing", name)
					}
				}
			}
		case "properties":
			if o, ok := v.(map[string]any); ok {
				for name, value := range o {
					if prop, ok := want.(map[string]any)[name]; ok {
						problems = append(problems, fits(doc, prop, value, at+"/"+name)...)
					}
				}
			}
		case "additionalProperties":
			props, _ := s["properties"].(map[string]any)
			if o, ok := v.(map[string]any); ok && want == false {
				for name := range o {
					if _, ok := props[name]; !ok {
						add("%s is not in the document", name)
					}
				}
			}
		case "items":
			if list, ok := v.([]any); ok {
				for i, item := range list {
					problems = append(problems, fits(doc, want, item, fmt.Sprintf("%s/%d", at, i))...)
				}
			}
		case "description", "minLength", "maxLength":
		default:
			add("this test does not know %q", key)
		}
	}
	return problems
}

func isType(v any, name string) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer" && v == float64(int64(v))
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}
