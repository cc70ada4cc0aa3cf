package answer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/evalkit/answer"
	"github.com/seed792a4543/assay/evalkit/golden"
)

func sources(ans, context, question string) []answer.Source {
	var out []answer.Source
	for _, f := range answer.Grounded(ans, context, question) {
		out = append(out, f.Source)
	}
	return out
}

func TestGrounded(t *testing.T) {
	type row struct {
		answer string
		want   []answer.Source
	}
	ctx := []answer.Source{answer.FromContext}
	two := []answer.Source{answer.FromContext, answer.FromContext}
	bad := []answer.Source{answer.Invented}
	tests := []struct {
		id, context, question string
		rows                  []row
	}{
		{"GN-01", "đơn từ 3.000.000 đ", "", []row{
			{"3,000,000 VND", ctx}, {"3000000", ctx}, {"3 000 000", ctx}, {"3’000’000", ctx}, {"3'000'000", ctx},
			{"3\u00a0000\u00a0000", ctx}, {"30.000.000", bad}, {"3.000.00", bad}, {"3.000", bad}}},
		{"GN-02", "1,5 kg; 1.250 Stück; ratio 0,1", "", []row{
			{"1.5 kg", ctx}, {"15 kg", bad}, {"1,250 pieces", ctx}, {"1.25", []answer.Source{answer.Ambiguous}},
			{"1250", ctx}, {"01", bad}}},
		{"GN-03", "17 days; model A5; 2025; 1,500", "", []row{
			{"7 days", bad}, {"5", bad}, {"25", bad}, {"500", bad}, {"1500", ctx}, {"A5", ctx}, {"a5", ctx}, {"A6", bad}}},
		{"GN-03", "QX-310 with v2.10.3", "", []row{
			{"310", bad}, {"QX-310", ctx}, {"QX-31", bad}, {"v2.10.3", ctx}, {"2.10", bad}, {"10", bad}}},
		{"GN-04", "up to 5,000,000 VND; fee 30.000đ; revenue $1.2bn", "", []row{
			{"5 million", ctx}, {"5 triệu", ctx}, {"5tr", ctx}, {"30k", ctx}, {"30 nghìn", ctx}, {"1,2 Mrd", ctx},
			{"1,200 million", ctx}, {"5", bad}, {"50 million", bad}, {"5 trillion", bad}, {"5 km", bad}, {"30", bad},
			{"xem tr. 5", bad}, {"1,2 Milliarden Dollar", ctx}, {"1.2 tỷ", ctx}}},
		{"GN-04", "8 million users; fee of 3 million euros; 1.5 billion; 5-8M parts", "", []row{
			{"8M", ctx}, {"8M users", ctx}, {"8,000,000", ctx}, {"8Mio", ctx}, {"8 Mio. Nutzer", ctx}, {"8 Mill. Nutzer", ctx},
			{"3m EUR", ctx}, {"3 m EUR", ctx}, {"€3m", ctx}, {"€3M", ctx}, {"EUR 3m", ctx}, {"3 Mio. €", ctx}, {"1.5bn", ctx},
			{"1.5B", ctx}, {"$1.5b", ctx}, {"5-8M", two}, {"5 million to 8 million", []answer.Source{answer.Ambiguous, answer.FromContext}},
			// What looks like it and is not.
			{"8m", bad}, {"8 m", bad}, {"8 M", bad}, {"3m long", bad}, {"3 m", bad}, {"8MB", bad}, {"8m²", bad}, {"8M/s", bad},
			{"8k", bad}, {"8B", bad}, {"1.5b", bad}, {"1.5M", bad}, {"8 mill", bad}, {"M8", bad}, {"8mm", bad}, {"$8 T-shirt", bad},
			{"9M", bad}, {"80M", bad}}},
		{"GN-04", "a rope of 8 m, 5 g of salt, 3 t of sand, room 5B, revenue $2.5m", "", []row{
			{"8 metres", ctx}, {"8M", bad}, {"€8m", bad}, {"8 million", bad}, {"3T", ctx}, {"3 trillion", bad}, {"room 5B", ctx},
			{"5 billion", bad}, {"2.5 million dollars", ctx}, {"2,500,000", ctx}, {"$2.5M", ctx}, {"2.5 m", bad}, {"2.5", bad}}},
		{"GN-05", "Orders from 3,000,000 need confirmation.", "Does a COD order of 4 million need confirmation?", []row{
			{"Yes, a 4 million order needs confirmation.", []answer.Source{answer.FromQuestion}},
			{"The limit is 4 million.", []answer.Source{answer.FromQuestion}},
			{"The limit is 3 million, not 4 million.", []answer.Source{answer.FromContext, answer.FromQuestion}}}},
		{"GN-06", "3–5 days; −18 °C; from 2026-04-01", "", []row{
			{"3-5 days", two}, {"3 to 5 days", two}, {"3 — 5 days", two}, {"5 days", ctx}, {"-18 °C", ctx}, {"18 °C", bad},
			{"1 April 2026", ctx}, {"01.04.2026", ctx}, {"April 1, 2026", ctx}, {"1. April 2026", ctx},
			{"ngày 1 tháng 4 năm 2026", ctx}, {"1 April", ctx}, {"4 January 2026", bad}, {"4 days", bad}, {"2 April 2026", bad},
			{"\u221218 °C", ctx}, {"(–18 °C)", ctx}}},
		{"GN-07", "The deposit depends on the item.", "What is the deposit?", []row{
			{"The deposit is 40.", bad}, {"The deposit depends on the item [1].", nil}}},
		{"words", "You have seven days. Der dritte Versuch kostet zwölf Euro.", "", []row{
			{"7 days", ctx}, {"12 Euro", ctx}, {"One of them is 7 days.", ctx}, {"twenty-seven", bad}}},
		{"unsure", "Returned within 7 days, 30 litres.", "", []row{
			{"7 litres", []answer.Source{answer.Unsure}}, {"30 days", []answer.Source{answer.Unsure}}, {"30 l", ctx}, {"7 photographs", []answer.Source{answer.Unsure}}}},
		{"times", "open 08:30–17:00", "", []row{
			{"until 5 pm", ctx}, {"from 8:30", ctx}, {"8:00", bad}, {"30", bad}, {"17 Uhr", ctx}}},
		{"lists", "Pay 5 euros, or wait 3 days.", "", []row{
			{"1. Pay 5 euros.\n2. Wait 3 days.", two}}},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			for _, r := range tt.rows {
				if diff := cmp.Diff(r.want, sources(r.answer, tt.context, tt.question)); diff != "" {
					t.Errorf("Grounded(%q) against %q (-want +got):\n%s%+v", r.answer, tt.context, diff, answer.Numbers(r.answer))
				}
			}
		})
	}
	t.Run("GN-06/range", func(t *testing.T) {
		f := answer.Grounded("5 days", "3–5 days", "")
		if len(f) != 1 || f[0].Note != "end of a range" {
			t.Errorf("got %+v, want the note that it is the end of a range", f)
		}
	})
}

