package corpus

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const docxStyles = `<w:styles xmlns:w="x"><w:style w:styleId="Ttl"><w:name w:val="heading 1"/></w:style><w:style w:styleId="Sub"><w:name w:val="Own"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>`

func docx(t testing.TB, body string) string { return docxWith(t, body, "") }

// docxWith has custom properties unless they are "".
func docxWith(t testing.TB, body, properties string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	parts := map[string]string{"word/styles.xml": docxStyles, "word/document.xml": `<w:document xmlns:w="x" xmlns:mc="y"><w:body>` + body + `</w:body></w:document>`}
	if properties != "" {
		parts["docProps/custom.xml"] = properties
	}
	for name, content := range parts {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const docxBody = `<w:p><w:pPr><w:pStyle w:val="Ttl"/></w:pPr><w:r><w:t>The </w:t></w:r><w:r><w:t>Manual</w:t></w:r></w:p>
<w:p><w:r><w:t>Within 7 days</w:t><w:br/><w:t>cafe&#x301; &amp; more</w:t></w:r><w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>
<w:p/><w:p><w:pPr><w:pStyle w:val="Sub"/></w:pPr><w:r><w:t>Rates</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>zone</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>price</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>north</w:t></w:r></w:p><w:p><w:r><w:t>east</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>30</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>once</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>twice</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>`

func TestDOCX(t *testing.T) {
	o := Options{Include: []string{"*.docx"}}
	c := loadFS(t, o, "a.docx", docx(t, docxBody))
	if len(c.Documents) != 1 {
		t.Fatalf("skipped %v", c.Skipped)
	}
	d := &c.Documents[0]
	if err := checkDocument(d); err != nil {
		t.Fatal(err)
	}
	want := []string{"heading The Manual", "p Within 7 days\ncafé & more", "heading Rates", "list item", "table zone | price\nnorth east | 30", "p once"}
	if diff := cmp.Diff(want, blocksOf(d)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if got := outlineOf(d); got != "The Manual\nThe Manual > Rates\n" || d.Title != "The Manual" {
		t.Errorf("sections %q, title %q", got, d.Title)
	}
	if line, _ := d.Position(strings.Index(d.Text, "Rates")); line != 4 {
		t.Errorf("Rates is in paragraph %d, want 4", line)
	}
	if c := loadFS(t, Options{}, "a.docx", docx(t, docxBody)); len(c.Documents) != 0 || len(c.Skipped) != 1 {
		t.Errorf("unasked: %d documents, skipped %v", len(c.Documents), c.Skipped)
	}

	t.Run("SV damaged and hostile", func(t *testing.T) {
		whole := docx(t, docxBody)
		for name, content := range map[string]string{
			"no archive": "text", "empty": "", "truncated": whole[:len(whole)/2], "bad XML": docx(t, "<w:p>"), "entity bomb": docx(t, "<w:p><w:t>&lol;</w:t></w:p>"),
			"bomb": docx(t, "<w:p><w:r><w:t>"+strings.Repeat("a", maxPartBytes)+"</w:t></w:r></w:p>"),
		} {
			if c := loadFS(t, o, "a.docx", content); len(c.Documents) != 0 || len(c.Skipped) != 1 {
				t.Errorf("%s: %d documents, skipped %v, want it skipped", name, len(c.Documents), c.Skipped)
			}
		}
	})
}

// property is one custom property as Word writes it.
func property(name, kind, value string) string {
	return `<property fmtid="{D5CDD505-2E9C-101B-9397-08002B2CF9AE}" pid="2" name="` + name + `"><vt:` + kind + `>` + value + `</vt:` + kind + `></property>`
}

func properties(all ...string) string {
	return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><Properties xmlns="p" xmlns:vt="v">` + strings.Join(all, "") + `</Properties>`
}

func TestDOCXProperties(t *testing.T) {
	o := Options{Include: []string{"*.docx"}}
	body := `<w:p><w:r><w:t>Within 7 days</w:t></w:r></w:p>`
	c := loadFS(t, o, "old.docx", docx(t, body), "new.docx", docxWith(t, body, properties(
		property("title", "lpwstr", "Returns, revised"), property("acl", "lpwstr", "staff, bo&#97;rd"), property("supersedes", "lpwstr", "old.docx"), property("Pages", "i4", "7"))))
	d := c.Find("new.docx")
	if d == nil || d.Title != "Returns, revised" || d.Metadata["Pages"] != "7" {
		t.Fatalf("%+v, skipped %v", d, c.Skipped)
	}
	if diff := cmp.Diff([]string{"board", "staff"}, d.ACL); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]DocumentID{"old.docx"}, d.Supersedes); diff != "" {
		t.Errorf("superseded (-want +got):\n%s", diff)
	}
	for name, custom := range map[string]string{
		"misspelt": properties(property("ACL", "lpwstr", "staff")), "plural": properties(property("acls", "lpwstr", "staff")),
		"number": properties(property("acl", "i4", "7")), "empty": properties(property("acl", "lpwstr", " , ")), "no value": properties(`<property name="acl"/>`),
		"twice":   properties(property("acl", "lpwstr", "staff"), property("acl", "lpwstr", "board")),
		"unknown": properties(property("supersedes", "lpwstr", "none.docx")), "broken": properties(property("acl", "lpwstr", "staff"))[:150],
	} {
		if err := loadErr(t, o, "a.docx", docxWith(t, body, custom)); !strings.Contains(err.Error(), "a.docx") {
			t.Errorf("PM-04 %s: %v", name, err)
		}
	}
}

func FuzzDOCX(f *testing.F) {
	f.Add(docxBody, "")
	f.Add(`<w:p><w:p><w:t>nested</w:t></w:p></w:p><w:tbl><w:tbl></w:tbl><w:t>x</w:t></w:tbl>`, properties(property("acl", "lpwstr", "staff")))
	f.Add(`<w:t>no paragraph</w:t></w:p><w:tr><w:tc>`, `<property name="x"><property></a>`)
	f.Fuzz(func(t *testing.T, body, custom string) {
		c, err := FS("fuzz", files("a.docx", docxWith(t, body, custom)), Options{Include: []string{"*"}}).Load(t.Context())
		var fault *FileError
		if errors.As(err, &fault) {
			return // permissions that cannot be told
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Documents {
			if err := checkDocument(&c.Documents[i]); err != nil {
				t.Fatalf("%q: %v", body, err)
			}
		}
	})
}
