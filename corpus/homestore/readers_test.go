package homestore_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/corpus/homestore"
	"github.com/seed792a4543/assay/evalkit/golden"
)

var update = flag.Bool("update", false, "write "+homestore.LockFile+" again")

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

// The set has nothing to correct, at the cutoff at which the collection is usually scored.
func TestPreflight(t *testing.T) {
	docs, set := load(t)
	report := golden.Preflight(set, docs, golden.PreflightOptions{K: 3})
	for _, f := range report.Findings {
		t.Error(f)
	}
	t.Logf("mean share of a question's words that its gold sections hold: %.3f", report.Overlap)
}

// The lock fits the set and the documents. After a deliberate edit raise the set's version and
// run `go test ./corpus/homestore -run TestLock -update`.
func TestLock(t *testing.T) {
	docs, set := load(t)
	if *update {
		lock, err := golden.Freeze(set, docs)
		if err != nil {
			t.Fatal(err)
		}
		data, err := lock.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(homestore.LockFile, data, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Skipf("wrote %s: run again without -update", homestore.LockFile)
	}
	frozen, err := golden.ParseLock(homestore.LockFile, homestore.Lock())
	if err != nil {
		t.Fatal(err)
	}
	findings, _ := frozen.Check(set, docs)
	for _, f := range findings {
		t.Error(f)
	}
}
