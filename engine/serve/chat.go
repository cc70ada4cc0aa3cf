package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed792a4543/assay/engine"
)

// ModelName is the model that chat clients ask for; other names are accepted and ignored.
const ModelName = "assay"

// chatError has the shape that clients of chat servers know.
type chatError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"`
	Code    string `json:"code"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatDelta struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

type chatChoice struct {
	Index        int          `json:"index"`
	Message      *chatMessage `json:"message,omitempty"`
	Delta        *chatDelta   `json:"delta,omitempty"`
	FinishReason *string      `json:"finish_reason"`
}

type chatUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// chatResult is what an answer says besides its text. A stream has it in its last piece.
type chatResult struct {
	Build     string          `json:"build"`
	Question  string          `json:"question"` // as it was searched for
	Refused   bool            `json:"refused"`
	Citations []engine.Source `json:"citations"`
}

type chatBody struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
	*chatResult
}

// chat answers the last message of the user from the live build. What steers a model (temperature
// and the like) is accepted and ignored, and so are system messages and earlier answers: the answer
// comes from the documents. Of the user's earlier messages those count that the last one leans on;
// see conversation.
func (s *Server) chat(w http.ResponseWriter, r *http.Request, c Caller) error {
	data, err := readBody(r)
	if err != nil {
		return err
	}
	o, err := parseObject(data)
	if err != nil {
		return err
	}
	q := engine.Query{}
	if q.Text, err = conversation(o); err != nil {
		return err
	}
	stream, err := o.boolean("stream")
	if err != nil {
		return err
	}
	withUsage := false
	if o.has("stream_options") {
		var so struct {
			IncludeUsage bool `json:"include_usage"`
		}
		if json.Unmarshal(o["stream_options"], &so) != nil {
			return invalid("stream_options", "stream_options must be an object with include_usage, true or false")
		}
		withUsage = so.IncludeUsage
	}
	if q.As, err = c.Labels(s.e); err != nil {
		return err
	}
	requestOf(r).query = q.Text
	head := chatBody{ID: "chatcmpl-" + requestOf(r).id, Created: time.Now().Unix(), Model: ModelName}
	if stream {
		head.Object = "chat.completion.chunk"
		return s.streamChat(w, r, q, head, withUsage)
	}
	res, err := s.ask(r, q, nil)
	if err != nil {
		return err
	}
	stopped := "stop"
	head.Object, head.chatResult, head.Usage = "chat.completion", newChatResult(res), newChatUsage(res)
	head.Choices = []chatChoice{{Message: &chatMessage{"assistant", withSources(res)}, FinishReason: &stopped}}
	return s.write(w, head)
}

func newChatResult(res *engine.AskResult) *chatResult {
	return &chatResult{res.Build, res.Question, res.Answer.Refused, append([]engine.Source{}, res.Sources...)}
}

func newChatUsage(res *engine.AskResult) *chatUsage {
	u := res.Answer.Usage
	return &chatUsage{u.PromptTokens, u.CompletionTokens, u.PromptTokens + u.CompletionTokens}
}

// streamChat sends the answer in the pieces in which it comes: sentences of the extractive answerer,
// the tokens of a model that streams. Until the first piece is there a failure has its own status;
// after that it is an event of the stream, which then has no end mark.
func (s *Server) streamChat(w http.ResponseWriter, r *http.Request, q engine.Query, head chatBody, withUsage bool) error {
	out := &eventStream{w: w, head: head}
	res, err := s.ask(r, q, out.text)
	if err != nil && !out.begun {
		return err
	}
	if err != nil {
		e := Describe(err)
		req := requestOf(r)
		req.err, req.failed = err, e.Status
		out.event(struct {
			Error chatError `json:"error"`
		}{chatError{e.Message, e.Code, e.Field, e.Code}})
		return nil
	}
	whole := withSources(res)
	rest, ok := strings.CutPrefix(whole, out.sent.String())
	if !ok { // the model was asked again and said something else
		rest = "\n\n" + whole
	}
	out.text(rest)
	stopped := "stop"
	last := head
	last.chatResult, last.Choices = newChatResult(res), []chatChoice{{Delta: &chatDelta{}, FinishReason: &stopped}}
	out.event(last)
	if withUsage {
		last = head
		last.Choices, last.Usage = []chatChoice{}, newChatUsage(res)
		out.event(last)
	}
	out.raw([]byte("data: [DONE]\n\n"))
	return nil
}

// eventStream sends pieces of a chat answer as server-sent events, each at once.
type eventStream struct {
	w     http.ResponseWriter
	head  chatBody
	sent  strings.Builder
	begun bool
}

func (e *eventStream) text(piece string) {
	if piece == "" {
		return
	}
	delta := chatDelta{Content: piece}
	if !e.begun {
		e.begun = true
		delta.Role = "assistant"
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.w.Header().Set("X-Accel-Buffering", "no") // proxies must not collect the pieces
		e.w.WriteHeader(http.StatusOK)
	}
	e.sent.WriteString(piece)
	chunk := e.head
	chunk.Choices = []chatChoice{{Delta: &delta}}
	e.event(chunk)
}

func (e *eventStream) event(v any) {
	line, err := json.Marshal(v)
	if err != nil { // unreachable: strings and integers
		return
	}
	e.raw(append(append([]byte("data: "), line...), "\n\n"...))
}

// raw writes and flushes; a client that has gone is noticed by the request's context.
func (e *eventStream) raw(data []byte) {
	if _, err := e.w.Write(data); err == nil {
		_ = http.NewResponseController(e.w).Flush()
	}
}

// conversation returns the question of a chat: the text of the user's last message or, if that leans
// on what was said before, the messages that it leans on and it, one a line.
func conversation(o object) (string, error) {
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if !o.has("messages") || json.Unmarshal(o["messages"], &messages) != nil {
		return "", invalid("messages", "messages must be a list of objects with role and content")
	}
	question, found := "", false
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != "user" {
			continue
		}
		text, err := contentText(messages[i].Content)
		if !found {
			if err != nil {
				return "", err
			}
			field := object{"content": mustJSON(text)}
			if question, err = field.text("content", true, engine.MaxQueryRunes); err != nil {
				return "", err
			}
			found = true
		} else {
			// Pictures and the like of earlier messages are passed over.
			if text = strings.TrimSpace(text); err != nil || text == "" {
				continue
			}
			longer := text + "\n" + question
			if utf8.RuneCountInString(longer) > engine.MaxQueryRunes {
				break
			}
			question = longer
		}
		if !leans(text) {
			break
		}
		if strings.Count(question, "\n") >= maxLeaning {
			break
		}
	}
	if !found {
		return "", invalid("messages", "messages hold no message of role user")
	}
	return question, nil
}

func mustJSON(s string) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil { // unreachable: every string encodes
		return json.RawMessage(`""`)
	}
	return data
}

// contentText returns a message's content, which is a string or a list of parts.
func contentText(raw json.RawMessage) (string, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", invalid("content", "content must be a string or a list of text parts")
	}
	var texts []string
	for _, p := range parts {
		if p.Type != "text" {
			return "", invalid("content", "content holds a part of type %q: only text can be answered", clip(p.Type))
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n"), nil
}

// withSources writes the cited places below an answer, for clients that show only its text.
func withSources(res *engine.AskResult) string {
	if len(res.Sources) == 0 {
		return res.Answer.Text
	}
	var b strings.Builder
	b.WriteString(res.Answer.Text)
	b.WriteString("\n\nSources:\n")
	for _, src := range res.Sources {
		place := string(src.Doc)
		if src.Section != "" {
			place += " > " + src.Section
		}
		fmt.Fprintf(&b, "[%d] %s\n", src.Marker, place)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request, _ Caller) error {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	return s.write(w, struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", []model{{ID: ModelName, Object: "model", OwnedBy: "assay"}}})
}
