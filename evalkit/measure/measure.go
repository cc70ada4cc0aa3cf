package measure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Family is what a measure counts, without its cutoff.
type Family string

// The families. Those below the blank line exist for files in TREC format.
const (
	Hit           Family = "hit"            // 1 if a slot within the cutoff is relevant (Success@k)
	P             Family = "p"              // relevant slots within the cutoff / cutoff
	Recall        Family = "recall"         // gold groups found within the cutoff / R
	RR            Family = "rr"             // 1 / rank of the first relevant slot
	AP            Family = "ap"             // average precision over the R gold groups
	NDCG          Family = "ndcg"           // gain = grade
	NDCGExp       Family = "ndcg_exp"       // gain = 2^grade − 1
	AllHit        Family = "all_hit"        // 1 if every gold group is found within the cutoff
	RPrec         Family = "r_prec"         // gold groups found within the first R slots / R
	BPref         Family = "bpref"          // preferences of relevant over judged not relevant
	Judged        Family = "judged"         // judged slots within the cutoff / cutoff
	Dup           Family = "dup"            // slots within the cutoff that repeat a section / cutoff
	CharRecall    Family = "char_recall"    // bytes of evidence delivered / bytes of evidence
	CharPrecision Family = "char_precision" // bytes of evidence delivered / bytes delivered
	CharIoU       Family = "char_iou"       // intersection over union of the two

	IPrec       Family = "iprec"                 // interpolated precision at a level of recall
	AvgPrec11   Family = "11pt_avg"              // mean of iprec at 0, .1, … 1
	GMAP        Family = "gm_map"                // geometric mean of ap, each at least 0.00001
	SetP        Family = "set_p"                 // precision of the whole list
	SetRecall   Family = "set_recall"            // recall of the whole list
	SetF        Family = "set_f"                 // their harmonic mean
	SetAP       Family = "set_ap"                // their product
	RBP         Family = "rbp"                   // rank-biased precision, persistence .9
	Unjudged    Family = "unjudged"              // unjudged slots within the cutoff / cutoff
	NumQ        Family = "num_q"                 // topics
	NumRet      Family = "num_ret"               // slots
	NumRel      Family = "num_rel"               // relevant documents judged
	NumRelRet   Family = "num_rel_ret"           // relevant documents returned
	NumNonrelRe Family = "num_nonrel_judged_ret" // documents judged not relevant returned
)

type cut uint8

const (
	cutNone     cut = iota // takes no cutoff
	cutOptional            // without one the whole list counts
	cutRequired
)

type family struct {
	name  Family
	cut   cut
	trec  string // trec_eval's name of the form without cutoff, "" if it has none
	trecK string // its name of the form with cutoff, before _k
	ir    string // ir_measures' name
	sum   bool   // aggregated by summing
}

// families is the table of names. Where trec_eval or ir_measures has no such measure, the
// spelling is empty and the own name is printed.
var families = []family{
	{name: Hit, cut: cutRequired, trecK: "success", ir: "Success"},
	{name: P, cut: cutRequired, trecK: "P", ir: "P"},
	{name: Recall, cut: cutRequired, trecK: "recall", ir: "R"},
	{name: RR, cut: cutOptional, trec: "recip_rank", ir: "RR"},
	{name: AP, cut: cutOptional, trec: "map", trecK: "map_cut", ir: "AP"},
	{name: NDCG, cut: cutOptional, trec: "ndcg", trecK: "ndcg_cut", ir: "nDCG"},
	{name: NDCGExp, cut: cutOptional, ir: "nDCG"},
	{name: AllHit, cut: cutRequired},
	{name: RPrec, cut: cutNone, trec: "Rprec", ir: "Rprec"},
	{name: BPref, cut: cutNone, trec: "bpref", ir: "Bpref"},
	{name: Judged, cut: cutRequired, ir: "Judged"},
	{name: Dup, cut: cutRequired},
	{name: CharRecall, cut: cutRequired},
	{name: CharPrecision, cut: cutRequired},
	{name: CharIoU, cut: cutRequired},
	{name: IPrec, cut: cutNone, trec: "iprec_at_recall", ir: "IPrec"},
	{name: AvgPrec11, cut: cutNone, trec: "11pt_avg"},
	{name: GMAP, cut: cutNone, trec: "gm_map"},
	{name: SetP, cut: cutNone, trec: "set_P", ir: "SetP"},
	{name: SetRecall, cut: cutNone, trec: "set_recall", ir: "SetR"},
	{name: SetF, cut: cutNone, trec: "set_F", ir: "SetF"},
	{name: SetAP, cut: cutNone, trec: "set_map", ir: "SetAP"},
	{name: RBP, cut: cutNone, trec: "rbp"},
	{name: Unjudged, cut: cutRequired, trecK: "unj"},
	{name: NumQ, cut: cutNone, trec: "num_q", ir: "NumQ", sum: true},
	{name: NumRet, cut: cutNone, trec: "num_ret", ir: "NumRet", sum: true},
	{name: NumRel, cut: cutNone, trec: "num_rel", ir: "NumRel", sum: true},
	{name: NumRelRet, cut: cutNone, trec: "num_rel_ret", sum: true},
	{name: NumNonrelRe, cut: cutNone, trec: "num_nonrel_judged_ret", sum: true},
}

