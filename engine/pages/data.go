package pages

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/seed792a4543/assay/corpus"
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/engine/serve"
	"github.com/seed792a4543/assay/evalkit"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/review"
	"github.com/seed792a4543/assay/evalkit/verdict"
	"github.com/seed792a4543/assay/index"
)

// isID keeps paths out of names of builds and runs.
func isID(s string) bool {
	return len(s) >= 4 && len(s) <= 12 && strings.Trim(s, "0123456789abcdef") == ""
}

// reading opens a build for the caller of a request; nil if it is gone or damaged.
func (s *site) reading(c serve.Caller, build string) *engine.Reading {
	r, err := s.e.Read(build, c.As, c.All)
	if err != nil {
		return nil
	}
	return r
}

// set returns the golden set, nil if there is none that can be read.
func (s *site) set() *golden.Set {
	set, err := s.o.Golden()
	if err != nil {
		s.o.Log.Warn("the golden set cannot be read, its questions are shown without text", "error", err.Error())
		return nil
	}
	return set
}

// sees tells which questions of a record a caller may see: those that it could have asked
// itself, and whose every hit it may read.
type sees struct {
	c   serve.Caller
	r   *engine.Reading
	set *golden.Set
	all bool
}

func newSees(c serve.Caller, r *engine.Reading, set *golden.Set) sees {
	return sees{c, r, set, c.All || r != nil && r.Everything()}
}

func (v sees) question(q *evalkit.QuestionResult) bool {
	if v.all {
		return true
	}
	if v.r == nil {
		return false // what the build held, and for whom, cannot be told any more
	}
	if v.set != nil {
		if g := v.set.Find(q.ID); g != nil && slices.ContainsFunc(g.As, func(l string) bool { return !slices.Contains(v.c.As, l) }) {
			return false
		}
	}
	return !slices.ContainsFunc(q.Docs, func(d corpus.DocumentID) bool { return !v.r.Visible(d) })
}

// gold describes the entries of a question's gold, one line each, without the documents that
// the caller may not see; places are the same members as a form sends them.
func (v sees) gold(q *golden.Question, quotes bool) (lines []string, places []place) {
	for _, g := range q.Gold {
		var any []string
		for _, m := range g {
			if !v.all && (v.r == nil || !v.r.Visible(m.Doc)) {
				continue
			}
			text, value := memberLabel(m), string(m.Doc)
			if m.Section != nil {
				value += "\n" + *m.Section
			}
			places = append(places, place{value, text})
			if quotes && m.Quote != "" {
				text += " “" + m.Quote + "”"
			}
			any = append(any, text)
		}
		if len(any) > 0 {
			lines = append(lines, strings.Join(any, ", or "))
		}
	}
	return lines, places
}

// seesQuestion is an error if the caller may not see the question in the build's newest run.
func (s *site) seesQuestion(c serve.Caller, id, build string) error {
	if !isID(build) {
		return notFound("There is no such build.")
	}
	_, rec, err := s.e.Verdict(build, "")
	if err != nil {
		return err
	}
	r := s.reading(c, build)
	if r != nil {
		defer r.Close()
	}
	v := newSees(c, r, s.set())
	for i := range rec.Evaluation.Questions {
		if q := &rec.Evaluation.Questions[i]; q.ID == id && v.question(q) {
			return nil
		}
	}
	return notFound("There is no such question.")
}

// look records that a person is shown single questions of a run, which spends a holdout. It is
// written once for each person and run while the server runs, not at each view.
func (s *site) look(r *http.Request, set *golden.Set, rec *evalkit.Record) error {
	if rec.Evaluation.Split == golden.Dev {
		return nil
	}
	who := serve.CallerFrom(r.Context()).Name
	return s.once(who+" "+rec.Digest, func() error { return s.e.LookAtRecord(r.Context(), set, rec, who) })
}

// once records a look unless it was recorded before.
func (s *site) once(key string, record func() error) error {
	if _, seen := s.looks.LoadOrStore(key, true); seen {
		return nil
	}
	err := record()
	if err != nil {
		s.looks.Delete(key)
	}
	return err
}

// withheld reports whether the single questions of a run are kept back: those of the holdout are
// shown to whoever asks for them, since that spends it.
func withheld(r *http.Request, rec *evalkit.Record) bool {
	return rec.Evaluation.Split != golden.Dev && r.URL.Query().Get("holdout") != "show"
}

