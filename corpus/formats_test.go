package corpus

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pieces are put together to documents by the fuzz targets of the formats.
var formatSeeds = map[string][]string{
	".html": {
		"<!doctype html><title>T &amp; U</title><meta name=acl content='staff, board'><body><nav>menu</nav><h1 id=top>Head <b>ing</b></h1><p>One\ntwo &lt;x&gt;<p>Three<ul><li>a<li>b</ul><pre>\n  code\n    deep\n</pre><table><tr><th>zone<th>price<tr><td>north<td>30</table><footer>foot</footer>",
		"<main><h2>A</h2>x<h3>B</h3>y</main>outside", "<script>if (a<b) {}</script>text", "<p>e<b>&#x301;</b> &#0; &#13; &nbsp;x", "<h1><div>x</div>y<br>z</h1>", "<div>" + strings.Repeat("<i>", 50), "</p></p><td>x", "<!-- -- >", "<p hidden>no</p>yes", "a\r\nb",
	},
	".rst": {
		"=====\nTitle\n=====\n\n:acl: staff, board\n\nintro\n\nPart\n----\ntext\n\n::\n\n   Not\n   ---\n\nSub\n~~~\nx\n\nPart\n----\n", ".. note::\n\n   x\n", "A\n=\nBB\n==\n\nCC\n==\n", "====\n", "-----\n\ntext\n-----\n",
	},
	".adoc": {
		"= Title\n:acl: staff\n:toc:\n\nintro\n\n[[help]]\n== Part ==\ntext\n\n----\n== no\n----\n\n=== Sub\n* a\n* b\n\n|===\n|a |b\n|===\n\n====\nexample\n====\n", "....\nopen", "== \n=\n#\n", "[#x]\n[[y]]\n", "```sh\n== no\n```\n", "--\nopen block\n--\n",
	},
	".go": {
		"// Package p.\npackage p\n\nimport \"fmt\"\n\n// F does.\nfunc F() { fmt.Println() }\n\n// T is.\ntype T[K any] struct{}\n\nfunc (t *T[K]) M() {}\n\nvar (\n\ta = 1\n\tb = 2\n)\n\nconst c = 1; const d = 2\n\nfunc F2() {}\n", "not go", "package p\nfunc (", "package p\nfunc f(){}; func g(){}\n",
	},
	".py": {"import x\n\n\ndef f():\n    return 1\n\nclass A:\n\n    b = 2\n", "\n\n"},
	".txt": {
		"a\n\nb\nc\n", "---\nacl: [x]\n---\nsecret\n", "# x\n", " \n", "Big\n===\n\nCAPS\n\nx\n",
	},
}

func fuzzFormat(f *testing.F, ext string, options ...Options) {
	for _, s := range formatSeeds[ext] {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, o := range append(options, Options{Invalid: InvalidReplace}) {
			c, err := FS("fuzz", files("a"+ext, src), o).Load(t.Context())
			if err != nil {
				continue
			}
			for i := range c.Documents {
				if err := checkDocument(&c.Documents[i]); err != nil {
					t.Fatalf("%q: %v", src, err)
				}
			}
		}
	})
}

func FuzzHTML(f *testing.F)             { fuzzFormat(f, ".html") }
func FuzzReStructuredText(f *testing.F) { fuzzFormat(f, ".rst") }
func FuzzAsciiDoc(f *testing.F)         { fuzzFormat(f, ".adoc") }
func FuzzGoSource(f *testing.F)         { fuzzFormat(f, ".go") }
func FuzzSourceCode(f *testing.F)       { fuzzFormat(f, ".py") }
func FuzzText(f *testing.F)             { fuzzFormat(f, ".txt", Options{TextHeadings: true}) }

