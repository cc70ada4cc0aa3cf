package answer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/corpus/workbook"
)

func bundled(t *testing.T) *Workbook {
	t.Helper()
	w, err := ParseWorkbook(workbook.Data())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWorkbookTable(t *testing.T) {
	table, err := ScoreWorkbook(bundled(t), workbook.Cutoff)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimRight(string(workbook.Table()), "\n")
	if diff := cmp.Diff(want, strings.TrimRight(table.Text(), "\n")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	t.Run("ME-10", func(t *testing.T) {
		a, b := table.Systems[0], table.Systems[1]
		for _, tt := range []struct {
			name string
			got  float64
			want float64
		}{
			{"macro recall A", a.Recall.Macro, 2.5 / 3}, {"macro recall B", b.Recall.Macro, 1},
			{"macro support A", a.Support.Macro, 2. / 3}, {"macro support B", b.Support.Macro, 2.5 / 3},
		} {
			if math.Abs(tt.got-tt.want) > 1e-12 {
				t.Errorf("%s = %v, want %v", tt.name, tt.got, tt.want)
			}
		}
		if a.Support.Pooled != (Ratio{2, 3}) || b.Support.Pooled != (Ratio{4, 5}) {
			t.Errorf("pooled support = %v and %v, want 2/3 and 4/5", a.Support.Pooled, b.Support.Pooled)
		}
		s := table.Summary()
		for _, line := range []string{"A: support macro 0.6667 over 3 cases, pooled 2/3 = 0.6667", "B: support macro 0.8333 over 3 cases, pooled 4/5 = 0.8000"} {
			if !strings.Contains(s, line) {
				t.Errorf("summary lacks %q:\n%s", line, s)
			}
		}
	})
	want2 := []Regression{{"launch", "support", "A", "B", 1, 0.5}}
	if diff := cmp.Diff(want2, table.Regressions); diff != "" {
		t.Errorf("regressions (-want +got):\n%s", diff)
	}
}

// Each rule of the contract, taken away, must change a known score.
func TestClaimMutations(t *testing.T) {
	c := &WorkbookCase{ID: "c", Answerable: true, Relevant: []string{"a", "b"}, Claims: map[string][]string{"x": {"a", "b"}, "y": {"b"}}, Expected: []string{"x"}}
	tests := []struct {
		name  string
		rules claimRules
		out   RecordedOutput
		of    func(ClaimScore) Ratio
		want  Ratio
	}{
		{"divides by the returned length", claimRules{perReturned: true},
			RecordedOutput{Retrieved: []string{"a"}}, func(s ClaimScore) Ratio { return s.Precision }, Ratio{1, 3}},
		{"any citation is enough", claimRules{anyCitation: true},
			RecordedOutput{Retrieved: []string{"a", "z"}, Claims: []RecordedClaim{{"x", []string{"a", "z"}}}}, func(s ClaimScore) Ratio { return s.Support }, Ratio{0, 1}},
		{"citations below the cut count", claimRules{unseen: true},
			RecordedOutput{Retrieved: []string{"a", "z", "w", "b"}, Claims: []RecordedClaim{{"y", []string{"b"}}}}, func(s ClaimScore) Ratio { return s.Support }, Ratio{0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ScoreClaims(c, "A", tt.out, 3)
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.of(s); got != tt.want {
				t.Errorf("score = %v, want %v", got, tt.want)
			}
			m, _ := scoreClaims(c, "A", tt.out, 3, tt.rules)
			if tt.of(m) == tt.want {
				t.Errorf("the mutant scores %v as well: this case does not test the rule", tt.want)
			}
		})
	}
	// The bundled table itself tells the first two apart from the contract.
	right, _ := ScoreWorkbook(bundled(t), 2)
	if m, _ := scoreWorkbook(bundled(t), 2, claimRules{perReturned: true}); m.Text() == right.Text() {
		t.Error("dividing by the returned length leaves the bundled table as it is")
	}
}

// oracle is a second implementation: sets as bit masks, rates as fractions of integers.
func oracle(relevant uint, support map[string]uint, expected []string, retrieved []uint, claims map[string][]uint, k int) string {
	var shown uint
	hits, first := 0, 0
	for i := 0; i < k && i < len(retrieved); i++ {
		shown |= retrieved[i]
		if retrieved[i]&relevant != 0 {
			hits++
			if first == 0 {
				first = i + 1
			}
		}
	}
	ok := map[string]bool{}
	n := 0
	for id, cites := range claims {
		all := len(cites) > 0
		for _, c := range cites {
			all = all && c&support[id]&shown != 0
		}
		if all {
			n++
			ok[id] = true
		}
	}
	covered := 0
	for _, e := range expected {
		if ok[e] {
			covered++
		}
	}
	frac := func(a, b int) string {
		if b == 0 {
			return "n/a"
		}
		return fmt.Sprintf("%d/%d", a, b)
	}
	bits := 0
	for r := relevant; r > 0; r >>= 1 {
		bits += int(r & 1)
	}
	out := "n/a n/a n/a"
	if relevant != 0 {
		out = frac(hits, k) + " " + frac(hits, bits) + " " + fmt.Sprint(first)
	}
	return out + " " + frac(n, len(claims)) + " " + frac(covered, len(expected))
}

func TestClaimsAgainstSecondImplementation(t *testing.T) {
	docs := []string{"a", "b", "c"}
	name := func(mask uint) (out []string) {
		for i, d := range docs {
			if mask>>i&1 == 1 {
				out = append(out, d)
			}
		}
		return out
	}
	var lists [][]string // ordered lists of distinct documents, up to three
	var grow func([]string)
	grow = func(l []string) {
		lists = append(lists, slices.Clone(l))
		for _, d := range docs {
			if !slices.Contains(l, d) {
				grow(append(slices.Clone(l), d))
			}
		}
	}
	grow(nil)
	bit := func(d string) uint {
		if d == "ghost" {
			return 8
		}
		return 1 << slices.Index(docs, d)
	}
	frac := func(r Ratio) string {
		if r.N == 0 {
			return "n/a"
		}
		return fmt.Sprintf("%d/%d", r.Count, r.N)
	}
	citations := [][]string{{}, {"a"}, {"b"}, {"a", "b"}, {"c"}, {"a", "ghost"}}
	cases := 0
	for sx := uint(0); sx < 8; sx++ { // support of claim x
		for _, sy := range []uint{0, 1, 2, 3} { // support of claim y
			claims := map[string][]string{}
			support := map[string]uint{"x": sx, "y": sy}
			var expected []string
			for _, id := range []string{"x", "y"} {
				if support[id] != 0 {
					claims[id] = name(support[id])
					expected = append(expected, id)
				}
			}
			c := &WorkbookCase{ID: "c", Answerable: sx|sy != 0, Relevant: name(sx | sy), Claims: claims, Expected: expected}
			for _, retrieved := range lists {
				for k := 1; k <= 3; k++ {
					for ci, cx := range citations {
						made := map[string][]string{"x": cx}
						if ci%2 == 1 {
							made["y"] = citations[(ci+2)%len(citations)]
						}
						out := RecordedOutput{Retrieved: retrieved}
						masks := map[string][]uint{}
						for _, id := range slices.Sorted(maps.Keys(made)) {
							out.Claims = append(out.Claims, RecordedClaim{id, made[id]})
							masks[id] = []uint{}
							for _, d := range made[id] {
								masks[id] = append(masks[id], bit(d))
							}
						}
						var order []uint
						for _, d := range retrieved {
							order = append(order, bit(d))
						}
						s, err := ScoreClaims(c, "A", out, k)
						if err != nil {
							t.Fatal(err)
						}
						got := "n/a n/a n/a"
						if s.HasGold {
							got = frac(s.Precision) + " " + frac(s.Recall) + " " + fmt.Sprint(s.FirstRank)
						}
						got += " " + frac(s.Support) + " " + frac(s.Coverage)
						if want := oracle(sx|sy, support, expected, order, masks, k); got != want {
							t.Fatalf("case %+v, output %+v, k %d: got %s, the second implementation says %s", c, out, k, got, want)
						}
						for _, r := range []Ratio{s.Precision, s.Recall, s.Support, s.Coverage} {
							if v, ok := r.Value(); ok && (v < 0 || v > 1) {
								t.Fatalf("rate %v outside [0,1]", r)
							}
						}
						cases++
					}
				}
			}
		}
	}
	if cases < 3840 {
		t.Errorf("only %d cases compared, want at least 3840", cases)
	}
	t.Logf("%d cases agree", cases)
}

func TestWorkbookMalformed(t *testing.T) {
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("n%d", i)
	}
	tests := []struct {
		name, want string
		change     func(*Workbook)
	}{
		{"id", "must match", func(w *Workbook) { w.Notes[0] = "Launch" }},
		{"long id", "must match", func(w *Workbook) { w.Cases[0].ID = "a" + strings.Repeat("b", 32) }},
		{"duplicate note", "twice", func(w *Workbook) { w.Notes = append(w.Notes, "archive") }},
		{"duplicate case", "twice", func(w *Workbook) { w.Cases = append(w.Cases, w.Cases[0]) }},
		{"duplicate citation", "twice", func(w *Workbook) {
			o := w.Cases[0].Systems["A"]
			o.Claims = []RecordedClaim{{"monday", []string{"launch", "launch"}}}
			w.Cases[0].Systems["A"] = o
		}},
		{"duplicate claim", "twice", func(w *Workbook) {
			o := w.Cases[0].Systems["A"]
			o.Claims = append(slices.Clone(o.Claims), o.Claims[0])
			w.Cases[0].Systems["A"] = o
		}},
		{"too many", "limit is 100", func(w *Workbook) { w.Notes = many }},
		{"unknown retrieved", "unknown document", func(w *Workbook) {
			o := w.Cases[0].Systems["A"]
			o.Retrieved = []string{"nowhere"}
			w.Cases[0].Systems["A"] = o
		}},
		{"empty text", "has no text", func(w *Workbook) { w.Texts = map[string]string{"launch": " "} }},
		{"support outside relevant", "is not relevant", func(w *Workbook) { w.Cases[0].Claims["monday"] = []string{"archive"} }},
		{"relevant without support", "supports no claim", func(w *Workbook) { w.Cases[0].Relevant = append(w.Cases[0].Relevant, "archive") }},
		{"unanswerable with labels", "has labels", func(w *Workbook) { w.Cases[0].Answerable = false }},
		{"schema", "schema is", func(w *Workbook) { w.Schema = "x" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bundled(t)
			tt.change(w)
			if err := w.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate() = %v, want an error with %q", err, tt.want)
			}
		})
	}
	w := bundled(t)
	for _, k := range []int{0, -1, 101} {
		if _, err := ScoreWorkbook(w, k); err == nil {
			t.Errorf("ScoreWorkbook(k=%d) succeeded", k)
		}
	}
	// Fabricated citations and unknown claims are valid input and unsupported.
	w.Cases[0].Systems["A"] = RecordedOutput{Retrieved: []string{"launch"}, Claims: []RecordedClaim{{"monday", []string{"ghost"}}, {"made-up", []string{"launch"}}}}
	if err := w.Validate(); err != nil {
		t.Errorf("fabricated citations must be valid input: %v", err)
	}
	if s, _ := ScoreClaims(&w.Cases[0], "A", w.Cases[0].Systems["A"], 2); s.Support != (Ratio{0, 2}) {
		t.Errorf("support = %v, want 0/2", s.Support)
	}
	if _, err := ParseWorkbook([]byte(`{"schema":"assay.workbook/v1","extra":1}`)); err == nil {
		t.Error("an unknown key passed")
	}
}

func FuzzWorkbook(f *testing.F) {
	f.Add(workbook.Data())
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := ParseWorkbook(data)
		if err != nil {
			return
		}
		if _, err := ScoreWorkbook(w, 3); err != nil {
			t.Fatal(err)
		}
	})
}