// texts reads passages of a build, each document once.
type texts struct {
	r    *engine.Reading
	docs map[corpus.DocumentID]*corpus.Document
}

func newTexts(r *engine.Reading) *texts {
	return &texts{r, map[corpus.DocumentID]*corpus.Document{}}
}

func (t *texts) passage(h *evalkit.Hit) string {
	if t.r == nil {
		return ""
	}
	d, ok := t.docs[h.Doc]
	if !ok {
		d, _ = t.r.Document(h.Doc) // nil shows no text
		t.docs[h.Doc] = d
	}
	if d == nil || h.Span.Start < 0 || h.Span.End > len(d.Text) || h.Span.Start > h.Span.End {
		return ""
	}
	return d.Text[h.Span.Start:h.Span.End]
}

// buildRow is one build of the list.
type buildRow struct {
	engine.BuildInfo
	Full     bool
	Chunking string
	Newest   *engine.VerdictInfo
	Base     string // to compare with: the live build, or what the newest verdict compared with
}

type buildsPage struct {
	base
	Builds []buildRow
	Live   string
	Ledger []engine.LedgerEntry
}

func (s *site) builds(w http.ResponseWriter, r *http.Request) error {
	p := buildsPage{base: s.base(r, "Builds")}
	all, err := s.e.Builds()
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.Live {
			p.Live = b.ID
		}
	}
	for _, b := range all {
		row := buildRow{BuildInfo: b}
		if b.Err == nil {
			row.Full = serve.Everything(s.e, b.ID, p.Caller)
			row.Chunking = engine.DescribeChunking(b.Manifest)
		}
		if n := len(b.Verdicts); n > 0 {
			row.Newest = &b.Verdicts[n-1]
			row.Base = s.baseOf(b.ID, row.Newest.Run, p.Live)
		}
		p.Builds = append(p.Builds, row)
	}
	slices.SortStableFunc(p.Builds, func(x, y buildRow) int {
		switch {
		case x.Live != y.Live && x.Live:
			return -1
		case x.Live != y.Live:
			return 1
		}
		return 0
	})
	if slices.ContainsFunc(p.Builds, func(b buildRow) bool { return b.Err == nil && !b.Full }) {
		return s.render(w, http.StatusOK, "builds", p) // reasons may speak of what is hidden
	}
	if p.Ledger, err = s.e.Ledger(); err != nil {
		return err
	}
	slices.Reverse(p.Ledger)
	p.Ledger = p.Ledger[:min(20, len(p.Ledger))]
	return s.render(w, http.StatusOK, "builds", p)
}

// baseOf is the build that a run is best compared with, "" if there is none.
func (s *site) baseOf(build, run, live string) string {
	compared, ok := s.bases.Load(run)
	if !ok {
		v, _, err := s.e.Verdict(build, run)
		if err != nil {
			return ""
		}
		compared = v.LiveBuild
		s.bases.Store(run, compared)
	}
	if compared != "" {
		return compared.(string)
	}
	if live != build {
		return live
	}
	return ""
}

// measureRow is one measure of a run.
type measureRow struct {
	Name string
	*evalkit.Summary
	Random evalkit.Value
	Width  float64 // of the interval
	Step   float64 // what one question weighs
}

// sliceRow is one slice of a run.
type sliceRow struct {
	Name string
	*evalkit.Slice
	Values []*evalkit.Summary // of the main measures
}

// questionRow is one question of a run.
type questionRow struct {
	*evalkit.QuestionResult
	Text  string
	Value evalkit.Value
}

// runData is a run as it is shown; the pages and the report share it.
type runData struct {
	Build, Run string
	Full       bool // totals may be shown
	Hidden     bool // some questions are not shown
	Verdict    *verdict.Verdict
	Primary    string
	Evaluation *evalkit.Evaluation
	Rows       []measureRow
	SliceNames []string // measures of the slices' table
	Slices     []sliceRow
	Questions  []questionRow
	Settings   map[string]string
	Times      *evalkit.Times
	Base       string
	Withheld   bool   // the questions are of the holdout and were not asked for
	Sweep      string // newest sweep that measured the build
}

