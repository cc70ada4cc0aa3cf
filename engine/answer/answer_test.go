package answer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/engine/answer"
	"github.com/seed792a4543/assay/index"
	"github.com/seed792a4543/assay/internal/disk"
)

func hits(texts ...string) []index.Hit {
	var out []index.Hit
	for i, s := range texts {
		out = append(out, index.Hit{Rank: i + 1, Chunk: "a", Doc: "a.md", Start: i * 1000, End: i*1000 + len(s), Text: s})
	}
	return out
}

func TestDeliver(t *testing.T) {
	five := hits(strings.Repeat("a", 400), strings.Repeat("b", 400), strings.Repeat("c", 400), strings.Repeat("d", 400), strings.Repeat("e", 400))
	t.Run("SV-05", func(t *testing.T) {
		ps := answer.Deliver(five, answer.DeliverOptions{Budget: 1000})
		if len(ps) != 2 || ps[0].Marker != 1 || ps[1].Marker != 2 || ps[1].Text != five[1].Text {
			t.Errorf("got %d passages, want the first two whole, numbered 1 and 2", len(ps))
		}
		// A long passage ends the list: a later one is not moved up.
		ps = answer.Deliver(hits("a", strings.Repeat("b", 50), "c"), answer.DeliverOptions{Budget: 10})
		if len(ps) != 1 {
			t.Errorf("got %d passages, want the one before the long one", len(ps))
		}
		records, err := answer.RunAll(t.Context(), []answer.Job{{Question: "q", Text: "a?", Hits: five}}, answer.NewExtractive(answer.ExtractiveOptions{}),
			answer.RunOptions{Deliver: answer.DeliverOptions{Budget: 1000}})
		if err != nil || len(records[0].Passages) != 2 || records[0].Context() != five[0].Text+"\n\n"+five[1].Text+"\n\n" {
			t.Errorf("the record holds %d passages, %v; want exactly what was shown", len(records[0].Passages), err)
		}
	})
	allowed := answer.Deliver(five, answer.DeliverOptions{Budget: -1, Allowed: func(h index.Hit) bool { return h.Rank != 1 }})
	if len(allowed) != 4 || allowed[0].Marker != 1 || allowed[0].Hit.Rank != 2 {
		t.Errorf("got %+v, want four passages, the first of rank 2", allowed)
	}
	merge := answer.MergeNeighbours(0, nil)
	a := index.Hit{Rank: 1, Doc: "x", Start: 5, End: 10, Text: "fghij"}
	b := index.Hit{Rank: 2, Doc: "x", Start: 0, End: 6, Text: "abcdef"}
	c := index.Hit{Rank: 3, Doc: "y", Start: 0, End: 3, Text: "xyz"}
	got := merge([]index.Hit{a, c, b})
	if len(got) != 2 || got[0].Text != "abcdefghij" || got[0].Start != 0 || got[0].End != 10 || got[0].Rank != 1 {
		t.Errorf("merged %+v", got)
	}
}

const page = "## Fees\n\n| Zone | Small parcel | Large appliance |\n|---|---|---|\n| Zone 1 | 30,000 VND | 120,000 VND |\n| Islands | 180,000 VND | 480,000 VND |\n\n" +
	"Vouchers count e.g. before points. Two parcels are charged once.\n\n- **Cash**: within 3 days.\n- E-wallet: 24 hours\n"

