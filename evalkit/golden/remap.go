package golden

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ApplyRemaps writes the proposals into the text of a golden file and returns the new text and
// a unified diff for review. Only the doc and section values of the members named are touched,
// so comments and layout stay. A proposal whose place in the file cannot be found, or that
// would leave the file unreadable or another label changed, is returned in left. The version is
// not raised: that, and a new freeze, is the reviewer's decision.
func ApplyRemaps(name string, data []byte, remaps []Remap) (text []byte, diff string, left []Remap) {
	set, err := Parse(name, data)
	if err != nil {
		return data, "", remaps
	}
	old := strings.Split(string(data), "\n")
	lines := slices.Clone(old)
	for _, r := range remaps {
		try := slices.Clone(lines)
		if !r.apply(set, try) || !r.holds(name, set, try) {
			left = append(left, r)
			continue
		}
		lines = try
		set, _ = Parse(name, []byte(strings.Join(lines, "\n"))) // holds has parsed it
	}
	return []byte(strings.Join(lines, "\n")), unifiedDiff(name, old, lines), left
}

// extent returns the last line of the member that begins at line: the one before whatever the
// set holds next.
func (r Remap) extent(set *Set, last int) int {
	for i := range set.Questions {
		q := &set.Questions[i]
		next := []int{q.Line}
		for _, g := range q.Gold {
			for _, m := range g {
				next = append(next, m.Line)
			}
		}
		for _, n := range next {
			if n > r.Line {
				last = min(last, n-1)
			}
		}
	}
	return last
}

// apply replaces the values in lines; it reports whether all were found.
func (r Remap) apply(set *Set, lines []string) bool {
	if r.Line < 1 || r.Line > len(lines) || r.OldPath == nil {
		return false // a whole document has no section value to replace
	}
	last := r.extent(set, len(lines))
	replace := func(key, from, to string) bool {
		if from == to {
			return true
		}
		value := `(?:` + regexp.QuoteMeta(from) + `|"` + regexp.QuoteMeta(strings.Trim(strconv.Quote(from), `"`)) + `"|'` +
			regexp.QuoteMeta(strings.ReplaceAll(from, "'", "''")) + `')`
		re := regexp.MustCompile(`("?` + key + `"?:\s*)` + value + `(\s*(?:[,}\]#].*)?\r?)$`)
		for i := r.Line - 1; i < last; i++ {
			if m := re.FindStringSubmatchIndex(lines[i]); m != nil {
				lines[i] = lines[i][:m[3]] + quoteScalar(to) + lines[i][m[4]:]
				return true
			}
		}
		return false
	}
	return replace("doc", string(r.OldDoc), string(r.Doc)) && replace("section", *r.OldPath, r.Section)
}

// quoteScalar writes a value so that YAML in either style and JSON read it as text.
func quoteScalar(s string) string {
	data, err := marshal(s)
	if err != nil {
		return strconv.Quote(s) // unreachable: a string always encodes
	}
	return string(data)
}

// holds reports whether the new text differs from the set in the one member alone.
func (r Remap) holds(name string, before *Set, lines []string) bool {
	after, err := Parse(name, []byte(strings.Join(lines, "\n")))
	if err != nil || len(after.Questions) != len(before.Questions) {
		return false
	}
	want := *before
	want.Questions = slices.Clone(before.Questions)
	changed := 0
	for i := range want.Questions {
		q := &want.Questions[i]
		if q.ID != r.Question {
			continue
		}
		q.Gold = slices.Clone(q.Gold)
		for g := range q.Gold {
			q.Gold[g] = slices.Clone(q.Gold[g])
			for k := range q.Gold[g] {
				m := &q.Gold[g][k]
				if m.Line == r.Line && m.Doc == r.OldDoc && m.Section != nil && *m.Section == *r.OldPath && changed == 0 {
					section := r.Section
					m.Doc, m.Section = r.Doc, &section
					changed++
				}
			}
		}
	}
	return changed == 1 && after.Digest() == want.Digest()
}

// unifiedDiff returns the lines that differ, with three lines around them; both sides have the
// same number of lines.
func unifiedDiff(name string, old, new []string) string {
	const around = 3
	var b bytes.Buffer
	for i := 0; i < len(old); i++ {
		if old[i] == new[i] {
			continue
		}
		start, end := max(i-around, 0), i // end: last changed line of the hunk
		for j := i + 1; j < len(old) && j <= end+2*around; j++ {
			if old[j] != new[j] {
				end = j
			}
		}
		stop := min(end+around+1, len(old))
		if b.Len() == 0 {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
		}
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", start+1, stop-start, start+1, stop-start)
		for j := start; j < stop; {
			if old[j] == new[j] {
				fmt.Fprintf(&b, " %s\n", old[j])
				j++
				continue
			}
			k := j
			for k < stop && old[k] != new[k] {
				fmt.Fprintf(&b, "-%s\n", old[k])
				k++
			}
			for ; j < k; j++ {
				fmt.Fprintf(&b, "+%s\n", new[j])
			}
		}
		i = stop - 1
	}
	return b.String()
}
