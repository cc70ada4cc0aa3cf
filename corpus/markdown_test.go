package corpus

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

func TestMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"CH-02", "# Catalog\n### Arrays\na\n### Links\nb\n## Index\nc\n", "Catalog\nCatalog > Arrays\nCatalog > Links\nCatalog > Index\n"},
		{"CH-02 level falls twice", "#### a\n## b\n### c\n# d\n", "a\nb\nb > c\nd\n"},
		{"MD-01", "# Install\n## Linux\n```sh\n# install deps\nmake\n```\nDone.\n### Check\nok\n", "Install\nInstall > Linux\nInstall > Linux > Check\n"},
		{"MD-02 shorter fence inside", "# Real\n````\n# fake\n```\n# fake2\n````\n# Next\n", "Real\nNext\n"},
		{"MD-02 other character", "# Real\n```\n# fake\n~~~\n# fake2\n```\n# Next\n", "Real\nNext\n"},
		{"MD-02 text behind", "# Real\n```\n# fake\n```js\n# fake2\n```\n# Next\n", "Real\nNext\n"},
		{"MD-02 indented opener", "# Real\n   ```\n# fake\n`````\n# Next\n", "Real\nNext\n"},
		{"MD-04 setext", "Shipping\n========\nfast\n\nReturns\n---\n7 days\n\n---\n\nafter rule\n", "Shipping\nShipping > Returns\n"},
		{"MD-04 item", "- item\n---\ntext\n", ""},
		{"MD-04 quote", "> quote\n---\ntext\n", ""},
		{"MD-06", "## The **24/7** [Support](https://x.test/s) `API` {#help}\n", "The 24/7 Support API\n"},
		{"MD-06 reference, entity, escape", "## [Fees][f] &amp; \\*more\\* <b>x</b> ![pic](p.png)\n\n[f]: /f\n", "Fees & *more* x pic\n"},
		{"ID-01", "# Phone\n## Warranty\n12 months\n# Laptop\n## Warranty\n24 months\n", "Phone\nPhone > Warranty\nLaptop\nLaptop > Warranty\n"},
		{"ID-01 siblings", "# A\n## Notes\n## Notes\n## Notes\n", "A\nA > Notes\nA > Notes (2)\nA > Notes (3)\n"},
		{"ID-01 written number", "# A\n## Notes\n## Notes\n## Notes (2)\n", "A\nA > Notes\nA > Notes (3)\nA > Notes (2)\n"},
		{"ID-02", "## C\na\n## C++\nb\n## C#\nc\n## Tasks\nd\n## TASKS\ne\n", "C\nC++\nC#\nTasks\nTASKS\n"},
		{"heading in quote and item", "# A\n> # B\n\n- # C\n", "A\n"},
		{"border inside a title", "# a > b\n## >\n## x>y\n", "a \\> b\na \\> b > \\>\na \\> b > x>y\n"},
		{"untitled", "#\ntext\n#\n", "(untitled)\n(untitled) (2)\n"},
		{"multi-line setext", "a\nb\n===\ntext\n", "a b\n"},
		{"html block", "<div>\n# no\n</div>\n\n# yes\n", "yes\n"},
		{"comment", "<!--\n# no\n-->\n# yes\n", "yes\n"},
		{"MDX and wiki noise", "import X from './x'\n\n# A\n<X prop={{a: 1}}>\n[[Page|text]]\n</X>\n\n:::note\nhm\n:::\n## B\n", "A\nA > B\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := loadOne(t, "a.md", tt.in)
			if diff := cmp.Diff(tt.want, outlineOf(d)); diff != "" {
				t.Errorf("sections of %q (-want +got):\n%s", tt.in, diff)
			}
		})
	}

	t.Run("MD-03", func(t *testing.T) {
		c := loadFS(t, Options{}, "t.md", "# T\nintro\n\n```py\nx = 1\n\n## Important\nkeep me\n")
		d := &c.Documents[0]
		if got := outlineOf(d); got != "T\n" {
			t.Errorf("sections %q, want T alone", got)
		}
		if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Error(), "t.md:4: ") {
			t.Errorf("warnings %v, want one at t.md:4", c.Warnings)
		}
		if got := d.Blocks[len(d.Blocks)-1]; got.Kind != Code || !strings.HasSuffix(d.Text[got.Span.Start:got.Span.End], "keep me") {
			t.Errorf("last block %+v, want the code with keep me", got)
		}
	})
	t.Run("MD-03 closed at the end", func(t *testing.T) {
		for _, in := range []string{"```\nx\n```", "```\nx\n```\n\n", "   ~~~~ \nx\n ~~~~~  \n", "- ```\n  x\n\ntext\n"} {
			if c := loadFS(t, Options{}, "t.md", in); len(c.Warnings) != 0 {
				t.Errorf("%q: warnings %v, want none", in, c.Warnings)
			}
		}
		for _, in := range []string{"```", "```\nx\n``` y", "````\nx\n```", "```\n    ```\n"} {
			if c := loadFS(t, Options{}, "t.md", in); len(c.Warnings) != 1 {
				t.Errorf("%q: warnings %v, want one", in, c.Warnings)
			}
		}
	})
	t.Run("MD-04 text", func(t *testing.T) {
		d := loadOne(t, "a.md", "Shipping\n========\nfast\n\nReturns\n---\n7 days\n\n---\n\nafter rule\n")
		if got := own(d, 2); got != "7 days\n\n---\n\nafter rule\n" {
			t.Errorf("text of Returns is %q", got)
		}
	})
	t.Run("MD-05", func(t *testing.T) {
		d := loadOne(t, "a.md", "---\ntitle: Demo\ndate: 2026-01-02\n---\n# Body\nx\n")
		if d.Title != "Demo" || outlineOf(d) != "Body\n" || d.Text[d.Body:] != "# Body\nx\n" {
			t.Errorf("(a) title %q, sections %q, content %q", d.Title, outlineOf(d), d.Text[d.Body:])
		}
		if diff := cmp.Diff(map[string]string{"title": "Demo", "date": "2026-01-02"}, d.Metadata); diff != "" {
			t.Errorf("(a) metadata (-want +got):\n%s", diff)
		}
		d = loadOne(t, "a.md", "# A\nx\n\n---\n\nkey: v\n\n---\n\ny\n")
		if d.Body != 0 || d.Metadata != nil || outlineOf(d) != "A\n" || own(d, 1) != "x\n\n---\n\nkey: v\n\n---\n\ny\n" {
			t.Errorf("(b) body %d, metadata %v, sections %q", d.Body, d.Metadata, outlineOf(d))
		}
		d = loadOne(t, "a.md", "---\nno end\n# B\n")
		if d.Body != 0 || outlineOf(d) != "B\n" {
			t.Errorf("(c) body %d, sections %q", d.Body, outlineOf(d))
		}
		c := loadFS(t, Options{IndexFrontMatter: true}, "a.md", "---\ntitle: Demo\n---\n# Body\nx\n")
		if got := c.Documents[0].Body; got != 0 {
			t.Errorf("with IndexFrontMatter content begins at %d, want 0", got)
		}
	})
	t.Run("MD-06 alias", func(t *testing.T) {
		d := loadOne(t, "a.md", "## The **24/7** [Support](https://x.test/s) `API` {#help}\n")
		for _, label := range []string{"The 24/7 Support API", "help", "#help"} {
			if i, err := d.Resolve(label); i != 1 || err != nil {
				t.Errorf("Resolve(%q) = %d, %v", label, i, err)
			}
		}
	})
	t.Run("MD-07", func(t *testing.T) {
		in := "# Cfg\n```yaml\na:\n  b: 1\n```\n\n- x\n    - y\n\nlast\n"
		if d := loadOne(t, "a.md", in); d.Text != in {
			t.Errorf("text %q, want it unchanged", d.Text)
		}
	})
	t.Run("CH-09 table block", func(t *testing.T) {
		d := loadOne(t, "a.md", "intro\n\n## Rates\n| zone | price |\n|---|---|\n| north | 30 |\n\nend\n")
		var kinds []BlockKind
		for _, b := range d.Blocks {
			kinds = append(kinds, b.Kind)
		}
		if diff := cmp.Diff([]BlockKind{Paragraph, Heading, Table, Paragraph}, kinds); diff != "" {
			t.Fatalf("kinds (-want +got):\n%s", diff)
		}
		if b := d.Blocks[2]; d.Text[b.Span.Start:b.Header] != "| zone | price |\n|---|---|\n" {
			t.Errorf("header is %q", d.Text[b.Span.Start:b.Header])
		}
	})
	t.Run("block kinds", func(t *testing.T) {
		d := loadOne(t, "a.md", "p\n\n- a\n- b\n  - c\n\n1. x\n\n   ```\n   code\n   ```\n\n> q\n\n***\n\n    indented\n\n<div>\nh\n</div>\n")
		var got []string
		for _, b := range d.Blocks {
			got = append(got, []string{"p", "heading", "code", "table", "list", "html", "rule"}[b.Kind]+" "+d.Text[b.Span.Start:b.Span.End])
		}
		want := []string{"p p", "list - a", "list - b", "list   - c", "list 1. x", "code    ```\n   code\n   ```", "p > q", "rule ***", "code     indented", "html <div>\nh\n</div>"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("blocks (-want +got):\n%s", diff)
		}
	})
}