func TestCitations(t *testing.T) {
	t.Run("CI-01", func(t *testing.T) {
		for _, tt := range []struct {
			text string
			want []int
		}{
			{"a [1, 2]", []int{1, 2}}, {"a [2][3]", []int{2, 3}}, {"a [1-3]", []int{1, 2, 3}}, {"a [1–3]", []int{1, 2, 3}},
			{"a 【1】", []int{1}}, {"a 【2†source】", []int{2}}, {"a [^1]", []int{1}}, {"a [Source 2]", []int{2}},
			{"a [ 1 ; 3 ]", []int{1, 3}}, {"a [1].", []int{1}}, {"a[1]b", []int{1}}, {"a [x] (1)", nil},
			{"a [1 and 3]", []int{1, 3}}, {"a [Nguồn 2]", []int{2}},
		} {
			if diff := cmp.Diff(tt.want, answer.Citations(tt.text, 3).Valid); diff != "" {
				t.Errorf("Citations(%q) (-want +got):\n%s", tt.text, diff)
			}
		}
		if got := answer.Citations("b [3][1] c [3]", 3).Markers; !slices.Equal(got, []int{3, 1, 3}) {
			t.Errorf("order and repeats: got %v, want [3 1 3]", got)
		}
	})
	t.Run("CI-02", func(t *testing.T) {
		c := answer.Citations("[0] [4] [17] [3]", 3)
		if diff := cmp.Diff(answer.Cited{Markers: []int{0, 4, 17, 3}, Valid: []int{3}, Invalid: []int{0, 4, 17}}, c); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, tt := range []struct {
			raw            string
			valid, invalid []int
		}{
			{`[2,7]`, []int{2}, []int{7}}, {`["2"]`, []int{2}, nil}, {`"2"`, []int{2}, nil}, {`[2.0]`, []int{2}, nil},
			{`2`, []int{2}, nil}, {`["[2]", "Source 1"]`, []int{1, 2}, nil}, {`[1.5]`, nil, []int{0}}, {`null`, nil, nil},
		} {
			c, ok := answer.ParseSources([]byte(tt.raw), 3)
			if !ok || !slices.Equal(c.Valid, tt.valid) || !slices.Equal(c.Invalid, tt.invalid) {
				t.Errorf("ParseSources(%s) = %+v, %v; want valid %v, invalid %v", tt.raw, c, ok, tt.valid, tt.invalid)
			}
		}
	})
	t.Run("CI-04", func(t *testing.T) {
		a, b := answer.Citations("x [1][1][1]", 2), answer.Citations("x [1]", 2)
		if !slices.Equal(a.Valid, b.Valid) {
			t.Errorf("repeats change the set: %v and %v", a.Valid, b.Valid)
		}
	})
}

