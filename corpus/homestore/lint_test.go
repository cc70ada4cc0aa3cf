package homestore_test

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/seed792a4543/assay/corpus/homestore"
)

// What follows checks the bundled data with its own small readers, so that a fault of the
// project's readers cannot hide a fault of the data.

type Member struct {
	Doc     string  `yaml:"doc"`
	Section *string `yaml:"section"`
	Quote   string  `yaml:"quote"`
	Grade   int     `yaml:"grade"`
}

type group struct {
	Member `yaml:",inline"`
	Any    []Member `yaml:"any"`
}

func (g group) members() []Member {
	if len(g.Any) > 0 {
		return g.Any
	}
	return []Member{g.Member}
}

type question struct {
	ID         string   `yaml:"id"`
	Question   string   `yaml:"question"`
	Answerable *bool    `yaml:"answerable"`
	Slice      []string `yaml:"slice"`
	Split      string   `yaml:"split"`
	Critical   bool     `yaml:"critical"`
	As         []string `yaml:"as"`
	Forbidden  []string `yaml:"forbidden"`
	Gold       []group  `yaml:"gold"`
	Facts      []any    `yaml:"facts"`
}

func (q question) members() (all []Member) {
	for _, g := range q.Gold {
		all = append(all, g.members()...)
	}
	return all
}

func questions(t *testing.T) []question {
	t.Helper()
	var set struct {
		Schema    string     `yaml:"schema"`
		Name      string     `yaml:"name"`
		Version   int        `yaml:"version"`
		Questions []question `yaml:"questions"`
	}
	if err := yaml.UnmarshalWithOptions(homestore.Golden(), &set, yaml.DisallowUnknownField()); err != nil {
		t.Fatalf("%s: %v", homestore.GoldenFile, err)
	}
	if set.Schema != "assay.golden/v1" || set.Name != homestore.Name || set.Version < 1 {
		t.Errorf("head of the set: schema %q, name %q, version %d", set.Schema, set.Name, set.Version)
	}
	return set.Questions
}

type document struct {
	text     string            // without front matter
	front    map[string]any    // front matter
	sections map[string]string // path → text from the heading to the end of the last descendant; "" → own section
}

// headingLine matches an ATX heading; the documents contain no fenced code.
var headingLine = regexp.MustCompile(`^(#{1,6}) (.+)$`)