func FuzzJSONLines(f *testing.F) {
	f.Add(`{"_id":"1","title":"T","text":"a\r\nb"}` + "\n" + `{"id":2,"text":"","acl":["x"]}`)
	f.Add("{}\n[]")
	f.Add("\ufeff{\"_id\":\"e\u0301\",\"text\":\"x\",\"metadata\":{\"title\":\"y\"}}\r\n\r\n")
	f.Fuzz(func(t *testing.T, src string) {
		c, err := FS("fuzz", files("a.jsonl", src), Options{Include: []string{"*.jsonl"}}).Load(t.Context())
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

// blocksOf writes kind and text of each block.
func blocksOf(d *Document) []string {
	var got []string
	for _, b := range d.Blocks {
		got = append(got, []string{"p", "heading", "code", "table", "list", "html", "rule"}[b.Kind]+" "+d.Text[b.Span.Start:b.Span.End])
	}
	return got
}

func TestHTML(t *testing.T) {
	d := loadOne(t, "a.html", formatSeeds[".html"][0])
	want := []string{"heading Head ing", "p One two <x>", "p Three", "list a", "list b", "code   code\n    deep", "table zone | price\nnorth | 30"}
	if diff := cmp.Diff(want, blocksOf(d)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if d.Title != "T & U" || outlineOf(d) != "Head ing\n" || d.Sections[1].Alias != "top" || !slices.Equal(d.ACL, []string{"board", "staff"}) {
		t.Errorf("title %q, sections %q, alias %q, acl %q", d.Title, outlineOf(d), d.Sections[1].Alias, d.ACL)
	}
	if b := d.Blocks[6]; d.Text[b.Header:b.Span.End] != "north | 30" {
		t.Errorf("rows %q", d.Text[b.Header:b.Span.End])
	}
	for _, tt := range []struct{ name, in, want string }{
		{"main only", "<nav>n</nav><main><h1>A</h1>x</main>outside", "A\n\nx"},
		{"one article", "<div>menu</div><article>x</article>", "x"},
		{"two articles", "<article>x</article><article>y</article>", "x\n\ny"},
		{"empty main", "<main></main><p>x</p>", "x"},
		{"scripts", "a<script>var x = '<p>no</p>';</script><style>p{}</style>b<!-- no -->c", "a\n\nbc"},
		{"inline elements join", "<p>un<b>believ</b>able, <i>really</i>\n<a href=x>so</a></p>", "unbelievable, really so"},
		{"br", "a<br>b<br/>c", "a\nb\nc"},
		{"entities", "<p>5 &lt; 6 &amp; caf&eacute; &#x1F600;</p>", "5 < 6 & café 😀"},
		{"image description", "<p>see <img src=x alt='a map'> here", "see a map here"},
		{"heading with parts", "<h2><div>A</div> <br>B</h2>x", "A B\n\nx"},
		{"form around the page", "<form><p>x</p></form>", "x"},
		{"hidden", "<p hidden>no</p><p aria-hidden=true>no</p><p>yes</p>", "yes"},
		{"composed across elements", "<p>e<b>&#x301;x</b></p>", "e \u0301x"},
		{"composed inside", "<p>e&#x301;x</p>", "éx"},
		{"no tags", "just text", "just text"},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := loadOne(t, "a.html", tt.in); d.Text != tt.want {
				t.Errorf("text %q, want %q", d.Text, tt.want)
			}
		})
	}
	t.Run("position", func(t *testing.T) {
		d := loadOne(t, "a.html", "<html>\n<body>\n <h1>Überschrift</h1>\n<p>one  two <b>three</b>\nfour &amp; five</p>\n")
		for word, want := range map[string][2]int{"Überschrift": {3, 6}, "one": {4, 4}, "two": {4, 9}, "three": {4, 16}, "four": {5, 1}, "&": {5, 6}, "five": {5, 12}} {
			if line, column := d.Position(strings.Index(d.Text, word)); line != want[0] || column != want[1] {
				t.Errorf("%s at %d:%d, want %d:%d", word, line, column, want[0], want[1])
			}
		}
	})
	t.Run("PM-04", func(t *testing.T) {
		for _, in := range []string{"<meta name=ACL content=x>", "<meta name=acls content=x>", "<meta name=acl content=''>"} {
			loadErr(t, Options{}, "a.html", in+"<p>secret")
		}
	})
	t.Run("SV unclosed hidden element warns", func(t *testing.T) {
		if c := loadFS(t, Options{}, "a.html", "<p>a<nav>b<p>c"); len(c.Warnings) != 1 {
			t.Errorf("warnings %v", c.Warnings)
		}
	})
	t.Run("SV bombs", func(t *testing.T) {
		for name, in := range map[string]string{
			"deep":        strings.Repeat("<div>", 100_000) + "x",
			"deep inline": strings.Repeat("<b>", 100_000) + "x" + strings.Repeat("</i>", 100_000),
			"one line":    strings.Repeat("<p>a b &amp; c</p>", 100_000),
			"headings":    strings.Repeat("<h1>a</h1>", 9_000),
			"attributes":  "<p " + strings.Repeat("a=1 ", 100_000) + ">x",
			"open tags":   strings.Repeat("<", 1_000_000),
			"entities":    "<p>" + strings.Repeat("&lt;", 500_000),
			"cells":       "<table>" + strings.Repeat("<tr><td>a<td>b", 50_000),
			"deep lists":  strings.Repeat("<ul><li>", 50_000) + "x",
			"pre":         "<pre>" + strings.Repeat("x\n", 500_000),
		} {
			c := loadFS(t, Options{}, "a.html", in)
			if err := checkDocument(&c.Documents[0]); err != nil {
				t.Errorf("%s: %.200s", name, err)
			}
		}
	})
}

func TestReStructuredText(t *testing.T) {
	d := loadOne(t, "a.rst", formatSeeds[".rst"][0])
	if got := outlineOf(d); got != "Title\nTitle > Part\nTitle > Part > Sub\nTitle > Part (2)\n" {
		t.Errorf("sections %q", got)
	}
	if !slices.Equal(d.ACL, []string{"board", "staff"}) {
		t.Errorf("acl %q", d.ACL)
	}
	loadErr(t, Options{}, "a.rst", "T\n=\n\n:ACL: x\n")
	if d := loadOne(t, "a.rst", "Long title\n---\n\ntext\n\n-----\n\nmore\n"); len(d.Sections) != 1 {
		t.Errorf("short underline and transition gave %q", outlineOf(d))
	}
}

func TestAsciiDoc(t *testing.T) {
	d := loadOne(t, "a.adoc", formatSeeds[".adoc"][0])
	if got := outlineOf(d); got != "Title\nTitle > Part\nTitle > Part > Sub\n" {
		t.Errorf("sections %q", got)
	}
	if i, err := d.Resolve("#help"); i != 2 || err != nil || !slices.Equal(d.ACL, []string{"staff"}) {
		t.Errorf("Resolve(#help) = %d, %v; acl %q", i, err, d.ACL)
	}
	loadErr(t, Options{}, "a.adoc", "= T\n:acls: x\n\ntext\n")
	if c := loadFS(t, Options{}, "a.adoc", "= T\n\n----\n== x\n"); len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].Error(), "a.adoc:3") {
		t.Errorf("warnings %v, want one at line 3", c.Warnings)
	}
}