func TestRefusal(t *testing.T) {
	t.Run("RF-01", func(t *testing.T) {
		for _, s := range []string{
			"No information on this in the documents.", "The policy does not mention air purifiers.", "I couldn’t find that.",
			"Tài liệu không có thông tin này.", "Dazu steht in den Unterlagen nichts.", "Not available in the provided context",
			"I'm sorry, but the provided documents do not contain information about visas.", "I don't know.",
			"Unfortunately, I could not find  any information about this in the context.",
			"Based on the provided context, there is no information about opening hours on Mars.",
			"Rất tiếc, tôi không tìm thấy thông tin về việc này.", "Leider enthalten die Unterlagen dazu keine Angaben.",
			"**The context does not specify the price.**", "That is not mentioned in the given passages.",
			"The handbook doesn’t say anything about parking.", "Sorry, no idea.", "Trong tài liệu không đề cập đến vấn đề này.",
			"Das geht aus den Unterlagen nicht hervor.", "Leider finde ich dazu nichts.",
		} {
			if ok, how := answer.Refusal(s); !ok || !strings.HasPrefix(how, "phrase:") {
				t.Errorf("Refusal(%q) = %v, %q; want a refusal by phrase", s, ok, how)
			}
		}
		if f := answer.ClassifyRefusal(nil, "Returns are free within 7 days. The passages give no information on air purifiers."); f.Outcome != answer.Answered || !f.Review {
			t.Errorf("near the edge: got %+v, want answered, for review", f)
		}
		if r := answer.RefusalRevision(); !strings.HasPrefix(r, "refusals/3 sha256:") || len(r) < 80 {
			t.Errorf("RefusalRevision() = %q", r)
		}
	})
	t.Run("RF-02", func(t *testing.T) {
		for _, s := range []string{
			"You cannot return opened filters.", "Sorry to hear that! Returns are free within 7 days.",
			`The clerk may say "I don't know"; call the hotline.`, "If funds are insufficient, the order is cancelled.", "No.",
			"There is no fee.", "This model is not available in the Hanoi shop.", "No money is paid out.", "Keine Gebühr.",
			"Không. Phí là 30.000 đ.", "The hotline cannot see the balance of a card.", "No answer within 3 days means the request is approved.",
			"The rules do not apply to batteries.", "No information is shared with third parties.", "Das Gerät findet sich nicht im Preis.",
		} {
			if ok, how := answer.Refusal(s); ok {
				t.Errorf("Refusal(%q) by %q; want none", s, how)
			}
		}
	})
	t.Run("RF-03", func(t *testing.T) {
		for _, s := range []string{"", "   ", "{}", "null", "<think>I don't know</think>", "[1]", "<think>no information"} {
			if f := answer.ClassifyRefusal(nil, s); f.Outcome != answer.Empty {
				t.Errorf("ClassifyRefusal(%q) = %+v, want empty", s, f)
			}
		}
		if f := answer.ClassifyRefusal(new(true), ""); f.Outcome != answer.Refused || f.How != "field" {
			t.Errorf("explicit field: got %+v", f)
		}
	})
}