func (f Family) row() *family {
	for i := range families {
		if families[i].name == f {
			return &families[i]
		}
	}
	return nil
}

// TakesCutoff reports whether the family can be cut at k.
func (f Family) TakesCutoff() bool { r := f.row(); return r != nil && r.cut != cutNone }

// NeedsCutoff reports whether the family means nothing without a cutoff.
func (f Family) NeedsCutoff() bool { r := f.row(); return r != nil && r.cut == cutRequired }

// Sums reports whether topics are added up instead of averaged (num_q, num_ret and the like).
func (f Family) Sums() bool { r := f.row(); return r != nil && r.sum }

// Binary reports whether every value is 0 or 1.
func (f Family) Binary() bool { return f == Hit || f == AllHit }

// Measure is one measure. The zero value is none.
type Measure struct {
	Family Family
	Cutoff int     // 0: the whole list
	Rel    int     // lowest grade that counts as relevant; 0 means 1. ndcg ignores it
	Level  float64 // level of recall of iprec, 0 to 1
}

// String returns assay's name, which Parse reads back: hit@3, p(rel=2)@5, ap, iprec@0.10.
func (m Measure) String() string {
	var b strings.Builder
	b.WriteString(string(m.Family))
	if m.Rel > 1 {
		fmt.Fprintf(&b, "(rel=%d)", m.Rel)
	}
	switch {
	case m.Family == IPrec:
		b.WriteString("@" + formatLevel(m.Level))
	case m.Cutoff > 0:
		b.WriteString("@" + strconv.Itoa(m.Cutoff))
	}
	return b.String()
}

func formatLevel(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if short := strconv.FormatFloat(v, 'f', 2, 64); len(s) <= len(short) {
		return short
	}
	return s
}

// TREC returns trec_eval's name, such as ndcg_cut_10; assay's name where trec_eval has no such
// measure (rr@10 and all with a rel level, which trec_eval takes as an option).
func (m Measure) TREC() string {
	row := m.Family.row()
	switch {
	case row == nil || m.Rel > 1:
	case m.Family == IPrec:
		return row.trec + "_" + strconv.FormatFloat(m.Level, 'f', 2, 64)
	case m.Cutoff > 0 && row.trecK != "":
		return row.trecK + "_" + strconv.Itoa(m.Cutoff)
	case m.Cutoff == 0 && row.trec != "":
		return row.trec
	}
	return m.String()
}

// IR returns ir_measures' name, such as nDCG@10 or P(rel=2)@5; assay's name where it has none.
func (m Measure) IR() string {
	row := m.Family.row()
	if m.Family == NumRelRet {
		return fmt.Sprintf("NumRet(rel=%d)", max(m.Rel, 1))
	}
	if row == nil || row.ir == "" {
		return m.String()
	}
	var b strings.Builder
	b.WriteString(row.ir)
	switch {
	case m.Family == NDCGExp:
		b.WriteString("(dcg='exp-log2')")
	case m.Rel > 1:
		fmt.Fprintf(&b, "(rel=%d)", m.Rel)
	}
	switch {
	case m.Family == IPrec:
		b.WriteString("@" + strconv.FormatFloat(m.Level, 'f', -1, 64))
	case m.Cutoff > 0:
		b.WriteString("@" + strconv.Itoa(m.Cutoff))
	}
	return b.String()
}

// MaxCutoff bounds cutoffs: a larger one is a slip, and would overflow counters elsewhere.
const MaxCutoff = 1_000_000

// Parse reads a measure's name in assay's spelling (hit@3), ir_measures' (nDCG@10,
// P(rel=2)@5) or trec_eval's (ndcg_cut_10, recip_rank). A cutoff is a whole number from 1 to
// MaxCutoff.
func Parse(name string) (Measure, error) {
	m, err := parse(name)
	if err != nil {
		return Measure{}, fmt.Errorf("measure %q: %w", name, err)
	}
	return m, nil
}

