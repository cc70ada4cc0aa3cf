package pages

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/evalkit"
)

// parsePages parses each page together with the layout and the shared parts.
func parsePages() map[string]*template.Template {
	out := map[string]*template.Template{}
	for _, name := range []string{"builds", "search", "sweeps", "sweep", "run", "compare", "question", "document", "login", "error", "report"} {
		t := template.New(name).Funcs(functions())
		out[name] = template.Must(t.ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return out
}

func functions() template.FuncMap {
	return template.FuncMap{
		"num":     num,
		"signed":  signed,
		"f4":      func(f float64) string { return strconv.FormatFloat(f, 'f', 4, 64) },
		"f2":      func(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) },
		"pct":     func(f float64) string { return strconv.FormatFloat(100*f, 'f', 2, 64) },
		"join":    func(list []string) string { return strings.Join(list, ", ") },
		"keys":    func(m map[string]string) []string { return sortedKeys(m) },
		"excerpt": excerpt,
		"marked":  func(w *words, s string) template.HTML { return w.mark(s) },
		"doclink": doclink,
		"score":   func(f *float64) string { return strconv.FormatFloat(*f, 'f', 4, 64) },
		"query": func(w *words) string {
			if w == nil {
				return ""
			}
			return w.Query
		},
		"short":   func(s string) string { return s[:min(12, len(s))] },
		"chart":   chart,
		"rounded": func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) },
		"inline":  func(name string) template.CSS { return template.CSS(mustRead(name)) },
	}
}

func mustRead(name string) string {
	data, err := staticFiles.ReadFile("static/" + name)
	if err != nil { // unreachable: the file is embedded
		panic(err)
	}
	return string(data)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// families are those that people look for first, in that order.
var families = [...]string{"hit", "all_hit", "rr", "ndcg", "recall", "p", "ap"}

// sortedMeasures puts the primary measure first, then the others by family and cutoff.
func sortedMeasures[V any](m map[string]V, primary string) []string {
	names := sortedKeys(m)
	key := func(name string) (int, string, int) {
		family, at, _ := strings.Cut(name, "@")
		n, _ := strconv.Atoi(at) // no number sorts first
		i := slices.Index(families[:], family)
		switch {
		case name == primary:
			i = -1
		case i < 0:
			i = len(families)
		}
		return i, family, n
	}
	slices.SortStableFunc(names, func(a, b string) int {
		ia, fa, na := key(a)
		ib, fb, nb := key(b)
		return cmp.Or(ia-ib, strings.Compare(fa, fb), na-nb)
	})
	return names
}

func num(v evalkit.Value) string {
	if !v.OK {
		return "n/a"
	}
	return strconv.FormatFloat(v.V, 'f', 4, 64)
}

func signed(v evalkit.Value) string {
	if !v.OK {
		return "n/a"
	}
	return fmt.Sprintf("%+.4f", v.V)
}

// chart draws a value with its interval and the random baseline on a line from 0 to 1. The
// numbers stand beside it, so it is hidden from readers of the page's text.
func chart(row measureRow) template.HTML {
	const w = 160
	x := func(f float64) float64 { return 4 + (w-8)*min(1, max(0, f)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %d 16" width="%d" height="16" aria-hidden="true" focusable="false"><line class="axis" x1="4" y1="8" x2="%d" y2="8"/>`, w, w, w-4)
	if row.CI != nil {
		fmt.Fprintf(&b, `<line class="interval" x1="%.1f" y1="8" x2="%.1f" y2="8"/>`, x(row.CI[0]), x(row.CI[1]))
	}
	if row.Random.OK {
		fmt.Fprintf(&b, `<line class="random" x1="%.1f" y1="2" x2="%.1f" y2="14"/>`, x(row.Random.V), x(row.Random.V))
	}
	if row.Mean.OK {
		fmt.Fprintf(&b, `<circle class="mean" cx="%.1f" cy="8" r="4"/>`, x(row.Mean.V))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // numbers and constants only
}

// excerpt cuts a passage for a list.
func excerpt(s string) string {
	const longest = 360
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return s
}

func doclink(build string, doc corpus.DocumentID, start, end int, query string) string {
	return "/document?" + url.Values{
		"build": {build}, "doc": {string(doc)}, "start": {strconv.Itoa(start)}, "end": {strconv.Itoa(end)}, "q": {query},
	}.Encode() + "#passage"
}
