package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed792a4543/assay/evalkit/verdict"
)

// MaxLines is the most lines that Markdown writes, so that the summary of a pull request is read.
const MaxLines = 60

// Markdown writes a summary of at most 60 lines: verdict, flips (lost ones first), reasons,
// measures, settings that differ, warnings. What does not fit is counted.
func Markdown(w io.Writer, d Data) error {
	v := d.Verdict
	var out []string
	line := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	line("### %s: %s", heading(v.Verdict), escape(headline(v)))
	line("")

	if c := d.Comparison; c != nil && len(c.Flips) > 0 {
		line("| | question | %s | %s |", escape(c.A), escape(c.B))
		line("|---|---|---|---|")
		rows(&out, len(c.Flips), 18, func(i int) string {
			f := &c.Flips[i]
			kind := f.Kind
			if worse(f) {
				kind = "**" + kind + "**"
			}
			if f.Critical {
				kind += ", critical"
			}
			if f.Tie {
				kind += ", tie"
			}
			name := "`" + code(f.Question) + "`"
			if f.Text != "" {
				name += " " + escape(clip(f.Text, 80))
			}
			return fmt.Sprintf("| %s | %s | %s %s | %s %s |", kind, name, f.A, top(f.ListA), f.B, top(f.ListB))
		}, "| | %d more | | |")
		line("")
	} else if d.Comparison != nil && v.Verdict != verdict.Invalid {
		line("No question changed.")
		line("")
	}
	rows(&out, len(v.Reasons), 6, func(i int) string { return "- " + escape(clip(v.Reasons[i], 600)) }, "- %d more reasons")
	line("")
	if c := d.Comparison; c != nil && len(c.Measures) > 0 {
		line("| measure | %s | %s | difference | 90 %% interval | p |", escape(c.A), escape(c.B))
		line("|---|---|---|---|---|---|")
		rows(&out, len(c.Measures), 8, func(i int) string {
			m := &c.Measures[i]
			delta := "~"
			if m.Detectable {
				delta = fmt.Sprintf("%+.4f", m.Delta.V)
			}
			return fmt.Sprintf("| %s | %s | %s | %s | %s to %s | %s |", escape(m.Name), m.A, m.B, delta, m.Lower, m.Upper, m.PHolm)
		}, "| %d more | | | | | |")
		line("")
		line("~ no detectable difference; p two-sided, below the first row adjusted (Holm).")
		line("")
	}
	if c := d.Comparison; c != nil && len(c.Settings) > 0 {
		rows(&out, len(c.Settings), 5, func(i int) string {
			s := c.Settings[i]
			return fmt.Sprintf("- setting `%s`: `%s` → `%s`", code(clip(s.Key, 60)), code(clip(s.A, 60)), code(clip(s.B, 60)))
		}, "- %d more settings differ")
		line("")
	}
	warnings := v.Warnings
	if d.Comparison != nil {
		warnings = append(append([]string{}, d.Comparison.Warnings...), v.Warnings...)
	}
	rows(&out, len(warnings), 5, func(i int) string { return "- warning: " + escape(clip(warnings[i], 300)) }, "- %d more warnings")
	line("")
	if v.SelfTest != nil {
		line("Self-test: %s.", escape(clip(v.SelfTest.Summary(), 300)))
	}
	line("Build `%s`, golden `%s`, policy `%s`, verdict `%s`.", digest(v.Build), digest(v.GoldenDigest), digest(v.PolicyDigest), digest(v.Digest))

	_, err := io.WriteString(w, strings.Join(squeeze(out), "\n")+"\n")
	return err
}

// rows appends at most limit rows of n, counting the rest in the last one.
func rows(out *[]string, n, limit int, row func(i int) string, more string) {
	shown := n
	if n > limit {
		shown = limit - 1
	}
	for i := range shown {
		*out = append(*out, row(i))
	}
	if shown < n {
		*out = append(*out, fmt.Sprintf(more, n-shown))
	}
}

// squeeze drops repeated blank lines.
func squeeze(lines []string) []string {
	var out []string
	for _, l := range lines {
		if l == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, l)
	}
	return out
}

// heading marks the verdict; only accept gets a tick.
func heading(o verdict.Outcome) string {
	switch o {
	case verdict.Accept:
		return "✅ accept"
	case verdict.Reject:
		return "❌ reject"
	case verdict.Inconclusive:
		return "❔ inconclusive (not a pass)"
	}
	return "⚠️ " + string(o)
}

func headline(v *verdict.Verdict) string {
	switch {
	case v.Delta.OK:
		return fmt.Sprintf("%s %s → %s on %d questions", v.Primary, v.Live, v.Mean, v.N)
	case v.Mean.OK:
		return fmt.Sprintf("%s %s on %d questions, first build", v.Primary, v.Mean, v.N)
	}
	return v.Primary
}

// top names what stands first in a list.
func top(list []verdict.Slot) string {
	if len(list) == 0 {
		return "(nothing)"
	}
	name := list[0].Section
	if name == "" {
		name = string(list[0].Chunk)
	}
	mark := ""
	if list[0].Gold {
		mark = "\\*"
	}
	return mark + escape(clip(name, 60))
}

// clip cuts to n runes.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// escape makes text from questions and documents harmless in a Markdown table: no markup, no
// links, no mentions, no line breaks.
func escape(s string) string {
	var b strings.Builder
	before := ' '
	for _, r := range strings.Join(strings.Fields(printable(s)), " ") {
		switch r {
		case '\\', '`', '*', '_', '[', ']', '<', '>', '|', '#', '~', '!', '&':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '@':
			b.WriteByte('@')
			if !unicode.IsLetter(before) && !unicode.IsDigit(before) && before != '_' {
				b.WriteRune('\u200b') // a mention in a question must not notify anybody; hit@3 is none
			}
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// code makes text fit between single backquotes in a table cell.
func code(s string) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	if s == "" {
		return "-"
	}
	return strings.NewReplacer("`", "'", "|", "¦").Replace(s)
}

func digest(s string) string {
	return code(clip(s, 12))
}
