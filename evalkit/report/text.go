package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/measure"
)

// Text writes the comparison's table with its flips, or, without one, the verdict.
func Text(w io.Writer, d Data) error {
	s := d.Verdict.Text()
	if c := d.Comparison; c != nil {
		s = c.Table()
		if len(c.Flips) > 0 {
			s = c.FlipText() + "\n" + s
		}
	}
	_, err := io.WriteString(w, s)
	return err
}

// Scores writes an evaluation as a table: one row per measure with its mean, interval, random
// baseline and the numbers of questions scored, not defined, empty and failed; then the slices.
func Scores(w io.Writer, e *evalkit.Evaluation) error {
	var s strings.Builder
	fmt.Fprintf(&s, "%s  golden %s version %d (%s)  rule %s  view %s  split %s\n\n",
		orDash(e.Build, e.Run), e.Golden.Name, e.Golden.Version, clip(e.Golden.Digest, 12), e.Rule, e.View, e.Split)
	names := slices.SortedFunc(maps.Keys(e.Measures), byFamily)
	table := [][]string{{"measure", "mean", "95 % interval", "random", "n_scored", "n_na", "n_no_result", "n_error"}}
	for _, name := range names {
		m := e.Measures[name]
		interval := "-"
		if m.CI != nil {
			interval = fmt.Sprintf("%.4f to %.4f %s", m.CI[0], m.CI[1], m.CIMethod)
		}
		table = append(table, []string{name, m.Mean.String(), interval, e.Random[name].String(),
			fmt.Sprint(m.NScored), fmt.Sprint(m.NNA), fmt.Sprint(m.NNoResult), fmt.Sprint(m.NError)})
	}
	align(&s, table)
	if len(e.Slices) > 0 {
		s.WriteByte('\n')
		table = [][]string{append([]string{"slice", "n"}, names...)}
		for _, tag := range slices.Sorted(maps.Keys(e.Slices)) {
			row := []string{tag, fmt.Sprint(e.Slices[tag].N)}
			for _, name := range names {
				mean := evalkit.Value{}
				if m := e.Slices[tag].Measures[name]; m != nil {
					mean = m.Mean
				}
				row = append(row, mean.String())
			}
			table = append(table, row)
		}
		align(&s, table)
	}
	for _, warning := range e.Warnings {
		fmt.Fprintf(&s, "warning: %s\n", warning)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// byFamily orders measures by family and cutoff, so that p@10 follows p@5.
func byFamily(x, y string) int {
	mx, _ := measure.Parse(x)
	my, _ := measure.Parse(y)
	if n := strings.Compare(string(mx.Family), string(my.Family)); n != 0 {
		return n
	}
	if mx.Cutoff != my.Cutoff {
		return mx.Cutoff - my.Cutoff
	}
	return strings.Compare(x, y)
}

func orDash(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return "-"
}

// align writes rows in columns two spaces apart.
func align(s *strings.Builder, rows [][]string) {
	var width []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, c := range r {
			line.WriteString(c + strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)+2))
		}
		s.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
