package golden

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApplyRemaps(t *testing.T) {
	file := header + `  # asked every week
  - id: q1
    question: When may goods come back?
    answerable: true
    gold:
      - {doc: a.md, section: A, quote: seven days}   # flow
  - id: q2
    question: What does it cost?
    answerable: true
    gold:
      - any:
          - doc: a.md
            section: "B"
          - doc: c.md
            section: C > D
            quote: five
  - id: q3
    question: Whole?
    answerable: true
    gold: [{doc: w.md}]
`
	before := documents(t, "a.md", "# A\nGoods come back within seven days.\n# B\nIt costs nothing at all.\n", "c.md", "# C\n## D\nfive\n", "w.md", "whole\n")
	after := documents(t, "a.md", "# Returns: how\nGoods come back within seven days.\n# B\nIt costs nothing at all.\n", "z.md", "# C\n## D\nfive\n")
	set := mustParse(t, "g.yaml", file)
	lock, err := Freeze(set, before)
	if err != nil {
		t.Fatal(err)
	}
	_, remaps := lock.Check(set, after)
	text, diff, left := ApplyRemaps("g.yaml", []byte(file), remaps)
	want := `--- g.yaml
+++ g.yaml
@@ -7,7 +7,7 @@
     question: When may goods come back?
     answerable: true
     gold:
-      - {doc: a.md, section: A, quote: seven days}   # flow
+      - {doc: a.md, section: "Returns: how", quote: seven days}   # flow
   - id: q2
     question: What does it cost?
     answerable: true
@@ -15,7 +15,7 @@
       - any:
           - doc: a.md
             section: "B"
-          - doc: c.md
+          - doc: "z.md"
             section: C > D
             quote: five
   - id: q3
`
	if d := cmp.Diff(want, diff); d != "" {
		t.Errorf("diff (-want +got):\n%s", d)
	}
	if len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	again := mustParse(t, "g.yaml", string(text))
	if err := Preflight(&Set{Questions: again.Questions[:2], Name: "t", Version: 1}, after, PreflightOptions{}).Err(); err != nil {
		t.Errorf("the new text does not fit the documents: %v", err)
	}

	// A proposal that does not fit the file is handed back and nothing is written.
	wrong := remaps[0]
	wrong.Line = 2
	text, diff, left = ApplyRemaps("g.yaml", []byte(file), []Remap{wrong})
	if string(text) != file || diff != "" || len(left) != 1 {
		t.Errorf("a proposal for another line: diff %q, left %v", diff, left)
	}
	if _, _, left := ApplyRemaps("g.yaml", []byte("a: ["), remaps); len(left) != len(remaps) {
		t.Error("proposals for an unreadable file are not handed back")
	}
	crlf := strings.ReplaceAll(file, "\n", "\r\n")
	if text, _, left := ApplyRemaps("g.yaml", []byte(crlf), remaps); len(left) != 0 || strings.Count(string(text), "\r\n") != strings.Count(crlf, "\r\n") {
		t.Errorf("CRLF: left %v", left)
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(`{"schema":"assay.golden-lock/v1","name":"a","version":1,"digest":"x","questions":[{"id":"q","digest":"y"}]}`))
	set := mustParse(f, "g.yaml", header+"  - {id: q, question: b, answerable: true, gold: [{doc: a.md, section: A}]}\n")
	docs := documents(f, "a.md", "# A\nx\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock("f", data)
		if err != nil {
			return
		}
		l.Check(set, docs)
		out, err := l.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseLock("f", out)
		if err != nil {
			t.Fatalf("does not read back: %v", err)
		}
		second, err := again.Encode()
		if err != nil || string(second) != string(out) {
			t.Fatalf("encodes differently the second time: %v", err)
		}
	})
}

func FuzzParseLedger(f *testing.F) {
	f.Add([]byte("{\"when\":\"2026-03-04T05:06:07Z\",\"who\":\"a\",\"set\":\"s\",\"revealed\":\"questions\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLedger("f", data)
		if err == nil {
			if w := l.Wear(&Set{Name: "s"}); w.Looks > len(l.Looks) || w.Spent && w.Looks == 0 {
				t.Fatalf("wear %+v of %d looks", w, len(l.Looks))
			}
		}
	})
}