func TestGoSource(t *testing.T) {
	d := loadOne(t, "x/a.go", formatSeeds[".go"][0])
	if got := outlineOf(d); got != "F\nT\nT.M\na\nc\nF2\n" {
		t.Errorf("sections %q", got)
	}
	if got := own(d, 1); got != "// F does.\nfunc F() { fmt.Println() }\n\n" || d.Title != "a.go" {
		t.Errorf("F is %q, title %q", got, d.Title)
	}
	if c := loadFS(t, Options{}, "a.go", "nonsense"); len(c.Warnings) != 1 || len(c.Documents) != 1 {
		t.Errorf("warnings %v, want one", c.Warnings)
	}
	deep := loadFS(t, Options{}, "a.go", "package p\nvar x = "+strings.Repeat("(", 1_000_000))
	if len(deep.Documents) != 1 {
		t.Error("deep nesting lost the document")
	}
}

func TestSourceCode(t *testing.T) {
	d := loadOne(t, "a.py", formatSeeds[".py"][0])
	if diff := cmp.Diff([]string{"code import x", "code def f():\n    return 1", "code class A:", "code     b = 2"}, blocksOf(d)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestJSONLines(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "corpus.jsonl", `{"_id": "d2", "title": "Two", "text": "second\r\ntext", "metadata": {"url": "x"}}
{"_id": "d1", "title": "", "text": ""}

{"id": 7, "title": "only a title", "text": " ", "acl": "staff", "supersedes": ["d1"], "year": 2020}
`)
	write(t, dir, "queries.jsonl", `{"_id": "q", "text": "question"}`)
	for name, source := range map[string]Source{"BEIR": BEIR(dir), "JSONL": JSONL(dir + "/corpus.jsonl"), "Dir": Dir(dir, Options{Include: []string{"corpus.jsonl"}}), "file": Dir(dir+"/corpus.jsonl", Options{Include: []string{"**/*.md"}})} {
		c, err := source.Load(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]string{"7", "d1", "d2"}, ids(c)); diff != "" {
			t.Fatalf("%s: documents (-want +got):\n%s", name, diff)
		}
		for i := range c.Documents {
			if err := checkDocument(&c.Documents[i]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		d := c.Find("d2")
		if d.Text != "second\ntext" || d.Title != "Two" || !cmp.Equal(d.Metadata, map[string]string{"url": "x"}) {
			t.Errorf("%s: d2 is %+v", name, d)
		}
		if line, column := d.Position(0); line != 1 || column != 1 {
			t.Errorf("%s: d2 at %d:%d", name, line, column)
		}
		d = c.Find("7")
		if d.Text != "only a title" || !slices.Equal(d.ACL, []string{"staff"}) || !slices.Equal(d.Supersedes, []DocumentID{"d1"}) || d.Metadata["year"] != "2020" {
			t.Errorf("%s: 7 is %+v", name, d)
		}
		if d := c.Find("d1"); d.Text != "" || d.Title != "d1" || len(d.Blocks) != 0 {
			t.Errorf("%s: d1 is %+v", name, d)
		}
	}
	if c, err := Dir(dir, Options{}).Load(t.Context()); err != nil || len(c.Documents) != 0 || len(c.Skipped) != 2 {
		t.Errorf("unasked: %v, %v, want both files skipped", c, err)
	}
	for in, place := range map[string]string{
		"{\"_id\":\"a\",\"text\":\"x\"}\n{bad": "c.jsonl:2", "{\"text\":\"x\"}": "c.jsonl:1", "{\"_id\":\"a\",\"text\":5}": "c.jsonl:1",
		"\n{\"_id\":\"a\",\"acl\":[1]}": "c.jsonl:2", "{\"_id\":\"a\",\"ACL\":[]}": "c.jsonl:1", "{\"_id\":\"\\ud800\",\"text\":\"\"}\n\xff": "c.jsonl:2",
		"{\"_id\":\"a\"}\n{\"_id\":\"a\"}": "a:0",
	} {
		write(t, dir, "c.jsonl", in)
		_, err := JSONL(dir + "/c.jsonl").Load(t.Context())
		if got := fileErrors(err); len(got) != 1 || got[0] != place {
			t.Errorf("%q: errors at %v, want %s: %v", in, got, place, err)
		}
	}
}

// A combining mark that markup keeps apart from its letter composes with it in the heading's title.
func TestTitleIsNormalised(t *testing.T) {
	for name, src := range map[string]string{
		"strike.md":   "~~A~~\u0311\n===\n\ntext\n",
		"emphasis.md": "# *A*\u0311\n\ntext\n",
		"entity.md":   "# A&#x311;\n\ntext\n",
		"bold.html":   "<title>A&#x311;</title><h1 id='A&#x311;'><b>A</b>&#x311;</h1><p>text",
		"mark.rst":    "A\\ \u0311\n======\n\ntext\n",
		"mark.adoc":   "= A\u0311\n\ntext\n",
	} {
		c, err := FS("gen", files(name, src), Options{}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := checkDocument(&c.Documents[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