func TestThinking(t *testing.T) {
	t.Run("JU-02", func(t *testing.T) {
		for _, tt := range []struct{ in, answer, thinking string }{
			{"<think>Maybe 99 days [7]</think>\n7 days [1]", "7 days [1]", "Maybe 99 days [7]"},
			{"<think>never closed 99 [7]", "", "never closed 99 [7]"},
			{"thought first</think> 7 days", "7 days", "thought first"},
			{"<Thinking>a<think>b</think>c</THINKING>d", "d", "abc"},
			{"plain", "plain", ""},
		} {
			a, th := answer.StripThinking(tt.in)
			if a != tt.answer || th != tt.thinking {
				t.Errorf("StripThinking(%q) = %q, %q; want %q, %q", tt.in, a, th, tt.answer, tt.thinking)
			}
		}
	})
}

func texts(s ...string) golden.Fact {
	var f golden.Fact
	for _, t := range s {
		f.Any = append(f.Any, golden.Phrasing{Text: t})
	}
	return f
}

func TestFacts(t *testing.T) {
	denied := texts("denied", "not covered", "no")
	tests := []struct {
		id     string
		fact   golden.Fact
		answer string
		want   answer.FactStatus
	}{
		{"JU-06", texts("7 days"), "within 17 days", answer.FactMissing},
		{"JU-06", texts("refundable"), "deposits are not refundable", answer.FactNegated},
		{"JU-06", texts("refundable"), "This is a non-refundable deposit.", answer.FactNegated},
		{"JU-06", texts("refundable"), "Deposits shouldn’t be refundable.", answer.FactNegated},
		{"JU-06", texts("5,000,000"), "up to 5 million", answer.FactFound},
		{"JU-06", denied, "No", answer.FactFound},
		{"JU-06", denied, "No, it is worn.", answer.FactFound},
		{"JU-06", denied, "There is no doubt: it is covered", answer.FactMissing},
		{"JU-06", denied, "This damage is not covered.", answer.FactFound},
		{"words", texts("seven days"), "You have 7 days.", answer.FactFound},
		{"range", texts("5 to 7 working days"), "It takes 5–7 working days [1].", answer.FactFound},
		{"percent", texts("2 percent"), "A missing carton costs 2 %.", answer.FactFound},
		{"percent", texts("2%"), "12%", answer.FactMissing},
		{"currency", golden.Fact{Any: []golden.Phrasing{{Number: "250000", Unit: "VND"}}}, "Nó có giá 250.000đ", answer.FactFound},
		{"currency", golden.Fact{Any: []golden.Phrasing{{Number: "250000", Unit: "VND"}}}, "costs 250,000 VND", answer.FactFound},
		{"unit", golden.Fact{Any: []golden.Phrasing{{Number: "30", Unit: "days"}}}, "30 %", answer.FactMissing},
		{"unit", golden.Fact{Any: []golden.Phrasing{{Number: "2", Unit: "×"}}}, "twice", answer.FactMissing},
		{"date", golden.Fact{Any: []golden.Phrasing{{Date: "2026-04-01"}}}, "from 1 April 2026", answer.FactFound},
		{"date", golden.Fact{Any: []golden.Phrasing{{Date: "2026-04-01"}}}, "from 4 January 2026", answer.FactMissing},
		{"regex", golden.Fact{Any: []golden.Phrasing{{Regex: `(?i)free of charge`}}}, "It is Free of charge.", answer.FactFound},
		{"regex", golden.Fact{Any: []golden.Phrasing{{Regex: strings.Repeat("a", 2000)}}}, strings.Repeat("a", 3000), answer.FactMissing},
		{"symbol", texts("2 × delivery fee"), "customer, 2 × delivery fee", answer.FactFound},
		{"clock", texts("17:00", "5 pm"), "closes at 5 p.m.", answer.FactFound},
		{"later clause", texts("refundable"), "Deposits are not refundable, fees are refundable.", answer.FactFound},
		{"no later than", texts("7 days"), "no later than 7 days", answer.FactFound},
		{"citation", texts("48 hours"), "within 48 hours [48]", answer.FactFound},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			got := answer.MatchFact(tt.fact, tt.answer)
			if got.Status != tt.want {
				t.Errorf("MatchFact(%v, %q) = %+v, want %s", tt.fact.Any, tt.answer, got, tt.want)
			}
			if got.Status != answer.FactFound && !got.Review {
				t.Errorf("MatchFact(%v, %q): a miss must be for review", tt.fact.Any, tt.answer)
			}
		})
	}
}

