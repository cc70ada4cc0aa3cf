package golden

import "os"

// Load reads the golden set in the file at path: JSON if the name ends in .json, JSONL if it
// ends in .jsonl or .ndjson, else YAML. Errors are a *ParseError that holds every fault found,
// each with its line.
func Load(path string) (*Set, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}