func newRunData(v *verdict.Verdict, rec *evalkit.Record, see sees, set *golden.Set) *runData {
	ev := rec.Evaluation
	d := &runData{Build: ev.Build, Run: rec.Run, Full: see.all, Verdict: v, Evaluation: ev, Settings: rec.Settings}
	if v != nil {
		d.Primary = v.Primary
	}
	names := sortedMeasures(ev.Measures, d.Primary)
	for _, name := range names {
		m := ev.Measures[name]
		row := measureRow{Name: name, Summary: m, Random: ev.Random[name]}
		if m.CI != nil {
			row.Width = m.CI[1] - m.CI[0]
		}
		if m.NScored > 0 {
			row.Step = 1 / float64(m.NScored)
		}
		d.Rows = append(d.Rows, row)
	}
	for _, name := range names {
		if name == d.Primary || len(d.SliceNames) < 4 && (strings.HasPrefix(name, "hit@") || strings.HasPrefix(name, "rr@") || strings.HasPrefix(name, "ndcg@")) {
			d.SliceNames = append(d.SliceNames, name)
		}
	}
	for _, name := range sortedKeys(ev.Slices) {
		row := sliceRow{Name: name, Slice: ev.Slices[name]}
		for _, m := range d.SliceNames {
			row.Values = append(row.Values, row.Measures[m])
		}
		d.Slices = append(d.Slices, row)
	}
	for i := range ev.Questions {
		q := &ev.Questions[i]
		if !see.question(q) {
			d.Hidden = true
			continue
		}
		row := questionRow{QuestionResult: q, Value: q.Measures[d.Primary]}
		if set != nil {
			if g := set.Find(q.ID); g != nil {
				row.Text = g.Question
			}
		}
		d.Questions = append(d.Questions, row)
	}
	// What was missed comes first: it is what there is to read.
	slices.SortStableFunc(d.Questions, func(x, y questionRow) int { return missed(y) - missed(x) })
	return d
}

func missed(q questionRow) int {
	switch {
	case q.Status == evalkit.StatusError || len(q.Leaks) > 0:
		return 3
	case q.Value.OK && q.Value.V == 0:
		return 2
	case q.Value.OK && q.Value.V < 1:
		return 1
	}
	return 0
}

type runPage struct {
	base
	*runData
}

func (s *site) run(w http.ResponseWriter, r *http.Request) error {
	build, run := r.URL.Query().Get("build"), r.URL.Query().Get("run")
	if !isID(build) || run != "" && !isID(run) {
		return notFound("There is no such run.")
	}
	v, rec, err := s.e.Verdict(build, run)
	if err != nil {
		return notFound("There is no such run, or it cannot be read.")
	}
	p := runPage{base: s.base(r, "Run "+rec.Run)}
	reading := s.reading(p.Caller, v.Build)
	if reading != nil {
		defer reading.Close()
	}
	set := s.set()
	p.runData = newRunData(v, rec, newSees(p.Caller, reading, set), set)
	if p.Withheld = withheld(r, rec); p.Withheld {
		p.Questions = nil
	} else if err := s.look(r, set, rec); err != nil {
		return err
	}
	if saved, err := sweepOf(s.e, p.Caller, v.Build); err != nil {
		return err
	} else if saved != nil {
		p.Sweep = saved.ID
	}
	live, err := s.e.LiveID()
	if err != nil {
		return err
	}
	p.Base = s.baseOf(v.Build, rec.Run, live)
	if p.Times, err = s.e.TimesOf(v.Build, rec.Run); err != nil && !index.IsMissing(err) {
		return err
	}
	return s.render(w, http.StatusOK, "run", p)
}

// slot is one line of a ranked list.
type slot struct {
	verdict.Slot
	Build   string
	Doc     corpus.DocumentID
	Path    string // section path within the document
	Span    corpus.Span
	Vector  *evalkit.Component
	Lexical *evalkit.Component
	Text    string
	Words   *words
	Link    bool // whether the document can be opened
}

