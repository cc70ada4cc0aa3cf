package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed792a4543/assay/evalkit"
)

// Table returns the comparison as aligned plain text: settings that differ, one row per measure,
// the verdict with its reasons, and warnings as footnotes. A difference that the data cannot tell
// from chance prints as ~, whatever its size; the interval beside it says how large it might be.
func (c *Comparison) Table() string {
	var s strings.Builder
	var notes []string
	mark := func(note string) string { // numbers each footnote once
		for i, n := range notes {
			if n == note {
				return superscript(i + 1)
			}
		}
		notes = append(notes, note)
		return superscript(len(notes))
	}
	for _, w := range c.Warnings {
		mark(w)
	}
	if len(c.Settings) > 0 {
		rows := [][]string{{"setting", c.A, c.B}}
		for _, d := range c.Settings {
			rows = append(rows, []string{d.Key, orNone(d.A), orNone(d.B)})
		}
		writeRows(&s, rows)
		s.WriteByte('\n')
	}
	if len(c.Measures) > 0 {
		head := "difference"
		for i := range c.Warnings {
			head += " " + superscript(i+1)
		}
		rows := [][]string{{"measure", c.A, c.B, head, "90 % interval", "p", "win/tie/loss"}}
		for _, m := range c.Measures {
			delta, p := "~", "-"
			if m.Detectable {
				delta = fmt.Sprintf("%+.4f", m.Delta.V)
				if m.LossShown {
					delta += " " + mark(fmt.Sprintf("a loss by the verdict's one-sided test, p %.4f", c.Verdict.PReject.V))
				}
			}
			if !m.Delta.OK {
				delta = "n/a"
			}
			if m.PHolm.OK {
				p = fmt.Sprintf("%.3f", m.PHolm.V)
			}
			interval := "n/a"
			if m.Lower.OK {
				interval = fmt.Sprintf("%+.4f to %+.4f", m.Lower.V, m.Upper.V)
				if m.Descriptive {
					interval += " " + mark("descriptive only: fewer than 10 changed questions or 30 questions")
				}
			}
			rows = append(rows, []string{m.Name, m.A.String(), m.B.String(), delta, interval, p, fmt.Sprintf("%d/%d/%d", m.Wins, m.Ties, m.Losses)})
		}
		writeRows(&s, rows)
		n := c.Measures[0].N
		fmt.Fprintf(&s, "%d questions; ~ no detectable difference at %g; p two-sided", n, c.Alpha)
		if others := len(c.Measures) - 1; others > 1 {
			fmt.Fprintf(&s, ", below the primary adjusted over %d measures (Holm)", others)
		}
		s.WriteByte('\n')
		// Methods that draw at random are named with their seed, each once.
		var random []string
		for _, m := range c.Measures {
			for _, name := range []string{m.Method, m.Test} {
				if strings.Contains(name, "seed") && !slices.Contains(random, name) {
					random = append(random, name)
				}
			}
		}
		if len(random) > 0 {
			fmt.Fprintf(&s, "graded measures: %s\n", strings.Join(random, "; "))
		}
	}
	if len(notes) > 0 {
		s.WriteByte('\n')
	}
	for i, n := range notes {
		fmt.Fprintf(&s, "%s %s\n", superscript(i+1), n)
	}
	if c.Verdict != nil {
		s.WriteByte('\n')
		s.WriteString(c.Verdict.Text())
	}
	return s.String()
}

// FlipText returns every flip with both ranked lists side by side, * marking gold and = a score
// equal to that of the slot above.
func (c *Comparison) FlipText() string {
	var s strings.Builder
	for i := range c.Flips {
		f := &c.Flips[i]
		if i > 0 {
			s.WriteByte('\n')
		}
		s.WriteString(f.Headline() + "\n")
		rows := [][]string{{"", c.A, c.B}}
		for r := range max(len(f.ListA), len(f.ListB)) {
			rows = append(rows, []string{strconv.Itoa(r + 1), cell(f.ListA, r), cell(f.ListB, r)})
		}
		writeRows(&s, rows)
	}
	return s.String()
}

// Headline returns one line about the flip: kind, question, values and remarks.
func (f *Flip) Headline() string {
	line := f.Kind + " " + f.Question
	if f.Critical {
		line += " (critical)"
	}
	line += fmt.Sprintf(" %s → %s", trim(f.A), trim(f.B))
	if f.Tie {
		line += " (within a tie of scores)"
	}
	if f.Text != "" {
		line += ": " + f.Text
	}
	return line
}

// trim prints 0 and 1 without decimals.
func trim(v evalkit.Value) string {
	if v.OK && (v.V == 0 || v.V == 1) {
		return strconv.FormatFloat(v.V, 'f', 0, 64)
	}
	return v.String()
}

func cell(list []Slot, i int) string {
	if i >= len(list) {
		return "-"
	}
	mark := " "
	if list[i].Gold {
		mark = "*"
	}
	name := list[i].Section
	if name == "" {
		name = string(list[i].Chunk)
	}
	if list[i].Tied {
		name += " ="
	}
	if list[i].Score != nil {
		name += fmt.Sprintf(" (%.4f)", *list[i].Score)
	}
	return mark + " " + name
}

// Text returns the verdict with its numbers, reasons and warnings as plain lines.
func (v *Verdict) Text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s  %s\n", strings.ToUpper(string(v.Verdict)), orNone(v.Build))
	for _, r := range v.Reasons {
		fmt.Fprintf(&s, "  %s\n", r)
	}
	for _, d := range []*Difference{v.AgainstLive, v.AgainstRef} {
		if d != nil && d.N > 0 {
			fmt.Fprintf(&s, "  against %-9s %s  %s %+.4f  90 %% interval %+.4f to %+.4f  p(loss) %.4f  gained %d  lost %d%s\n",
				d.Against, short(d.Build), v.Primary, d.Delta.V, d.Lower.V, d.Upper.V, d.PReject.V, len(d.Gained)+len(d.Improved), len(d.Lost)+len(d.Worsened), drawn(d))
		}
	}
	if v.SelfTest != nil {
		fmt.Fprintf(&s, "  self-test: %s\n", v.SelfTest.Summary())
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(&s, "  warning: %s\n", w)
	}
	return s.String()
}

// drawn names the methods of a graded difference with their seeds.
func drawn(d *Difference) string {
	if !strings.Contains(d.Method, "seed") {
		return ""
	}
	return "  (" + d.Method + "; " + d.Test + ")"
}

// writeRows aligns columns by runes, two spaces apart, without trailing blanks.
func writeRows(s *strings.Builder, rows [][]string) {
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
			line.WriteString(c)
			if i < len(r)-1 {
				line.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)+2))
			}
		}
		s.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// superscript returns n in small raised digits, as footnote marks.
func superscript(n int) string {
	var s strings.Builder
	for _, d := range strconv.Itoa(n) {
		s.WriteRune([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[d-'0'])
	}
	return s.String()
}
