package sweep

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/seed792a4543/assay/evalkit"
)

// Text writes the report for a terminal: table, what it says, charts drawn with characters. Times
// may be nil; they are printed last, under a heading of their own, because they differ from run to
// run while all above does not.
func Text(w io.Writer, r *Report, times []Times) error {
	t := &textWriter{r: r}
	t.head()
	t.table()
	t.says()
	t.slices()
	t.intervals()
	t.pareto()
	t.curves()
	t.heat()
	t.times(times)
	_, err := io.WriteString(w, t.b.String())
	return err
}

type textWriter struct {
	r *Report
	b strings.Builder
}

func (t *textWriter) printf(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

// columns writes rows of cells, aligned.
func (t *textWriter) columns(rows [][]string) {
	w := tabwriter.NewWriter(&t.b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
}

func (t *textWriter) head() {
	r := t.r
	t.printf("%d variants, %d %s questions of %s with gold, ordered by %s; rule %s, view %s\n",
		len(r.Variants), r.Scored, orAll(r.Split), r.Golden.Name, r.Primary, r.Rule, r.View)
	t.printf("each against the baseline %q on the same questions; intervals: %s; p: %s, adjusted after Holm; seed %d\n\n",
		r.Baseline, r.Interval, r.Test, r.Seed)
}

func orAll(split string) string {
	if split == "" {
		return "all"
	}
	return split
}

// others are the measures beside the primary one, in the order of names.
func (r *Report) others() []string {
	var out []string
	for _, l := range r.Variants {
		for name := range l.Measures {
			if name != r.Primary && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Table returns the main table, one line for each variant below the heading.
func (r *Report) Table() [][]string {
	head := []string{"#", "", "variant", r.Primary, "diff", "95 % interval", "p", "p adj.", "better", "worse"}
	others := r.others()
	head = append(append(head, others...), "chunks", "index", "tokens embedded")
	rows := [][]string{head}
	for _, l := range r.Variants {
		row := []string{strconv.Itoa(l.Rank), l.Sign, l.Name, short(l.Mean), "", "", "", "", "", ""}
		if l.Sign != "=" {
			row[4] = fmt.Sprintf("%+.3f", l.Delta.V)
			row[5] = intervalText(l.CI, l.Descriptive)
			row[6], row[7] = pText(l.P), pText(l.PHolm)
			row[8], row[9] = strconv.Itoa(l.Better), strconv.Itoa(l.Worse)
		}
		for _, name := range others {
			row = append(row, short(l.Measures[name]))
		}
		rows = append(rows, append(row, strconv.Itoa(l.Cost.Chunks), bytesText(l.Cost.IndexBytes), strconv.FormatInt(l.Cost.EmbeddedTokens, 10)))
	}
	return rows
}

func (t *textWriter) table() {
	t.columns(t.r.Table())
	t.printf("= baseline, + better, - worse, ~ no difference shown (adjusted p above %g)", t.r.Alpha)
	if slices.ContainsFunc(t.r.Variants, func(l Line) bool { return l.Descriptive }) {
		t.printf("; * too few questions changed for the interval to promise anything")
	}
	t.printf("\n")
	for _, l := range t.r.Variants {
		if l.Note != "" {
			t.printf("%s: %s\n", l.Name, l.Note)
		}
	}
}

// Sentences returns what the report says in words: optimism, recommendation, confirmation and
// warnings.
func (r *Report) Sentences() []string {
	var out []string
	if o := r.Optimism; o != nil {
		out = append(out, fmt.Sprintf("Optimism: the best of %d looks better than it is. The mean of %q, %.3f, is too high by an expected %.3f if the variants differ as much as here, by %.3f if all are equally good; in %.0f %% of resamples it wins again.",
			len(r.Variants), r.Variants[o.Winner].Name, o.Mean, max(0, o.Bias), o.IfEqual, 100*o.Share))
	}
	rec := r.Recommend
	s := fmt.Sprintf("Recommended: %q: %s.", rec.Variant, rec.Reason)
	if len(rec.Alike) > 0 {
		s += fmt.Sprintf(" Not told apart from it: %s.", strings.Join(rec.Alike, ", "))
	}
	out = append(out, s)
	if len(rec.Changes) > 0 {
		var changes []string
		for _, key := range sortedKeys(rec.Changes) {
			changes = append(changes, key+": "+rec.Changes[key])
		}
		out = append(out, "To use it, set "+strings.Join(changes, ", ")+".")
	}
	out = append(out, "Simple means: "+rec.Order+".")
	if c := r.Confirmed; c != nil {
		s := fmt.Sprintf("Confirmation on %s (%d questions, look %d): %q %.3f, baseline %.3f, difference %+.3f %s, p %s; %d better, %d worse.",
			c.Split, c.N, c.Looks, c.Variant, c.Mean.V, c.BaseMean.V, c.Delta.V, intervalText(c.CI, false), pText(c.P), c.Better, c.Worse)
		if c.Spent {
			s += " The holdout is spent: single questions of it were shown before."
		}
		out = append(out, s)
	}
	for _, w := range r.Warnings {
		out = append(out, "Warning: "+w+".")
	}
	for _, l := range r.LeftOut {
		out = append(out, fmt.Sprintf("Left out %q: %s.", l.Name, l.Why))
	}
	return out
}

func (t *textWriter) says() {
	t.printf("\n")
	for _, s := range t.r.Sentences() {
		t.printf("%s\n", s)
	}
}

// SliceTable returns the slices that get worse below the heading. Without all, only those that are
// news: of variants that are not worse on the whole, and those beyond chance.
func (r *Report) SliceTable(all bool) [][]string {
	rows := [][]string{{"variant", "whole", "slice", "questions", "diff", "better", "worse", "p", "p adj."}}
	for _, l := range r.Variants {
		for _, s := range l.Slices {
			if !all && l.Delta.V < 0 && s.PHolm.V > r.Alpha {
				continue
			}
			rows = append(rows, []string{l.Name, fmt.Sprintf("%+.3f", l.Delta.V), s.Slice, strconv.Itoa(s.N), fmt.Sprintf("%+.3f", s.Delta),
				strconv.Itoa(s.Better), strconv.Itoa(s.Worse), pText(s.P), pText(s.PHolm)})
		}
	}
	return rows
}

// maxSliceLines bounds the slices printed to a terminal; JSON and HTML have all.
const maxSliceLines = 20

func (t *textWriter) slices() {
	rows := t.r.SliceTable(false)
	if len(rows) == 1 {
		return
	}
	t.printf("\nSlices below the baseline, of variants that are not below it on the whole or where it is no chance:\n")
	t.columns(rows[:min(len(rows), maxSliceLines+1)])
	if n := len(rows) - 1 - maxSliceLines; n > 0 {
		t.printf("and %d more, which the report in JSON lists\n", n)
	}
}

// plotWidth is the number of columns of a chart.
const plotWidth = 61

func (t *textWriter) intervals() {
	r := t.r
	lo, hi := r.deltaRange()
	column := func(v float64) int { return int(math.Round((v - lo) / (hi - lo) * float64(plotWidth-1))) }
	wide := r.nameWidth()
	t.printf("\nDifference from %q, with 95 %% intervals:\n", r.Baseline)
	for _, l := range r.Variants {
		line := []rune(strings.Repeat(" ", plotWidth))
		line[column(0)] = '┊'
		if l.CI != nil {
			for i := column(l.CI[0]); i <= column(l.CI[1]); i++ {
				line[i] = '─'
			}
			line[column(l.CI[0])], line[column(l.CI[1])] = '├', '┤'
		}
		line[column(l.Delta.V)] = '●'
		t.printf("%s %s\n", pad(l.Name, wide), strings.TrimRight(string(line), " "))
	}
	left, right := fmt.Sprintf("%+.2f", lo), fmt.Sprintf("%+.2f", hi)
	t.printf("%s %s%s%s\n", pad("", wide), left, strings.Repeat(" ", plotWidth-len(left)-len(right)), right)
}

// deltaRange is the range of the interval plot: all intervals, and 0.
func (r *Report) deltaRange() (lo, hi float64) {
	for _, l := range r.Variants {
		lo, hi = min(lo, l.Delta.V), max(hi, l.Delta.V)
		if l.CI != nil {
			lo, hi = min(lo, l.CI[0]), max(hi, l.CI[1])
		}
	}
	if lo == hi {
		return -0.01, 0.01
	}
	return lo, hi
}

func (r *Report) nameWidth() int {
	wide := 0
	for _, l := range r.Variants {
		wide = max(wide, utf8.RuneCountInString(l.Name))
	}
	return wide
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}

// meanRange and sizeRange are the axes of the Pareto chart, never empty.
func (r *Report) meanRange() (lo, hi float64) {
	lo, hi = r.Variants[len(r.Variants)-1].Mean.V, r.Variants[0].Mean.V
	if hi-lo < 1e-9 {
		return lo - 0.01, hi + 0.01
	}
	return lo, hi
}

func (r *Report) sizeRange() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range r.Variants {
		lo, hi = min(lo, float64(l.Cost.IndexBytes)), max(hi, float64(l.Cost.IndexBytes))
	}
	if hi-lo < 1 {
		return lo - 1, hi + 1
	}
	return lo, hi
}

// mark is the character that stands for the variant of a rank, from 1.
func mark(rank int) rune {
	const marks = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if rank <= len(marks) {
		return rune(marks[rank-1])
	}
	return '·'
}

const plotHeight = 11

func (t *textWriter) pareto() {
	r := t.r
	lo, hi := r.meanRange()
	small, large := r.sizeRange()
	grid := make([][]rune, plotHeight)
	for i := range grid {
		grid[i] = []rune(strings.Repeat(" ", plotWidth))
	}
	// The better one is drawn last and stays visible.
	for _, l := range slices.Backward(r.Variants) {
		x := int(math.Round((float64(l.Cost.IndexBytes) - small) / (large - small) * (plotWidth - 1)))
		y := int(math.Round((l.Mean.V - lo) / (hi - lo) * (plotHeight - 1)))
		grid[plotHeight-1-y][x] = mark(l.Rank)
	}
	t.printf("\n%s against index size:\n", r.Primary)
	for i, line := range grid {
		label := "     "
		switch i {
		case 0:
			label = fmt.Sprintf("%.3f", hi)
		case plotHeight - 1:
			label = fmt.Sprintf("%.3f", lo)
		}
		t.printf("%s │%s\n", label, strings.TrimRight(string(line), " "))
	}
	left, right := bytesText(int64(small)), bytesText(int64(large))
	t.printf("      └%s\n       %s%s%s\n", strings.Repeat("─", plotWidth), left, strings.Repeat(" ", max(1, plotWidth-len(left)-len(right))), right)
	var front []string
	for _, l := range r.Variants {
		if l.Pareto {
			front = append(front, fmt.Sprintf("%c %s", mark(l.Rank), l.Name))
		}
	}
	t.printf("On the front (nothing smaller is as good): %s\n", strings.Join(front, ", "))
}

// curveRows is hit@k over k; the first row is the heading.
func (r *Report) curveRows() [][]string {
	depth := 0
	for _, l := range r.Variants {
		depth = max(depth, len(l.Curve))
	}
	head := []string{"hit@k, k ="}
	for k := range depth {
		head = append(head, strconv.Itoa(k+1))
	}
	rows := [][]string{head}
	for _, l := range r.Variants {
		row := []string{l.Name}
		for _, v := range l.Curve {
			row = append(row, short(v))
		}
		rows = append(rows, row)
	}
	return rows
}

func (t *textWriter) curves() {
	rows := t.r.curveRows()
	if len(rows[0]) == 1 {
		return
	}
	rows[0] = append(rows[0], "")
	for i, l := range t.r.Variants {
		bars := []rune("▁▂▃▄▅▆▇█")
		var spark strings.Builder
		for _, v := range l.Curve {
			spark.WriteRune(bars[min(len(bars)-1, int(v.V*float64(len(bars))))])
		}
		rows[i+1] = append(rows[i+1], spark.String())
	}
	t.printf("\n")
	t.columns(rows)
}

// Contested returns the numbers of the questions on which the variants differ, those on which they
// differ most first, then in golden order.
func (r *Report) Contested() []int {
	var out []int
	spread := make([]float64, len(r.Questions))
	for q := range r.Questions {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, m := range r.Matrix {
			if v := m.Values[q]; v.OK {
				lo, hi = min(lo, v.V), max(hi, v.V)
			}
		}
		if hi-lo > 1e-12 {
			spread[q] = hi - lo
			out = append(out, q)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		switch {
		case spread[a] > spread[b]:
			return -1
		case spread[a] < spread[b]:
			return 1
		}
		return 0
	})
	return out
}

// maxHeatLines bounds the questions that the terminal shows; JSON, HTML and Matrix have all.
const maxHeatLines = 40

func (t *textWriter) heat() {
	r := t.r
	contested := r.Contested()
	if len(contested) == 0 {
		t.printf("\nAll variants have the same %s on every question.\n", r.Primary)
		return
	}
	t.printf("\nQuestions on which variants differ, %d of %d (columns are the variants 1 to %d; %s from low · to high █):\n",
		len(contested), r.Scored, len(r.Variants), r.Primary)
	shades := []rune("·░▒▓█")
	for _, q := range contested[:min(len(contested), maxHeatLines)] {
		var cells strings.Builder
		for _, m := range r.Matrix {
			cells.WriteRune(shades[min(len(shades)-1, int(max(0, m.Values[q].V)*float64(len(shades))))])
		}
		t.printf("%s  %s  %s\n", cells.String(), r.Questions[q].ID, strings.Join(r.Questions[q].Slices, ","))
	}
	if n := len(contested) - maxHeatLines; n > 0 {
		t.printf("and %d more, which the report in JSON lists\n", n)
	}
}

// TimesTable returns the clock readings, one line for each variant below the heading.
func TimesTable(times []Times) [][]string {
	rows := [][]string{{"variant", "build", "query p50", "query p95"}}
	for _, v := range times {
		rows = append(rows, []string{v.Variant, durationText(v.BuildNS), durationText(v.P50NS), durationText(v.P95NS)})
	}
	return rows
}

func (t *textWriter) times(times []Times) {
	if len(times) == 0 {
		return
	}
	t.printf("\nTimes of this machine, which differ from run to run (variants that share an index share its build time):\n")
	t.columns(TimesTable(times))
}

// MatrixCSV writes the values of the primary measure, one line for each question and one column
// for each variant; a question without a value has empty cells.
func MatrixCSV(w io.Writer, r *Report) error {
	c := csv.NewWriter(w)
	head := []string{"question", "slice"}
	for _, m := range r.Matrix {
		head = append(head, m.Variant)
	}
	// The writer keeps its first error for Flush.
	_ = c.Write(head)
	for q, question := range r.Questions {
		row := []string{question.ID, strings.Join(question.Slices, " ")}
		for _, m := range r.Matrix {
			cell := ""
			if v := m.Values[q]; v.OK {
				cell = strconv.FormatFloat(v.V, 'g', -1, 64)
			}
			row = append(row, cell)
		}
		_ = c.Write(row)
	}
	c.Flush()
	return c.Error()
}

func short(v evalkit.Value) string {
	if !v.OK {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", v.V)
}

func pText(v evalkit.Value) string {
	switch {
	case !v.OK:
		return ""
	case v.V < 0.0005:
		return fmt.Sprintf("%.1e", v.V)
	}
	return fmt.Sprintf("%.3f", v.V)
}

func intervalText(ci *[2]float64, descriptive bool) string {
	if ci == nil {
		return ""
	}
	s := fmt.Sprintf("[%+.3f, %+.3f]", ci[0], ci[1])
	if descriptive {
		s += "*"
	}
	return s
}

func bytesText(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func durationText(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d == 0:
		return ""
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
