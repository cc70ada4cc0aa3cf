package engine

import (
	"fmt"
	"maps"
	"slices"
)

// PathRules are lists of labels or documents by path or pattern. Only strings are taken: a number
// among labels is a slip, and must not become a label.
type PathRules map[string][]string

// UnmarshalYAML reads the rules strictly.
func (r *PathRules) UnmarshalYAML(unmarshal func(any) error) error {
	var values map[string]any
	if err := unmarshal(&values); err != nil {
		return err
	}
	rules := PathRules{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		list, ok := value.([]any)
		if s, single := value.(string); single {
			list, ok = []any{s}, true
		}
		if !ok {
			return fmt.Errorf("%q has neither a string nor a list of strings: write [label], for instance", key)
		}
		rules[key] = []string{}
		for _, v := range list {
			s, ok := v.(string)
			if !ok {
				return fmt.Errorf("%q holds %v, which is not a string: correct it, or put it in quotes", key, v)
			}
			rules[key] = append(rules[key], s)
		}
	}
	*r = rules
	return nil
}
