package homestore_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/evalkit/golden"
)

// load reads the collection with the project's own readers.
func load(t *testing.T) (*corpus.Collection, *golden.Set) {
	t.Helper()
	docs, err := corpus.FS(homestore.Name, homestore.Documents(), corpus.Options{}).Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	set, err := golden.Parse(homestore.GoldenFile, homestore.Golden())
	if err != nil {
		t.Fatal(err)
	}
	return docs, set
}

// The project's readers see what the plain readers of this test see: the same documents,
// sections, permissions and questions.
func TestReaders(t *testing.T) {
	docs, set := load(t)
	if len(docs.Skipped) > 0 || len(docs.Warnings) > 0 {
		t.Errorf("skipped %v, warnings %v", docs.Skipped, docs.Warnings)
	}
	plain := documents(t)
	if len(docs.Documents) != len(plain) {
		t.Errorf("%d documents, want %d", len(docs.Documents), len(plain))
	}
	for _, d := range docs.Documents {
		got, want := map[string]bool{}, map[string]bool{}
		for _, s := range d.Sections {
			got[corpus.FormatPath(s.Path)] = true
		}
		for path := range plain[string(d.ID)].sections {
			want[path] = true
		}
		want[""] = true // every document has an own section, empty or not
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: sections (-want +got):\n%s", d.ID, diff)
		}
	}
	if d := docs.Find("price-overrides.md"); d == nil || !cmp.Equal(d.ACL, []string{"staff"}) {
		t.Errorf("price-overrides.md: not restricted to staff: %+v", d)
	}
	if d := docs.Find("returns.md"); d == nil || !cmp.Equal(d.Supersedes, []corpus.DocumentID{"returns-2024.md"}) {
		t.Errorf("returns.md: does not supersede returns-2024.md")
	}
	if want := len(questions(t)); len(set.Questions) != want {
		t.Errorf("%d questions, want %d", len(set.Questions), want)
	}
	for _, q := range set.Questions {
		for _, g := range q.Gold {
			for _, m := range g {
				d := docs.Find(m.Doc)
				if d == nil {
					t.Errorf("%s: no document %s", q.ID, m.Doc)
					continue
				}
				i, err := d.Resolve(*m.Section)
				if err != nil {
					t.Errorf("%s: %v", q.ID, err)
					continue
				}
				if got := corpus.FormatPath(d.Sections[i].Path); got != *m.Section {
					t.Errorf("%s: label %q resolves to %q", q.ID, *m.Section, got)
				}
			}
		}
	}
}