// goldmarkHeadings returns level and text of the headings that a full parse finds at the top
// level of a document.
func goldmarkHeadings(src string) []string {
	var got []string
	root := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser().Parse(text.NewReader([]byte(src)))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && (n.PreviousSibling() == nil || beforeTable(n.PreviousSibling()) == nil) {
			var b strings.Builder
			inlineText(&b, h, []byte(src))
			title := foldSpace(b.String())
			if title == "" {
				title = untitled
			}
			got = append(got, strings.Repeat("#", h.Level)+" "+title)
		}
	}
	return got
}

// readHeadings returns the same from the reader's sections.
func readHeadings(d *Document) []string {
	var got []string
	for _, s := range d.Sections[1:] {
		got = append(got, strings.Repeat("#", s.Level)+" "+s.Path[len(s.Path)-1])
	}
	return got
}

// TestSpecHeadings compares the headings of the CommonMark specification's examples with those
// of a full parse. The examples come with goldmark's sources in the module cache.
func TestSpecHeadings(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Skipf("goldmark's sources are not at hand: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "_test", "spec.json"))
	if err != nil {
		t.Skipf("goldmark's sources come without the specification's examples: %v", err)
	}
	var examples []struct {
		Markdown string `json:"markdown"`
		Example  int    `json:"example"`
	}
	if err := json.Unmarshal(data, &examples); err != nil {
		t.Fatal(err)
	}
	if len(examples) < 600 {
		t.Fatalf("%d examples, want the whole specification", len(examples))
	}
	headings := 0
	for _, e := range examples {
		c, err := FS("spec", files("a.md", e.Markdown), Options{}).Load(t.Context())
		if err != nil {
			t.Errorf("example %d: %v", e.Example, err)
			continue
		}
		if len(c.Documents) == 0 {
			continue // holds what is no text
		}
		d := &c.Documents[0]
		if err := checkDocument(d); err != nil {
			t.Errorf("example %d: %v", e.Example, err)
		}
		if d.Body > 0 {
			continue // an example that begins like front matter
		}
		want := goldmarkHeadings(d.Text)
		headings += len(want)
		if len(want) == len(readHeadings(d)) {
			for i, h := range readHeadings(d) { // numbered twins
				if strings.HasPrefix(h, want[i]+" (") {
					want[i] = h
				}
			}
		}
		if diff := cmp.Diff(want, readHeadings(d)); diff != "" {
			t.Errorf("example %d: headings of %q (-goldmark +reader):\n%s", e.Example, e.Markdown, diff)
		}
	}
	if headings < 50 {
		t.Errorf("%d headings compared, want at least 50", headings)
	}
}

var markdownParts = []string{
	"# a\n", "## b #\n", "###### c\n", "####### no\n", "#\n", "x\n===\n", "y\n---\n", "---\n", "***\n", "\n", "\n\n", "text\n", "    ", "  ", "\t",
	"```\n", "````\n", "~~~\n", "``` js\n", "> ", "- ", "1. ", "* * *\n", "<div>\n", "</div>\n\n", "<!--\n", "-->\n", "<pre>\n", "</pre>\n",
	"[a]: /b 'c'\n", "[a]\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "| a |\n|:-:|\n", "**b** ", "`c` ", "\\# ", "é ", "你好 ", "{#id}\n", "\u00a0",
}

func TestGeneratedHeadings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := "x\n\n" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(markdownParts), 0, 40).Draw(t, "parts"), "")
		c, err := FS("gen", files("a.md", src), Options{}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d := &c.Documents[0]
		if err := checkDocument(d); err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		want := goldmarkHeadings(d.Text)
		got := readHeadings(d)
		if len(want) != len(got) {
			t.Fatalf("%q: headings %q, goldmark has %q", src, got, want)
		}
		for i := range want {
			if strings.Contains(want[i], "{#id}") { // an extension of ours
				continue
			}
			if got[i] != want[i] && !strings.HasPrefix(got[i], want[i]+" (") {
				t.Fatalf("%q: heading %q, goldmark has %q", src, got[i], want[i])
			}
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range markdownParts {
		f.Add("# t\n" + s + "tail\n")
	}
	f.Add("---\ntitle: x\nacl: [a, b]\n---\n# A\n")
	f.Add("+++\ntitle = 'x'\n+++\n# A\n")
	f.Add("~~A~~\u0311\n===\n")
	f.Add("0\n0\n -|\n -")
	f.Fuzz(func(t *testing.T, src string) {
		c, err := FS("fuzz", files("a.md", src), Options{Invalid: InvalidReplace}).Load(t.Context())
		if err != nil {
			return
		}
		for i := range c.Documents {
			if err := checkDocument(&c.Documents[i]); err != nil {
				t.Fatalf("%q: %v", src, err)
			}
		}
	})
}

// A row of dashes below the delimiter row is the table's; it makes no heading of what is above.
func TestDashesInTable(t *testing.T) {
	for _, src := range []string{"0\n0\n -|\n -", "a\nb\nc\n-|\n-\nx", "a\nb\n|-|\n===\n\n# H\n"} {
		c, err := FS("gen", files("a.md", src), Options{}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d := &c.Documents[0]
		if err := checkDocument(d); err != nil {
			t.Errorf("%q: %v", src, err)
		}
		if d.Blocks[0].Kind != Paragraph || d.Blocks[1].Kind != Table {
			t.Errorf("%q: blocks %+v, want a paragraph and a table", src, d.Blocks)
		}
	}
}

// A few kilobytes must not become millions of cells.
func TestTableOfGaps(t *testing.T) {
	src := strings.Repeat("|a", 2000) + "\n" + strings.Repeat("|-", 2000) + "\n" + strings.Repeat("|b\n", 2000)
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if kinds := blockKinds(t, src); len(kinds) != 1 {
				t.Fatalf("blocks %v, want one", kinds)
			}
		}
	}).AllocedBytesPerOp()
	if limit := int64(100 * len(src)); allocated > limit {
		t.Errorf("reading %d bytes allocates %d, more than %d", len(src), allocated, limit)
	}
	wide := strings.Repeat("| cell ", 300) + "|\n" + strings.Repeat("|---", 300) + "|\n" + strings.Repeat(strings.Repeat("| x ", 300)+"|\n", 50)
	if kinds := blockKinds(t, wide); len(kinds) != 1 || kinds[0] != Table {
		t.Errorf("a wide table that is written out: %v", kinds)
	}
}

func blockKinds(t *testing.T, src string) (kinds []BlockKind) {
	t.Helper()
	c, err := FS("test", fstest.MapFS{"a.md": {Data: []byte(src)}}, Options{}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range c.Documents[0].Blocks {
		kinds = append(kinds, b.Kind)
	}
	return kinds
}