// flip is one changed question with both lists.
type flip struct {
	verdict.Flip
	A, B     string // names of the builds
	ValueA   evalkit.Value
	ValueB   evalkit.Value
	SlotsA   []slot
	SlotsB   []slot
	Gold     []string
	Decided  string
	Decision review.Kind
	Places   []place // that a label could be corrected to
	GoldAt   []place // gold that could be removed
	Primary  string
	Golden   string
	CSRF     string
	Form     bool // whether decisions can be taken here
	Allowed  bool // whether this caller may
	Holdout  bool // whether it is of the holdout
}

// place is a document and section as a form sends them.
type place struct{ Value, Label string }

// compareData is a comparison as it is shown.
type compareData struct {
	*verdict.Comparison
	Full    bool
	Hidden  bool
	Shown   []flip
	Decided int
	// Withheld says that the questions are of the holdout and were not asked for; Holdout that they
	// were.
	Withheld, Holdout bool
}

type comparePage struct {
	base
	*compareData
	Run string
}

func (s *site) compare(w http.ResponseWriter, r *http.Request) error {
	a, b := r.URL.Query().Get("a"), r.URL.Query().Get("b")
	if !isID(a) || !isID(b) {
		return notFound("Name two builds: choose one on the page of builds.")
	}
	for _, id := range []*string{&a, &b} {
		full, err := s.e.Resolve(*id)
		if err != nil {
			// A build that has been removed may still stand in a record.
			full = *id
		}
		*id = full
	}
	stored, candidate, err := s.e.Verdict(b, "")
	if err != nil {
		return notFound("Build %s has not been evaluated: run `assay eval %s`.", b, b)
	}
	baseRec, err := s.baseRecord(a, b, candidate)
	if err != nil {
		return err
	}
	p := comparePage{base: s.base(r, "Compare "+a+" with "+b), Run: candidate.Run}
	set := s.set()
	left, right := s.reading(p.Caller, a), s.reading(p.Caller, b)
	for _, x := range []*engine.Reading{left, right} {
		if x != nil {
			defer x.Close()
		}
	}
	c := engine.CompareRecords(baseRec, candidate, s.o.Policy, set)
	if stored.LiveBuild == a {
		c.Verdict = stored // it also knows the self-test and the reference
	}
	p.compareData = newCompareData(c, baseRec, candidate, newSees(p.Caller, left, set), newSees(p.Caller, right, set), set)
	p.Holdout = candidate.Evaluation.Split != golden.Dev
	if p.Withheld = withheld(r, candidate); p.Withheld {
		p.Shown = nil
	} else if err := s.look(r, set, candidate); err != nil {
		return err
	}
	f := &review.File{}
	if s.o.Review != "" {
		if f, err = review.Load(s.o.Review); err != nil {
			return &problem{http.StatusConflict, "The review file has a fault: " + err.Error()}
		}
	}
	for i := range p.Shown {
		x := &p.Shown[i]
		x.CSRF, x.Form, x.Allowed, x.Holdout = s.csrf, s.o.Review != "", p.Caller.Admin, p.Holdout
		for _, list := range [][]slot{x.SlotsA, x.SlotsB} {
			for k := range list {
				list[k].Link = list[k].Text != ""
			}
		}
		if d := lastDecision(f, x.Question, a, b); d != nil {
			x.Decided, x.Decision = decided(d), d.Decision
			p.Decided++
		}
	}
	return s.render(w, http.StatusOK, "compare", p)
}

// baseRecord finds what build a returned for the same questions as the candidate's run.
func (s *site) baseRecord(a, b string, candidate *evalkit.Record) (*evalkit.Record, error) {
	live, err := s.e.LiveRecord(b, candidate.Run)
	if err == nil && live != nil && live.Evaluation.Build == a {
		return live, nil
	}
	info, err := s.e.BuildInfo(a)
	if err != nil {
		return nil, notFound("There is no such build.")
	}
	for _, v := range slices.Backward(info.Verdicts) {
		if v.Golden != candidate.Evaluation.Golden.Digest {
			continue
		}
		_, rec, err := s.e.Verdict(a, v.Run)
		if err != nil {
			return nil, err
		}
		if rec.Evaluation.Split == candidate.Evaluation.Split {
			return rec, nil
		}
	}
	return nil, notFound("Build %s has not been evaluated with the questions of this run: run `assay eval %s`.", a, a)
}