func parse(name string) (Measure, error) {
	if m, ok, err := parseTREC(name); ok || err != nil {
		return m, err
	}
	head, suffix, hasCut := strings.Cut(name, "@")
	if suffix != "" && strings.Contains(suffix, "(") {
		// ir_measures also writes P@5(rel=2).
		var args string
		suffix, args, _ = strings.Cut(suffix, "(")
		head += "(" + args
	}
	base, args, hasArgs := strings.Cut(head, "(")
	rel, exp := 0, false
	if hasArgs {
		inner, ok := strings.CutSuffix(args, ")")
		if !ok {
			return Measure{}, fmt.Errorf("the bracket is not closed")
		}
		var err error
		if rel, exp, err = parseArgs(inner); err != nil {
			return Measure{}, err
		}
	}
	row := lookup(base)
	if row == nil {
		return Measure{}, fmt.Errorf("not known: known are %s", known())
	}
	m := Measure{Family: row.name, Rel: rel}
	if exp {
		if row.name != NDCG && row.name != NDCGExp {
			return Measure{}, fmt.Errorf("dcg is an argument of nDCG alone")
		}
		m.Family = NDCGExp
		row = NDCGExp.row()
	}
	if m.Family == NumRet && rel > 0 {
		m.Family, row = NumRelRet, NumRelRet.row()
	}
	if m.Rel == 1 {
		m.Rel = 0
	}
	if m.Rel > 0 && (m.Family == NDCG || m.Family == NDCGExp || strings.HasPrefix(string(m.Family), "char_")) {
		return Measure{}, fmt.Errorf("%s has no rel level", m.Family)
	}
	if m.Family == IPrec {
		if !hasCut {
			return Measure{}, fmt.Errorf("a level of recall is missing: write iprec@0.10")
		}
		level, err := parseLevel(suffix)
		m.Level = level
		return m, err
	}
	if hasCut {
		if row.cut == cutNone {
			return Measure{}, fmt.Errorf("%s takes no cutoff", m.Family)
		}
		k, err := ParseCutoff(suffix)
		if err != nil {
			return Measure{}, err
		}
		m.Cutoff = k
	} else if row.cut == cutRequired {
		return Measure{}, fmt.Errorf("a cutoff is missing: write %s@10", m.Family)
	}
	return m, nil
}

// ParseCutoff reads a cutoff: a whole number from 1 to MaxCutoff in plain digits.
func ParseCutoff(s string) (int, error) {
	k, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(k) != s || k < 1 || k > MaxCutoff {
		return 0, fmt.Errorf("cutoff %q is no whole number from 1 to %d", s, MaxCutoff)
	}
	return k, nil
}

func parseLevel(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1 {
		return 0, fmt.Errorf("level of recall %q is no number from 0 to 1", s)
	}
	return v + 0, nil // −0 prints as 0
}

func parseArgs(s string) (rel int, exp bool, err error) {
	for arg := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(arg), "=")
		value = strings.Trim(value, `'"`)
		switch {
		case key == "rel":
			if rel, err = ParseCutoff(value); err != nil {
				return 0, false, fmt.Errorf("rel %q is no whole number from 1", value)
			}
		case key == "dcg" && value == "log2":
		case key == "dcg" && value == "exp-log2":
			exp = true
		default:
			return 0, false, fmt.Errorf("argument %q is not known: known are rel and dcg", arg)
		}
	}
	return rel, exp, nil
}

// parseTREC reads trec_eval's names; ok is false for any other.
func parseTREC(name string) (m Measure, ok bool, err error) {
	for i := range families {
		f := &families[i]
		if f.trec != "" && f.name != IPrec && f.trec == name {
			return Measure{Family: f.name}, true, nil
		}
	}
	at := strings.LastIndexAny(name, "_.")
	if at < 0 {
		return Measure{}, false, nil
	}
	base, arg := name[:at], name[at+1:]
	if rest, found := strings.CutPrefix(name, "iprec_at_recall"); found && len(rest) > 1 {
		m.Family = IPrec
		m.Level, err = parseLevel(rest[1:])
		return m, true, err
	}
	for i := range families {
		f := &families[i]
		if f.trecK == "" || f.trecK != base {
			continue
		}
		m.Family = f.name
		m.Cutoff, err = ParseCutoff(arg)
		return m, true, err
	}
	return Measure{}, false, nil
}

// lookup finds a family by assay's or ir_measures' name.
func lookup(base string) *family {
	for i := range families {
		if string(families[i].name) == base {
			return &families[i]
		}
	}
	switch base {
	case "MRR":
		base = "RR"
	case "MAP":
		base = "AP"
	case "NDCG":
		base = "nDCG"
	case "BPref":
		base = "Bpref"
	case "RPrec":
		base = "Rprec"
	case "Recall":
		base = "R"
	case "Precision":
		base = "P"
	}
	for i := range families {
		if families[i].ir != "" && families[i].ir == base {
			return &families[i]
		}
	}
	return nil
}

func known() string {
	var names []string
	for _, f := range families {
		names = append(names, string(f.name))
	}
	return strings.Join(names, ", ")
}

// Expand reads names; one that is a family's bare name and can be cut stands for that family
// at every cutoff. Without cutoffs it is Parse of every name, so that ndcg means the whole list.
// Repeated measures are dropped, the order is kept.
func Expand(names []string, cutoffs []int) ([]Measure, error) {
	var out []Measure
	add := func(m Measure) {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	for _, name := range names {
		if row := lookup(name); row != nil && row.cut != cutNone && len(cutoffs) > 0 {
			for _, k := range cutoffs {
				add(Measure{Family: row.name, Cutoff: k})
			}
			continue
		}
		m, err := Parse(name)
		if err != nil {
			return nil, err
		}
		add(m)
	}
	return out, nil
}
