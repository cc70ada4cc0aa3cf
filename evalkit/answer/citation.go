package answer

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Cited is what an answer cites.
type Cited struct {
	Markers []int `json:"markers"`           // in order, with repeats, as written
	Valid   []int `json:"valid"`             // the set of those that were shown, ascending
	Invalid []int `json:"invalid,omitempty"` // the set of the others: 0, or above the number shown
}

// maxMarkers bounds what one answer or range can expand to.
const maxMarkers = 1000

var citationForm = sync.OnceValue(func() *regexp.Regexp {
	label := `(?:(?:sources?|src|refs?|references?|passages?|docs?|documents?|citations?|quellen?|nguồn|đoạn)\s*[:#]?\s*)?`
	number := `\p{Nd}{1,20}`
	// The tail of a marker is what some models append: 【1†source】, 【1:0†source】.
	return regexp.MustCompile(`(?i)\\?[\[【［]\s*\^?\s*` + label +
		`(` + number + `(?:\s*(?:[,;&/–—‑-]|and|und|và)\s*\^?` + label + number + `)*)\s*(?:(?::\p{Nd}{1,4})?†[^\]】］]*)?\\?[\]】］]`)
})

var citationPart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\p{Nd}{1,20}|[–—‑-]`)
})

// Citations reads the markers of an answer: [1], [1, 2], [2][3], [1-3], 【1】, 【2†source】,
// 【1:0†source】, [^1], \[1\], [Source 2], [doc 1; doc 2]. Markers count the passages shown in that
// very prompt, from 1 to shown; others are kept as Invalid. Order and repeats stay in Markers, sets
// are for scoring.
func Citations(text string, shown int) Cited {
	var c Cited
	for _, m := range citationForm().FindAllStringSubmatch(text, -1) {
		previous, dash := -1, false
		for _, part := range citationPart().FindAllString(m[1], -1) {
			if strings.ContainsAny(part, "–—‑-") {
				dash = previous >= 0
				continue
			}
			n := decimalDigits(part)
			if dash && n > previous && n-previous < 100 {
				for k := previous + 1; k < n; k++ {
					c.Markers = append(c.Markers, k)
				}
			}
			c.Markers = append(c.Markers, n)
			previous, dash = n, false
		}
		if len(c.Markers) > maxMarkers {
			c.Markers = c.Markers[:maxMarkers]
			break
		}
	}
	return c.sorted(shown)
}

// decimalDigits returns the value of digits of any script, at most a billion.
func decimalDigits(s string) (n int) {
	for _, r := range s {
		n = min(n*10+digit(r), 1e9)
	}
	return n
}

func (c Cited) sorted(shown int) Cited {
	for _, n := range c.Markers {
		if n >= 1 && n <= shown {
			c.Valid = append(c.Valid, n)
		} else {
			c.Invalid = append(c.Invalid, n)
		}
	}
	slices.Sort(c.Valid)
	slices.Sort(c.Invalid)
	c.Valid, c.Invalid = slices.Compact(c.Valid), slices.Compact(c.Invalid)
	return c
}

// CitedNumbers returns markers that came as a list rather than in text, such as a recorded
// answer's, in the form of Citations.
func CitedNumbers(markers []int, shown int) Cited {
	return Cited{Markers: slices.Clone(markers)}.sorted(shown)
}

// ParseSources reads the field sources of a structured answer: a number, a string, or a list
// of them; 2.0 and "[2]" are 2. ok is false if the value is of another form; a fraction or a
// word in a list is kept as marker 0, which is never valid.
func ParseSources(raw json.RawMessage, shown int) (c Cited, ok bool) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return Cited{}, false
	}
	if list, isList := v.([]any); isList {
		if len(list) > maxMarkers {
			return Cited{}, false
		}
		for _, item := range list {
			n, known := oneSource(item)
			if !known {
				return Cited{}, false
			}
			c.Markers = append(c.Markers, n...)
		}
		return c.sorted(shown), true
	}
	n, known := oneSource(v)
	if !known {
		return Cited{}, false
	}
	c.Markers = n
	return c.sorted(shown), true
}

func oneSource(v any) ([]int, bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > 1e6 {
			return []int{0}, true
		}
		return []int{int(v)}, true
	case string:
		s := strings.TrimSpace(v)
		if n, err := strconv.Atoi(s); err == nil {
			return []int{n}, true
		}
		if c := Citations(s, maxMarkers); len(c.Markers) > 0 {
			return c.Markers, true
		}
		if c := Citations("["+s+"]", maxMarkers); len(c.Markers) > 0 {
			return c.Markers, true
		}
		return []int{0}, true
	case map[string]any:
		for _, key := range []string{"marker", "id", "source", "index"} {
			if inner, ok := v[key]; ok {
				return oneSource(inner)
			}
		}
	}
	return nil, false
}

// BlankCitations replaces citation markers by blanks, so that offsets stay as they are and
// their numbers are not read as numbers of the answer.
func BlankCitations(text string) string {
	return citationForm().ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
}

// StripCitations removes citation markers with the blank before them.
func StripCitations(text string) string {
	var b strings.Builder
	last := 0
	for _, m := range citationForm().FindAllStringIndex(text, -1) {
		b.WriteString(strings.TrimRight(text[last:m[0]], " \t\u00a0"))
		last = m[1]
	}
	b.WriteString(text[last:])
	return b.String()
}