func documents(t *testing.T) map[string]document {
	t.Helper()
	docs := map[string]document{}
	err := fs.WalkDir(homestore.Documents(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(homestore.Documents(), name)
		if err != nil {
			return err
		}
		d := document{text: string(data), sections: map[string]string{}}
		if rest, ok := strings.CutPrefix(d.text, "---\n"); ok {
			front, body, ok := strings.Cut(rest, "\n---\n")
			if !ok {
				t.Errorf("%s: front matter does not end", name)
			}
			if err := yaml.Unmarshal([]byte(front), &d.front); err != nil {
				t.Errorf("%s: front matter: %v", name, err)
			}
			d.text = body
		}
		type open struct {
			level int
			path  string
		}
		var stack []open
		for line := range strings.Lines(d.text) {
			if m := headingLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil && path.Ext(name) == ".md" {
				for len(stack) > 0 && stack[len(stack)-1].level >= len(m[1]) {
					stack = stack[:len(stack)-1]
				}
				if strings.Contains(m[2], " > ") {
					t.Errorf("%s: heading %q holds the separator of paths", name, m[2])
				}
				p := m[2]
				if len(stack) > 0 {
					p = stack[len(stack)-1].path + " > " + p
				}
				if _, twice := d.sections[p]; twice {
					t.Errorf("%s: section %q occurs twice", name, p)
				}
				stack = append(stack, open{len(m[1]), p})
			}
			if len(stack) == 0 {
				d.sections[""] += line
			}
			for _, o := range stack {
				d.sections[o.path] += line
			}
		}
		docs[name] = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

var (
	thousands = regexp.MustCompile(`(\d),(\d{3})`)
	notWord   = regexp.MustCompile(`[^\pL\pN%²°+.:×]+`)
	word      = regexp.MustCompile(`[\pL\pN]+`)
)

// plain folds case, thousands separators and punctuation, and puts a space around everything,
// so that strings.Contains finds whole words only.
func plain(s string) string {
	s = strings.ToLower(s)
	for thousands.MatchString(s) {
		s = thousands.ReplaceAllString(s, "$1$2")
	}
	fields := strings.Fields(notWord.ReplaceAllString(s, " "))
	for i, f := range fields {
		fields[i] = strings.TrimRight(f, ".:")
	}
	return " " + strings.Join(slices.DeleteFunc(fields, func(f string) bool { return f == "" }), " ") + " "
}

// function holds English words that carry no subject. It is short on purpose: every word that
// is missing here makes the measured overlap larger, never smaller.
var function = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`a about after again all am an and any are as at be been before
		but by can could did do does for from get had has have how i if in into is it its m me my no
		not of off on or our out s so t than that the their them then there they this to too up us
		was we were what when where which while who will with would you your`) {
		m[w] = true
	}
	return m
}()

func content(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range word.FindAllString(strings.ToLower(s), -1) {
		if !function[w] {
			m[w] = true
		}
	}
	return m
}

func shared(a, b map[string]bool) (n int) {
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

func TestDocuments(t *testing.T) {
	docs := documents(t)
	words, markdown, text, headless := 0, 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		d := docs[name]
		n := 0
		for _, w := range word.FindAllString(d.text, -1) {
			if strings.IndexFunc(w, func(r rune) bool { return r < '0' || r > '9' }) >= 0 {
				n++ // numbers alone are not counted as words
			}
		}
		words += n
		t.Logf("%-28s %5d words, %2d sections", name, n, len(d.sections))
		switch path.Ext(name) {
		case ".md":
			markdown++
			if len(d.sections) == 1 && d.sections[""] != "" {
				headless++
			}
		case ".txt":
			text++
		default:
			t.Errorf("%s: neither Markdown nor text", name)
		}
		for line := range strings.Lines(d.text) {
			if line != strings.TrimRight(line, " \n")+"\n" {
				t.Errorf("%s: line ends in a space or without a line feed: %q", name, line)
			}
		}
		if old, ok := d.front["supersedes"].(string); ok {
			if _, exists := docs[old]; !exists {
				t.Errorf("%s: supersedes %s, which does not exist", name, old)
			}
		}
	}
	t.Logf("%d words in %d documents", words, len(docs))
	if words < 10_000 || words > 15_000 {
		t.Errorf("%d words, want 10,000 to 15,000", words)
	}
	if markdown < 16 || text < 1 || headless != 1 {
		t.Errorf("%d Markdown documents, %d text documents, %d without headings; want at least 16, at least 1, exactly 1", markdown, text, headless)
	}
	if acl := docs["price-overrides.md"].front["acl"]; acl == nil {
		t.Error("price-overrides.md: no acl")
	}
	if s := docs["returns.md"].front["supersedes"]; s != "returns-2024.md" {
		t.Errorf("returns.md: supersedes %v", s)
	}
}

func TestGold(t *testing.T) {
	docs := documents(t)
	all := ""
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		all += plain(docs[name].text)
	}
	ids := map[string]bool{}
	for _, q := range questions(t) {
		if q.ID == "" || ids[q.ID] {
			t.Errorf("id %q is empty or repeated", q.ID)
		}
		ids[q.ID] = true
		if q.Answerable == nil || *q.Answerable != (len(q.Gold) > 0) {
			t.Errorf("%s: answerable and gold disagree", q.ID)
			continue
		}
		if *q.Answerable == slices.Contains(q.Slice, "unanswerable") {
			t.Errorf("%s: answerable %v, slices %v", q.ID, *q.Answerable, q.Slice)
		}
		if *q.Answerable != (len(q.Facts) > 0) {
			t.Errorf("%s: %d facts", q.ID, len(q.Facts))
		}
		if q.Split != "dev" && q.Split != "holdout" {
			t.Errorf("%s: split %q", q.ID, q.Split)
		}
		if strings.Contains(all, plain(q.Question)) {
			t.Errorf("%s: the question stands in a document", q.ID)
		}
		if n := len(q.Gold); n > 3 {
			t.Errorf("%s: %d groups of gold, no list of three can hold them", q.ID, n)
		}
		for _, f := range q.Forbidden {
			if _, ok := docs[f]; !ok {
				t.Errorf("%s: forbidden document %s does not exist", q.ID, f)
			}
		}
		gold := ""
		for _, m := range q.members() {
			d, ok := docs[m.Doc]
			if !ok {
				t.Errorf("%s: document %s does not exist", q.ID, m.Doc)
				continue
			}
			if m.Section == nil {
				t.Errorf("%s: gold without a section", q.ID)
				continue
			}
			section, ok := d.sections[*m.Section]
			if !ok {
				t.Errorf("%s: %s has no section %q", q.ID, m.Doc, *m.Section)
				continue
			}
			if n := strings.Count(section, m.Quote); m.Quote == "" || n != 1 {
				t.Errorf("%s: quote occurs %d times in %s, %q: %q", q.ID, n, m.Doc, *m.Section, m.Quote)
			}
			if d.front["acl"] != nil && !slices.Contains(q.As, "staff") {
				t.Errorf("%s: gold in %s, which the caller may not read", q.ID, m.Doc)
			}
			if slices.Contains(q.Forbidden, m.Doc) {
				t.Errorf("%s: gold in a forbidden document", q.ID)
			}
			if m.Grade < 0 || m.Grade > 3 {
				t.Errorf("%s: grade %d", q.ID, m.Grade)
			}
			gold += plain(section)
		}
		for _, f := range q.Facts {
			var spellings []string
			switch f := f.(type) {
			case []any:
				for _, s := range f {
					s, ok := s.(string)
					if !ok {
						t.Errorf("%s: fact %v is not text", q.ID, f)
					}
					spellings = append(spellings, s)
				}
			case map[string]any:
				spellings = []string{strings.TrimSpace(yamlString(f["number"]) + " " + yamlString(f["unit"]))}
			default:
				t.Errorf("%s: fact %v (%T)", q.ID, f, f)
			}
			if !slices.ContainsFunc(spellings, func(s string) bool { return strings.Contains(gold, plain(s)) }) {
				t.Errorf("%s: no gold section contains the fact %q", q.ID, spellings)
			}
		}
	}
}

