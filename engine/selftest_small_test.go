package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// Documents after one template, with one vector for many chunks or one text for many sections, and
// collections of a handful of chunks are sound, and what is injected into them is noticed.
func TestSelfTestOfAlikeDocuments(t *testing.T) {
	zones := func(n int) (map[string]string, []string) {
		docs, questions := map[string]string{}, []string{}
		for i := range n {
			docs[fmt.Sprintf("z%d.md", i)] = fmt.Sprintf("# Zone %d\n## Fee\nDelivery to zone %d costs %d EUR.\n## Time\nDelivery to zone %d takes %d days.\n", i, i, i*7, i, i+1)
			questions = append(questions, fmt.Sprintf("{id: q%d, question: Delivery price zone %d, answerable: true, gold: [{doc: z%d.md, section: Fee}]}", i, i, i))
		}
		return docs, questions
	}
	manuals := func(names ...string) (map[string]string, []string) {
		docs, questions := map[string]string{}, []string{}
		for _, n := range names {
			docs[n+".md"] = fmt.Sprintf("# %s manual\n## Safety\nKeep the device away from water.\n## Cleaning\nWipe the %s dry.\n## Warranty\nThe %s has two years of warranty.\n## Disposal\nBring the device to a collection point.\n", n, n, n)
			questions = append(questions, fmt.Sprintf("{id: %s, question: How long is the warranty of the %s, answerable: true, gold: [{doc: %s.md, section: Warranty}]}", n, n, n))
		}
		return docs, questions
	}
	pages := map[string]string{"a.md": "# Fees\nA return costs 5 EUR.\n", "b.md": "# Hours\nWe open at nine.\n"}
	chinese := map[string]string{"a.md": "# 退货\n您可以在三十天内退回商品。\n", "b.md": "# 营业时间\n我们九点开门。\n", "c.md": "# 运费\n快递需要五天。\n"}
	type collection struct {
		docs      map[string]string
		questions []string
	}
	of := func(docs map[string]string, questions []string) collection { return collection{docs, questions} }
	for name, c := range map[string]collection{
		"zones":       of(zones(12)),
		"manuals":     of(manuals("Toaster", "Kettle", "Blender", "Mixer", "Oven", "Fridge", "Grill", "Juicer", "Fan", "Heater")),
		"two manuals": of(manuals("Toaster", "Kettle")),
		"two pages":   {pages, []string{"{id: a, question: What does a return cost, answerable: true, gold: [{doc: a.md}]}"}},
		"no spaces":   {chinese, []string{"{id: a, question: 几点开门, answerable: true, gold: [{doc: b.md}]}"}},
	} {
		for _, mode := range []string{"hybrid", "lexical", "vector"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				files := fstest.MapFS{}
				for path, text := range c.docs {
					files[path] = &fstest.MapFile{Data: []byte(text)}
				}
				set, err := golden.Parse("golden.yaml", []byte("schema: assay.golden/v1\nname: g\nversion: 1\nquestions:\n  - "+strings.Join(c.questions, "\n  - ")+"\n"))
				if err != nil {
					t.Fatal(err)
				}
				e := open(t, t.TempDir())
				var s engine.Settings
				s.Hybrid.Mode = mode
				b, err := e.Build(t.Context(), corpus.FS("docs", files, corpus.Options{}), s)
				if err != nil {
					t.Fatal(err)
				}
				v, err := e.Validate(t.Context(), b, set, &verdict.Policy{Primary: "hit@3"})
				if err != nil {
					t.Fatal(err)
				}
				if v.Verdict == verdict.Invalid || strings.Contains(strings.Join(v.Reasons, "\n"), "ntegrity") {
					t.Errorf("%s: %q", v.Verdict, v.Reasons)
				}
				for _, f := range v.SelfTest.Faults {
					if !f.Caught {
						t.Errorf("%s: %s", f.Name, f.Note)
					}
				}
			})
		}
	}
}