func TestMoreRefusals(t *testing.T) {
	for text, want := range map[string]bool{
		"Sorry, I can't answer that from the context.":                            true,
		"Sorry, I can’t answer this.":                                             true,
		"I cannot answer that from the documents.":                                true,
		"There is nothing in the sources about bicycles.":                         true,
		"There's nothing about bicycles in the documents.":                        true,
		"The manual does not mention a fee, so I cannot say.":                     true,
		"The manual does not mention a fee, so it is unclear.":                    true,
		"The manual does not mention a fee, so it is free within 7 days.":         false,
		"The policy does not mention weekends, therefore returns work every day.": false,
		"Die Unterlagen nennen keine Gebühr, also ist die Rückgabe frei.":         false,
		"Die Unterlagen nennen keine Gebühr, also weiß ich es nicht.":             true,
		"Tài liệu không đề cập đến phí, nên việc trả hàng miễn phí trong 7 ngày.": false,
		"Tài liệu không đề cập đến phí, nên tôi không thể trả lời.":               true,
		"I can answer that: the fee is 5 EUR.":                                    false,
		"There is nothing to pay within 7 days.":                                  false,
	} {
		t.Run("RF-01 "+text, func(t *testing.T) {
			if got, how := answer.Refusal(text); got != want {
				t.Errorf("refused %v (%s), want %v", got, how, want)
			}
		})
	}
}

func TestMoreCitations(t *testing.T) {
	for text, want := range map[string]answer.Cited{
		"x [Source 1; Source 2]":    {Markers: []int{1, 2}, Valid: []int{1, 2}},
		"x [doc 2, doc 3]":          {Markers: []int{2, 3}, Valid: []int{2, 3}},
		"x [Quelle 1 und Quelle 3]": {Markers: []int{1, 3}, Valid: []int{1, 3}},
		`x \[1\]`:                   {Markers: []int{1}, Valid: []int{1}},
		"x 【1:0†x】":                 {Markers: []int{1}, Valid: []int{1}},
		"x 【3:12†source】【2】":        {Markers: []int{3, 2}, Valid: []int{2, 3}},
		"x [1-99999999]":            {Markers: []int{1, 99999999}, Valid: []int{1}, Invalid: []int{99999999}},
		"x [99999999999999999999]":  {Markers: []int{1e9}, Invalid: []int{1e9}},
		"x [2:30] is a time":        {},
	} {
		t.Run("CI-01 "+text, func(t *testing.T) {
			if d := cmp.Diff(want, answer.Citations(text, 3)); d != "" {
				t.Error(d)
			}
		})
	}
}