func yamlString(v any) string {
	data, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func TestCounts(t *testing.T) {
	qs := questions(t)
	slicesWanted := []string{
		"lookup", "multi-section", "paraphrase", "near-duplicate", "outdated", "conflict",
		"numbers", "table", "typo", "permission", "unanswerable",
	}
	total, unanswerable, critical := map[string]int{}, map[string]int{}, map[string]int{}
	bySlice := map[string]map[string]int{}
	for _, q := range qs {
		total[q.Split]++
		if !*q.Answerable {
			unanswerable[q.Split]++
		}
		if q.Critical {
			critical[q.Split]++
		}
		for _, s := range q.Slice {
			if !slices.Contains(slicesWanted, s) {
				t.Errorf("%s: unknown slice %q", q.ID, s)
			}
			if bySlice[s] == nil {
				bySlice[s] = map[string]int{}
			}
			bySlice[s][q.Split]++
		}
		if multi := slices.Contains(q.Slice, "multi-section"); multi != (len(q.Gold) > 1) {
			t.Errorf("%s: %d groups of gold, slices %v", q.ID, len(q.Gold), q.Slice)
		}
	}
	t.Logf("%-16s %4s %8s", "slice", "dev", "holdout")
	for _, s := range slicesWanted {
		t.Logf("%-16s %4d %8d", s, bySlice[s]["dev"], bySlice[s]["holdout"])
		if n := bySlice[s]["dev"] + bySlice[s]["holdout"]; n < 10 {
			t.Errorf("slice %s has %d questions, want at least 10", s, n)
		}
	}
	t.Logf("%-16s %4d %8d", "all", total["dev"], total["holdout"])
	t.Logf("%-16s %4d %8d", "critical", critical["dev"], critical["holdout"])
	if total["dev"] < 100 || total["holdout"] < 60 || len(qs) < 165 {
		t.Errorf("%d dev and %d holdout questions, want at least 100 and 60, 165 together", total["dev"], total["holdout"])
	}
	if critical["dev"]+critical["holdout"] < 30 {
		t.Errorf("%d critical questions, want at least 30", critical["dev"]+critical["holdout"])
	}
	for _, split := range []string{"dev", "holdout"} {
		share := float64(unanswerable[split]) / float64(total[split])
		t.Logf("%s: %d of %d unanswerable, %.3f", split, unanswerable[split], total[split], share)
		if share < 0.15 || share > 0.18 {
			t.Errorf("%s: share of unanswerable questions %.3f, want 0.15 to 0.18", split, share)
		}
	}
}

// Questions must not be worded like the documents, and a question of one split must not
// paraphrase one of the other closely.
func TestWording(t *testing.T) {
	qs := questions(t)
	sum, n, above := 0.0, 0, 0
	for _, q := range qs {
		if !*q.Answerable {
			continue
		}
		quotes := ""
		for _, m := range q.members() {
			quotes += " " + m.Quote
		}
		words := content(q.Question)
		overlap := float64(shared(words, content(quotes))) / float64(len(words))
		sum += overlap
		n++
		if overlap > 0.5 {
			above++
			t.Logf("%s: overlap %.2f: %s", q.ID, overlap, q.Question)
		}
	}
	mean := sum / float64(n)
	t.Logf("mean overlap of question and quote %.3f over %d answerable questions, %d above 0.5", mean, n, above)
	if mean >= 0.35 {
		t.Errorf("mean overlap %.3f, want below 0.35", mean)
	}
	for i, a := range qs {
		wa := content(a.Question)
		for _, b := range qs[i+1:] {
			wb := content(b.Question)
			both := shared(wa, wb)
			if j := float64(both) / float64(len(wa)+len(wb)-both); j >= 0.5 {
				t.Errorf("%s and %s are near-duplicates (Jaccard %.2f):\n%s\n%s", a.ID, b.ID, j, a.Question, b.Question)
			}
		}
	}
}
