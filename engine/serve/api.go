package serve

import (
	"net/http"
	"strings"

	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/index"
)

// SearchBody is the answer to a search.
type SearchBody struct {
	Schema   string      `json:"schema"`
	Build    string      `json:"build"`
	Query    string      `json:"query"`
	Mode     string      `json:"mode"`
	Degraded bool        `json:"degraded,omitempty"`
	Notes    []string    `json:"notes,omitempty"`
	Hits     []index.Hit `json:"hits"`
}

// NewSearchBody returns what every door shows of a response.
func NewSearchBody(r *engine.Response) SearchBody {
	return SearchBody{"assay.search/v1", r.Build, r.Query, r.Mode, r.Degraded, notes(r.Notes, r.Degraded), append([]index.Hit{}, r.Hits...)}
}

// notes drops what a note says of a failing server: its address is the operator's.
func notes(in []string, degraded bool) []string {
	var out []string
	for _, n := range in {
		if degraded && strings.HasPrefix(n, "degraded:") {
			n = "degraded: the vector retriever failed, results are lexical only"
		}
		out = append(out, n)
	}
	return out
}

// AnswerBody is the answer to a question.
type AnswerBody struct {
	Schema         string          `json:"schema"`
	Build          string          `json:"build"`
	Question       string          `json:"question"`
	Answer         string          `json:"answer"`
	Refused        bool            `json:"refused"`
	Sources        []engine.Source `json:"sources"`
	Context        []index.Hit     `json:"context"`
	Model          string          `json:"model"`
	PromptRevision string          `json:"prompt_revision"`
	Notes          []string        `json:"notes,omitempty"`
}

// NewAnswerBody returns what every door shows of an answer.
func NewAnswerBody(r *engine.AskResult) AnswerBody {
	b := AnswerBody{
		Schema: "assay.ask/v1", Build: r.Build, Question: r.Question, Answer: r.Answer.Text, Refused: r.Answer.Refused,
		Sources: append([]engine.Source{}, r.Sources...), Context: []index.Hit{},
		Model: r.Answer.Model, PromptRevision: r.Answer.PromptRevision, Notes: notes(r.Notes, len(r.Notes) > 0),
	}
	for _, p := range r.Passages {
		h := p.Hit
		h.Text = p.Text // exactly what the answerer was shown
		b.Context = append(b.Context, h)
	}
	return b
}

func (s *Server) search(w http.ResponseWriter, r *http.Request, c Caller) error {
	req := requestOf(r)
	q, err := s.query(r, c, "query")
	req.query = q.Text
	if err != nil {
		return err
	}
	resp, err := s.e.Query(r.Context(), q)
	if err != nil {
		return err
	}
	req.build = resp.Build
	return s.write(w, NewSearchBody(resp))
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, c Caller) error {
	req := requestOf(r)
	q, err := s.query(r, c, "question")
	req.query = q.Text
	if err != nil {
		return err
	}
	res, err := s.ask(r, q, nil)
	if err != nil {
		return err
	}
	return s.write(w, NewAnswerBody(res))
}

// ask has a question answered; stream, if not nil, is handed the text as it comes.
func (s *Server) ask(r *http.Request, q engine.Query, stream func(piece string)) (*engine.AskResult, error) {
	res, err := s.e.Ask(r.Context(), engine.AskQuery{Query: q, Stream: stream})
	if err != nil {
		return nil, err
	}
	requestOf(r).build = res.Build
	if res.Answer.Refused {
		s.metrics.refusal()
	}
	return res, nil
}

// BuildBody is one build of the list. Counts are of the whole build, so only a caller that may
// see every document of it gets them; null stands for a count that is not told.
type BuildBody struct {
	ID        string               `json:"id"`
	Live      bool                 `json:"live"`
	Reference bool                 `json:"reference"`
	Documents *int                 `json:"documents"`
	Chunks    *int                 `json:"chunks"`
	Verdicts  []engine.VerdictInfo `json:"verdicts"`
	Error     string               `json:"error,omitempty"`
}

func (s *Server) builds(w http.ResponseWriter, _ *http.Request, c Caller) error {
	all, err := s.e.Builds()
	if err != nil {
		return err
	}
	items := make([]BuildBody, len(all))
	for i, b := range all {
		items[i] = BuildBody{ID: b.ID, Live: b.Live, Reference: b.Reference, Verdicts: append([]engine.VerdictInfo{}, b.Verdicts...)}
		if b.Err != nil {
			items[i].Error = "the build cannot be read: run `assay check`"
			continue
		}
		if Everything(s.e, b.ID, c) {
			items[i].Documents, items[i].Chunks = &b.Manifest.Counts.Documents, &b.Manifest.Counts.Chunks
		}
	}
	return s.write(w, struct {
		Schema string      `json:"schema"`
		Builds []BuildBody `json:"builds"`
	}{"assay.builds/v1", items})
}

// Everything reports whether the caller may see every document of a build; false where that
// cannot be told.
func Everything(e interface {
	Read(build string, as []string, all bool) (*engine.Reading, error)
}, build string, c Caller) bool {
	v, err := e.Read(build, c.As, c.All)
	if err != nil {
		return false
	}
	everything := v.Everything()
	return v.Close() == nil && everything
}

// promote makes a build live that its stored verdict accepts. There is no override here: that
// is a decision for the command line, where its reason is asked for.
func (s *Server) promote(w http.ResponseWriter, r *http.Request, c Caller) error {
	o, err := readObject(r, "build", "run", "why")
	if err != nil {
		return err
	}
	build, err := o.text("build", true, 64)
	if err != nil {
		return err
	}
	run, err := o.text("run", false, 64)
	if err != nil {
		return err
	}
	for _, id := range []struct{ field, value string }{{"build", build}, {"run", run}} {
		if id.value != "" && !isID(id.value) {
			return invalid(id.field, "%s is no id: ids are up to 12 hexadecimal digits, see /v1/builds", id.field)
		}
	}
	why, err := o.text("why", false, 1000)
	if err != nil {
		return err
	}
	var want engine.PromoteOptions
	if s.o.Digests != nil {
		if want.GoldenDigest, want.PolicyDigest, err = s.o.Digests(); err != nil {
			return err
		}
	}
	want.Reason = engine.Reason{Who: c.Name, Why: why}
	v, _, err := s.e.Verdict(build, run)
	if err != nil {
		return err
	}
	requestOf(r).build = v.Build
	changed, err := s.e.PromoteWith(r.Context(), v.Build, v, want)
	if err != nil {
		return err
	}
	return s.write(w, struct {
		Schema  string `json:"schema"`
		Live    string `json:"live"`
		Changed bool   `json:"changed"`
		Verdict string `json:"verdict"`
	}{"assay.promote/v1", v.Build, changed, string(v.Verdict)})
}

// isID reports whether s can be a build or a run, or the beginning of one; anything else might
// be a path.
func isID(s string) bool {
	return len(s) >= 4 && len(s) <= 12 && strings.Trim(s, "0123456789abcdef") == ""
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request, _ Caller) error {
	return s.write(w, map[string]string{"status": "ok"})
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request, _ Caller) error {
	if s.stopping.Load() {
		return &Error{Status: http.StatusServiceUnavailable, Code: "stopping", Message: "the server is stopping"}
	}
	if s.e.Live() == "" {
		return &Error{Status: http.StatusServiceUnavailable, Code: "no_live_build", Message: "no build can be searched yet"}
	}
	return s.write(w, map[string]string{"status": "ready"})
}