func newCompareData(c *verdict.Comparison, left, right *evalkit.Record, seeA, seeB sees, set *golden.Set) *compareData {
	d := &compareData{Comparison: c, Full: seeA.all && seeB.all}
	qa, qb := records(left), records(right)
	textA, textB := newTexts(seeA.r), newTexts(seeB.r)
	for _, f := range c.Flips {
		a, b := qa[f.Question], qb[f.Question]
		if a == nil || b == nil || !seeA.question(&a.QuestionResult) || !seeB.question(&b.QuestionResult) {
			d.Hidden = true
			continue
		}
		x := flip{Flip: f, A: c.A, B: c.B, ValueA: f.A, ValueB: f.B, Primary: c.Primary, Golden: right.Evaluation.Golden.Digest}
		x.SlotsA = slots(f.ListA, a, c.A, textA, newWords(seeA.r, f.Text))
		x.SlotsB = slots(f.ListB, b, c.B, textB, newWords(seeB.r, f.Text))
		seen := map[string]bool{}
		for _, list := range [][]slot{x.SlotsB, x.SlotsA} {
			for _, s := range list {
				p := place{string(s.Doc) + "\n" + s.Path, label(s.Doc, s.Path)}
				if !s.Gold && !seen[p.Value] {
					seen[p.Value] = true
					x.Places = append(x.Places, p)
				}
			}
		}
		if set != nil {
			if q := set.Find(f.Question); q != nil {
				x.Gold, x.GoldAt = seeB.gold(q, false)
			}
		}
		d.Shown = append(d.Shown, x)
	}
	return d
}

func memberLabel(m golden.Member) string {
	switch {
	case m.Section == nil:
		return string(m.Doc) + " (whole document)"
	case *m.Section == "":
		return string(m.Doc) + " (own section)"
	}
	return label(m.Doc, *m.Section)
}

func label(doc corpus.DocumentID, section string) string {
	if section == "" {
		return string(doc)
	}
	return string(doc) + " > " + section
}

func records(r *evalkit.Record) map[string]*evalkit.QuestionRecord {
	m := make(map[string]*evalkit.QuestionRecord, len(r.Questions))
	for i := range r.Questions {
		m[r.Questions[i].ID] = &r.Questions[i]
	}
	return m
}

func slots(list []verdict.Slot, q *evalkit.QuestionRecord, build string, t *texts, w *words) []slot {
	var out []slot
	for i, v := range list {
		s := slot{Slot: v, Build: build, Words: w}
		if i < len(q.Ranked) {
			h := &q.Ranked[i]
			s.Doc, s.Path, s.Span, s.Vector, s.Lexical = h.Doc, h.Section, h.Span, h.Vector, h.Lexical
			s.Text = t.passage(h)
			s.Section = label(h.Doc, h.Section)
		}
		out = append(out, s)
	}
	return out
}

// lastDecision finds the newest decision on a question that was taken on these builds, or on
// none in particular.
func lastDecision(f *review.File, question, a, b string) *review.Decision {
	for i := len(f.Decisions) - 1; i >= 0; i-- {
		d := &f.Decisions[i]
		if d.Question == question && (len(d.Builds) == 0 || slices.Equal(d.Builds, []string{a, b})) {
			return d
		}
	}
	return nil
}

// kindNames are the decisions as a person reads them.
var kindNames = map[review.Kind]string{
	review.Regression: "regression", review.Improvement: "improvement", review.Tie: "tie",
	review.LabelWrong: "label wrong", review.MetricWrong: "metric wrong",
}

func decided(d *review.Decision) string {
	out := "Decided: " + kindNames[d.Decision] + " (" + d.Author
	if d.Date != "" {
		out += ", " + d.Date
	}
	return out + ")"
}

