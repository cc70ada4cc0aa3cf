package verdict

import (
	_ "embed" // for the schema below
)

//go:embed policy.schema.json
var policySchema string

// PolicyJSONSchema returns the JSON Schema (draft 2020-12) of policy files, for editors. Parse
// checks more: measures by name, repeated keys.
func PolicyJSONSchema() string { return policySchema }
