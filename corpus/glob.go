package corpus

import (
	"fmt"
	"path"
	"strings"
)

// matchGlob reports whether a slash path matches a pattern: path.Match for each part, and **
// for any number of parts, none included. A pattern without a slash matches the base name.
func matchGlob(pattern, name string) bool {
	pattern = strings.TrimPrefix(pattern, "./")
	if !strings.Contains(pattern, "/") && pattern != "**" {
		name = path.Base(name)
	}
	return matchParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

// matchParts compares part by part. Like path.Match it backtracks to the last ** only, so that
// the cost is at most the product of both lengths.
func matchParts(pattern, name []string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, mark = p, n
			p++
			continue
		case p < len(pattern):
			if ok, _ := path.Match(pattern[p], name[n]); ok {
				p++
				n++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

func checkGlobs(option string, patterns []string) error {
	for _, pattern := range patterns {
		if pattern == "" {
			return fmt.Errorf("%s: the empty pattern matches nothing", option)
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%s: pattern %q is malformed: use *, **, ? and [a-z]", option, pattern)
		}
	}
	return nil
}

func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if matchGlob(p, name) {
			return true
		}
	}
	return false
}
