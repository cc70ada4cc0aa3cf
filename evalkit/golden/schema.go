package golden

import _ "embed"

//go:embed schema.json
var schemaJSON []byte

// JSONSchema returns the JSON Schema (draft 2020-12) of golden files, for editors. Parse checks
// more than it can say, such as repeated keys and ids. The caller owns the slice.
func JSONSchema() []byte { return append([]byte(nil), schemaJSON...) }