func TestExtractive(t *testing.T) {
	e := answer.NewExtractive(answer.ExtractiveOptions{Sentences: 1, Threshold: new(0.0)})
	r := answer.Request{Question: "What does a large appliance to the islands cost?", Passages: answer.Deliver(hits("Parking is free.", page), answer.DeliverOptions{})}
	a, err := e.Answer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Islands: Small parcel 180,000 VND; Large appliance 480,000 VND [2]"; a.Text != want || a.Refused || !slices.Equal(a.Citations, []int{2}) {
		t.Errorf("got %q citing %v, want %q", a.Text, a.Citations, want)
	}
	b, _ := e.Answer(t.Context(), r)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("the same request gives another answer:\n%s", diff)
	}
	r.Question = "Waht do I pay for a smal parcl to zone 1?" // typing errors
	if a, _ = e.Answer(t.Context(), r); !strings.Contains(a.Text, "30,000 VND") {
		t.Errorf("typing errors: got %q", a.Text)
	}
	strict := answer.NewExtractive(answer.ExtractiveOptions{})
	for _, q := range []string{"Do you sell parrots?", "", "is it?"} {
		r.Question = q
		if a, err := strict.Answer(t.Context(), r); err != nil || !a.Refused || !a.RefusedField || len(a.Citations) != 0 || a.Text == "" {
			t.Errorf("%q: got %+v, %v; want a refusal", q, a, err)
		}
	}
	if a, _ := strict.Answer(t.Context(), answer.Request{Question: "x fees"}); !a.Refused {
		t.Error("answered without passages")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Answer(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	// What a document says is copied, but never taken for a citation marker.
	r = answer.Request{Question: "deposit rule", Passages: answer.Deliver(hits("The deposit rule [7] is plain."), answer.DeliverOptions{})}
	if a, _ := e.Answer(t.Context(), r); a.Text != "The deposit rule is plain. [1]" {
		t.Errorf("got %q", a.Text)
	}
}

func TestExtractiveChoice(t *testing.T) {
	e := answer.NewExtractive(answer.ExtractiveOptions{})
	ask := func(t *testing.T, question string, texts ...string) answer.Answer {
		t.Helper()
		a, err := e.Answer(t.Context(), answer.Request{Question: question, Passages: answer.Deliver(hits(texts...), answer.DeliverOptions{})})
		if err != nil || a.Refused {
			t.Fatalf("%q: refused %v, %v", question, a.Refused, err)
		}
		return a
	}
	const codes = "## Codes on the display\n\n| Code | Meaning | What to do |\n|---|---|---|\n| E-03 | Load unevenly spread | loosen it |\n| E-04 | Water does not run off | clean the filter |\n| E-05 | Water not getting warm | call service |\n"
	t.Run("the named row alone", func(t *testing.T) {
		a := ask(t, "What does the display want when the washing machine shows E-04?", codes)
		if want := "E-04: Meaning Water does not run off; What to do clean the filter [1]"; a.Text != want {
			t.Errorf("got %q, want %q", a.Text, want)
		}
	})
	t.Run("one passage if the other is far", func(t *testing.T) {
		a := ask(t, "What does parking cost at the harbour?", "Parking at the harbour costs 5 EUR.", "Boats sail every Monday.")
		if !slices.Equal(a.Citations, []int{1}) {
			t.Errorf("cites %v", a.Citations)
		}
	})
	t.Run("each part has its own passage", func(t *testing.T) {
		a := ask(t, "What does parking cost, and when do the boats sail?", "Parking costs 5 EUR.", "The boats sail every Monday at 10:00.")
		if want := "Parking costs 5 EUR. [1]\nThe boats sail every Monday at 10:00. [2]"; a.Text != want {
			t.Errorf("got %q, want %q", a.Text, want)
		}
	})
	t.Run("kind of number", func(t *testing.T) {
		a := ask(t, "How long does the repair of a kettle take?", "The repair of a kettle costs 5 EUR.", "The repair of a kettle is done in 3 days.")
		if a.Citations[0] != 2 {
			t.Errorf("got %q, want the time first", a.Text)
		}
	})
	t.Run("what says nothing of it is left out", func(t *testing.T) {
		a := ask(t, "May opened blenders be returned?", "Opened blenders may be returned. Mondays are quiet.")
		if want := "Opened blenders may be returned. [1]"; a.Text != want {
			t.Errorf("got %q, want %q", a.Text, want)
		}
	})
	t.Run("the record keeps the confidence", func(t *testing.T) {
		a := ask(t, "parking?", "Parking costs 5 EUR.")
		if rec := answer.NewRecord(answer.Request{}, a); rec.Confidence == nil || *rec.Confidence != a.Confidence || a.Confidence < answer.DefaultThreshold {
			t.Errorf("recorded %v, answered with %v", rec.Confidence, a.Confidence)
		}
		if rec := answer.NewRecord(answer.Request{}, answer.Answer{Model: "chat"}); rec.Confidence != nil {
			t.Errorf("a model that says nothing of it has confidence %v", *rec.Confidence)
		}
	})
	t.Run("one word that is found", func(t *testing.T) {
		if a := ask(t, "parking?", "Parking costs 5 EUR."); !slices.Equal(a.Citations, []int{1}) {
			t.Errorf("cites %v", a.Citations)
		}
	})
}

// counting answers and fails by question.
type counting struct {
	calls atomic.Int32
	fail  string
	stop  func(n int32)
}

func (c *counting) Answer(_ context.Context, r answer.Request) (answer.Answer, error) {
	n := c.calls.Add(1)
	if c.stop != nil {
		c.stop(n)
	}
	if r.ID == c.fail {
		return answer.Answer{Usage: answer.Usage{Requests: 3, Retries: 2}}, errors.New("500")
	}
	return answer.Answer{Text: fmt.Sprintf("answer %s %d", r.ID, r.Seed), Usage: answer.Usage{Requests: 1}}, nil
}

func (c *counting) Fingerprint() answer.Fingerprint { return answer.Fingerprint{Kind: "test"} }

func TestRunAll(t *testing.T) {
	var jobs []answer.Job
	for i := range 6 {
		jobs = append(jobs, answer.Job{Question: fmt.Sprintf("q%d", i), Text: "?", Hits: hits("x")})
	}
	jobs[5].Err = errors.New("search failed")
	one, err := answer.RunAll(t.Context(), jobs, &counting{fail: "q3"}, answer.RunOptions{Repeat: 2})
	if err != nil {
		t.Fatal(err)
	}
	many, err := answer.RunAll(t.Context(), jobs, &counting{fail: "q3"}, answer.RunOptions{Repeat: 2, Concurrency: 4})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, many); diff != "" {
		t.Errorf("concurrency changes the records:\n%s", diff)
	}
	if len(one) != 12 || one[7].Question != "q3" || one[7].Error != "500" || one[7].Usage.Retries != 2 || one[11].Harness != "search failed" || one[3].Answer != "answer q1 1" {
		t.Errorf("got %+v", one)
	}

	t.Run("resume", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "answers.jsonl")
		ctx, cancel := context.WithCancel(t.Context())
		first := &counting{stop: func(n int32) {
			if n == 4 {
				cancel()
			}
		}}
		if _, err := answer.RunAll(ctx, jobs[:5], first, answer.RunOptions{Resume: path}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want the cancellation", err)
		}
		// A crash in the middle of a line.
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"key":"half`); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		second := &counting{}
		var last answer.Progress
		got, err := answer.RunAll(t.Context(), jobs[:5], second, answer.RunOptions{Resume: path, Progress: func(p answer.Progress) { last = p }})
		if err != nil {
			t.Fatal(err)
		}
		if n := second.calls.Load(); n != 2 || last.Reused != 3 || last.Done != 5 {
			t.Errorf("%d answers paid again, progress %+v; want 2 calls, 3 reused", n, last)
		}
		whole, err := answer.RunAll(t.Context(), jobs[:5], &counting{}, answer.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Errorf("a resumed run differs:\n%s", diff)
		}
		third := &counting{}
		if _, err := answer.RunAll(t.Context(), jobs[:5], third, answer.RunOptions{Resume: path}); err != nil || third.calls.Load() != 0 {
			t.Errorf("a finished run asks %d times again, %v", third.calls.Load(), err)
		}
	})
	t.Run("disk full", func(t *testing.T) {
		fsys := &disk.FS{Before: func(op disk.Op, _ string) error {
			if op == disk.OpSync {
				return errors.New("no space")
			}
			return nil
		}}
		if _, err := answer.RunAll(t.Context(), jobs, &counting{}, answer.RunOptions{Resume: filepath.Join(t.TempDir(), "a"), FS: fsys}); err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("got %v, want the fault of the disk", err)
		}
	})
}