// decision reads the form of a flip.
func decision(r *http.Request) (review.Decision, error) {
	bad := func(format string, args ...any) (review.Decision, error) {
		return review.Decision{}, &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
	}
	a, b := r.PostFormValue("a"), r.PostFormValue("b")
	if !isID(a) || !isID(b) {
		return bad("The form names no builds.")
	}
	d := review.Decision{
		Question: r.PostFormValue("question"), Decision: review.Kind(r.PostFormValue("decision")),
		Reason: strings.TrimSpace(r.PostFormValue("reason")), Builds: []string{a, b}, Golden: r.PostFormValue("golden"),
	}
	if d.Reason == "" {
		d.Reason = "read both ranked lists"
	}
	switch d.Decision {
	case review.LabelWrong:
		how, at, _ := strings.Cut(r.PostFormValue("label"), ":")
		doc, section, hasSection := strings.Cut(strings.ReplaceAll(at, "\r\n", "\n"), "\n")
		p := review.Place{Doc: corpus.DocumentID(doc)}
		if hasSection {
			p.Section = &section
		}
		switch how {
		case "retire":
			d.Retire = true
		case "add":
			// One more place that answers the first gold entry; further entries are for the file.
			p.Group = 1
			d.Add = []review.Place{p}
		case "remove":
			d.Remove = []review.Place{p}
		default:
			return bad("Say how the label should be: choose a place, or retire the question.")
		}
	case review.MetricWrong:
		d.Measure, d.Values = r.PostFormValue("measure"), map[string]float64{}
		for _, v := range []struct{ field, build string }{{"value_a", a}, {"value_b", b}} {
			n, err := strconv.ParseFloat(r.PostFormValue(v.field), 64)
			if err != nil {
				return bad("Give the right value of %s for both builds, from 0 to 1.", d.Measure)
			}
			d.Values[v.build] = n
		}
	}
	return d, nil
}

// historyRow is one run in the history of a question.
type historyRow struct {
	Build, Run string
	Live       bool
	Verdict    verdict.Outcome
	Primary    string
	Value      evalkit.Value
	FirstRank  int
	Status     string
	Top        string
}

type questionPage struct {
	base
	ID       string
	Question *golden.Question
	Gold     []string
	History  []historyRow
	List     []slot
	ListOf   string // build of List
	ListRun  string
	Withheld bool // runs over the holdout are left out
}

func (s *site) question(w http.ResponseWriter, r *http.Request) error {
	id := r.URL.Query().Get("id")
	p := questionPage{base: s.base(r, "Question "+id), ID: id}
	set := s.set()
	missing := notFound("There is no such question.")
	if set != nil {
		p.Question = set.Find(id)
	}
	all, err := s.e.Builds()
	if err != nil {
		return err
	}
	want := r.URL.Query().Get("build")
	for _, b := range all {
		if b.Err != nil {
			continue
		}
		if err := s.history(r, &p, b, set, want); err != nil {
			return err
		}
	}
	if p.History == nil && !p.Withheld {
		return missing
	}
	return s.render(w, http.StatusOK, "question", p)
}

// history adds the runs of one build to a question's page.
func (s *site) history(r *http.Request, p *questionPage, b engine.BuildInfo, set *golden.Set, want string) error {
	reading := s.reading(p.Caller, b.ID)
	if reading == nil {
		return nil
	}
	defer reading.Close()
	see := newSees(p.Caller, reading, set)
	for _, info := range b.Verdicts {
		v, rec, err := s.e.Verdict(b.ID, info.Run)
		if err != nil {
			return err
		}
		for i := range rec.Questions {
			q := &rec.Questions[i]
			if q.ID != p.ID || !see.question(&q.QuestionResult) {
				continue
			}
			if withheld(r, rec) {
				p.Withheld = true
				continue
			}
			if err := s.look(r, set, rec); err != nil {
				return err
			}
			row := historyRow{Build: b.ID, Run: rec.Run, Live: b.Live, Verdict: v.Verdict, Primary: v.Primary,
				Value: q.Measures[v.Primary], FirstRank: q.FirstRank, Status: q.Status}
			if len(q.Ranked) > 0 {
				row.Top = label(q.Ranked[0].Doc, q.Ranked[0].Section)
			}
			p.History = append(p.History, row)
			if want == b.ID || want == "" && (b.Live || p.List == nil) {
				p.List, p.ListOf, p.ListRun = questionList(q, b.ID, reading, p.Question), b.ID, rec.Run
				if p.Question != nil {
					p.Gold, _ = see.gold(p.Question, true)
				}
			}
		}
	}
	return nil
}

