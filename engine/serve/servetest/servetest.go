// Package servetest makes small stores with secrets in them, for tests of everything that
// answers callers: the secrets must reach only callers that hold the label board.
package servetest

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed792a4543/assay/chunk"
	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/sweep"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

// Canaries are strings of the hidden document: its name, title, heading, words and the number
// of what a caller without the label may not count.
var Canaries = []string{"zebrafinch", "Zebrafinch", "quokkamerger", "Narwhal"}

// HiddenDoc and HiddenSection name the hidden document.
const (
	HiddenDoc     = "zebrafinch-board.md"
	HiddenSection = "Zebrafinch plans > Narwhal"
)

// Docs are the documents of the test store. care.md holds text that is hostile to a page and to
// a protocol of lines.
func Docs() fstest.MapFS {
	return fstest.MapFS{
		"returns.md":  {Data: []byte("# Returns\n\n## Conditions\nGoods come back within 7 days of receiving them.\n\n## Refunds\nThe money is sent within 5 working days after the merger of both parcels.\n")},
		"delivery.md": {Data: []byte("# Delivery\n\n## Fees\nDelivery is free from 500,000 VND on.\n\n## Speed\nTwo days in the city, four elsewhere.\n")},
		HiddenDoc:     {Data: []byte("---\nacl: [board]\n---\n# Zebrafinch plans\n\n## Narwhal\nThe quokkamerger halves the refund window and the delivery fees in May.\n")},
		"care.md": {Data: []byte("# Care \\<script>alert(1)\\</script>\n\n## Kettle\nDescale the kettle monthly. <img src=x onerror=alert(2)> \"quoted\" & done.\n\n" +
			"## Pan\nNever scrub the pan.\u2028It is a line separator.\n\n## Fan\nDust the fan blades.\n\n## Oven\nWipe the oven while warm.\n\n## Iron\nEmpty the iron after use.\n")},
	}
}

// Golden is the golden set of the store; question board-plans is one that only the board asks.
const Golden = `schema: assay.golden/v1
name: shop
version: 1
questions:
  - {id: conditions, question: Which conditions for goods sent back?, answerable: true, critical: true, slice: [returns], gold: [{doc: returns.md, section: Returns > Conditions, quote: within 7 days}]}
  - {id: refunds, question: When is the money of refunds sent?, answerable: true, slice: [returns], gold: [{any: [{doc: returns.md, section: Returns > Refunds}, {doc: zebrafinch-board.md, section: Zebrafinch plans > Narwhal}]}]}
  - {id: fees, question: From how much VND is delivery free of fees?, answerable: true, slice: [delivery], gold: [{doc: delivery.md, section: Delivery > Fees}]}
  - {id: speed, question: What speed in the city?, answerable: true, slice: [delivery], gold: [{doc: delivery.md, section: Delivery > Speed}]}
  - {id: kettle, question: How often do I descale a kettle?, answerable: true, slice: [care], gold: [{doc: care.md, section: Care <script>alert(1)</script> > Kettle}]}
  - {id: pan, question: May I scrub the pan?, answerable: true, slice: [care], gold: [{doc: care.md, section: Care <script>alert(1)</script> > Pan}]}
  - {id: fan, question: How to dust fan blades?, answerable: true, slice: [care], gold: [{doc: care.md, section: Care <script>alert(1)</script> > Fan}]}
  - {id: oven, question: When should the oven be wiped?, answerable: true, slice: [care], gold: [{doc: care.md, section: Care <script>alert(1)</script> > Oven}]}
  - {id: board-plans, question: What does the quokkamerger of Narwhal halve?, answerable: true, as: [board], gold: [{doc: zebrafinch-board.md, section: Zebrafinch plans > Narwhal}]}
  - {id: bicycles, question: Do you repair bicycles?, answerable: false}
`

// Store is a store with two evaluated builds, LiveBuild and Candidate; a question or two flips
// between them.
type Store struct {
	*engine.Engine
	LiveBuild, Candidate string
	Sweep                string // id of a kept sweep that measured the live build
	Set                  *golden.Set
	Policy               *verdict.Policy
}

// Set parses Golden.
func Set(t testing.TB) *golden.Set {
	t.Helper()
	set, err := golden.Parse("golden.yaml", []byte(Golden))
	if err != nil {
		t.Fatal(err)
	}
	set.Path = "" // there is no file for a ledger to stand beside
	return set
}

// Build adds a build of the documents to a store.
func Build(t testing.TB, e *engine.Engine, docs fs.FS, s engine.Settings) string {
	t.Helper()
	b, err := e.Build(t.Context(), corpus.FS("shop", docs, corpus.Options{}), s)
	if err != nil {
		t.Fatal(err)
	}
	return b.ID
}

// Promote makes a build live by decree.
func Promote(t testing.TB, e *engine.Engine, id string) {
	t.Helper()
	_, err := e.PromoteWith(t.Context(), id, nil, engine.PromoteOptions{Override: true, Reason: engine.Reason{Who: "test", Why: "set up, before the quokkamerger"}})
	if err != nil {
		t.Fatal(err)
	}
}

// New makes a store in a folder of the test.
func New(t testing.TB) *Store {
	t.Helper()
	e, err := engine.Open(t.TempDir(), engine.Options{Refresh: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &Store{Engine: e, Set: Set(t), Policy: &verdict.Policy{Primary: "hit@1"}}
	s.LiveBuild = Build(t, e, Docs(), engine.Settings{Chunk: chunk.Settings{Kind: "section", Max: 900, Level: 2}})
	Promote(t, e, s.LiveBuild)
	// The candidate has lost the words of two answers to another document.
	worse := Docs()
	worse["care.md"].Data = []byte(strings.NewReplacer("Dust the fan blades.", "Clean it, please.", "Never scrub the pan.", "Handle with love.").Replace(string(worse["care.md"].Data)))
	worse["delivery.md"].Data = append(worse["delivery.md"].Data, "\n## Dust\nThe fan blades gather dust: dust blades of any fan gently.\n\n## Scrub\nMay comes: scrub every pan, scrub each pan with sand.\n"...)
	s.Candidate = Build(t, e, worse, engine.Settings{Chunk: chunk.Settings{Kind: "section", Max: 900, Level: 2}})
	for _, id := range []string{s.LiveBuild, s.Candidate} {
		if _, err := e.ValidateWith(t.Context(), id, s.Set, s.Policy, engine.ValidateOptions{NoSelfTest: true}); err != nil {
			t.Fatal(err)
		}
	}
	lexical := engine.Settings{Chunk: chunk.Settings{Kind: "section", Max: 900, Level: 2}}
	hybrid := lexical
	lexical.Hybrid.Mode = "lexical"
	out, err := e.SweepReport(t.Context(), corpus.FS("shop", Docs(), corpus.Options{}), s.Set,
		[]engine.Variant{{Name: "quokkamerger <b>as it is</b>", Settings: hybrid}, {Name: "words alone", Settings: lexical}},
		engine.SweepOptions{Primary: "hit@1"}, sweep.Options{Resamples: 100, Draws: 100})
	if err == nil {
		s.Sweep, err = e.SaveSweep(t.Context(), out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}