// questionList is the top of a stored list with what each retriever said.
func questionList(q *evalkit.QuestionRecord, build string, r *engine.Reading, g *golden.Question) []slot {
	var text string
	if g != nil {
		text = g.Question
	}
	var top []verdict.Slot
	for i := range q.Ranked[:min(10, len(q.Ranked))] {
		h := &q.Ranked[i]
		top = append(top, verdict.Slot{Rank: i + 1, Chunk: h.Chunk, Section: label(h.Doc, h.Section), Gold: slices.Contains(q.Evidence.Relevant, i+1), Score: &h.Score})
	}
	return slots(top, q, build, newTexts(r), newWords(r, text))
}

type documentPage struct {
	base
	Build    string
	Doc      corpus.DocumentID
	DocTitle string
	Version  string
	Before   string
	Chunk    string
	After    string
	Section  string
	Words    *words
}

func (s *site) document(w http.ResponseWriter, r *http.Request) error {
	in := r.URL.Query()
	doc := corpus.DocumentID(in.Get("doc"))
	build := in.Get("build")
	missing := notFound("There is no such document, or you may not see it.")
	if build != "" && !isID(build) {
		return missing
	}
	c := serve.CallerFrom(r.Context())
	reading, err := s.e.Read(build, c.As, c.All)
	if err != nil {
		return missing
	}
	defer reading.Close()
	d, err := reading.Document(doc)
	if errors.Is(err, engine.ErrNoSection) {
		return missing
	} else if err != nil {
		return err
	}
	start, err1 := strconv.Atoi(in.Get("start"))
	end, err2 := strconv.Atoi(in.Get("end"))
	if err1 != nil || err2 != nil || start < 0 || end < start || end > len(d.Text) {
		start, end = 0, 0
	}
	p := documentPage{base: s.base(r, d.Title), Build: reading.Build(), Doc: d.ID, DocTitle: d.Title, Version: d.Version,
		Before: d.Text[:start], Chunk: d.Text[start:end], After: d.Text[end:], Words: newWords(reading, in.Get("q"))}
	if end > start {
		p.Section = corpus.FormatPath(d.Sections[d.SectionAt(start)].Path)
	}
	return s.render(w, http.StatusOK, "document", p)
}

type searchPage struct {
	base
	Query   string
	Mode    string
	K       int
	Modes   []string
	Done    bool
	Build   string
	Used    string // mode that was used
	Hits    []slot
	Notes   []string
	Answer  *engine.AskResult
	Message string
}

func (s *site) search(w http.ResponseWriter, r *http.Request) error {
	in := r.URL.Query()
	p := searchPage{base: s.base(r, "Search"), Query: in.Get("q"), Mode: in.Get("mode"), K: 5, Modes: []string{"hybrid", "vector", "lexical"}}
	if strings.TrimSpace(p.Query) == "" {
		return s.render(w, http.StatusOK, "search", p)
	}
	if n, err := strconv.Atoi(in.Get("k")); err == nil && n >= 1 && n <= 50 {
		p.K = n
	}
	as, err := p.Caller.Labels(s.e)
	if err != nil {
		return err
	}
	q := engine.Query{Text: p.Query, K: p.K, Mode: p.Mode, As: as}
	resp, err := s.e.Query(r.Context(), q)
	if err == nil && in.Get("do") == "answer" {
		p.Answer, err = s.e.Ask(r.Context(), engine.AskQuery{Query: q})
	}
	if err != nil {
		told := serve.Describe(err)
		if told.Status >= 500 && told.Code == "internal" {
			return err
		}
		p.Message = told.Message
		return s.render(w, told.Status, "search", p)
	}
	p.Done, p.Build, p.Used, p.Notes = true, resp.Build, resp.Mode, serve.NewSearchBody(resp).Notes
	reading := s.reading(p.Caller, resp.Build)
	var highlight *words
	if reading != nil {
		defer reading.Close()
		highlight = newWords(reading, p.Query)
	}
	for i := range resp.Hits {
		h := &resp.Hits[i]
		p.Hits = append(p.Hits, slot{
			Slot:  verdict.Slot{Rank: h.Rank, Chunk: h.Chunk, Section: label(h.Doc, h.Section), Score: &h.Score},
			Build: resp.Build, Doc: h.Doc, Path: h.Section, Span: corpus.Span{Start: h.Start, End: h.End},
			Vector: (*evalkit.Component)(h.Vector), Lexical: (*evalkit.Component)(h.Lexical), Text: h.Text, Words: highlight,
		})
	}
	return s.render(w, http.StatusOK, "search", p)
}
