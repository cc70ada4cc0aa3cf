package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

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

type chatChoice struct {
	Index        int          `json:"index"`
	Message      *chatMessage `json:"message,omitempty"`
	Delta        *chatMessage `json:"delta,omitempty"`
	FinishReason *string      `json:"finish_reason"`
}

type chatUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

type chatBody struct {
	ID        string          `json:"id"`
	Object    string          `json:"object"`
	Created   int64           `json:"created"`
	Model     string          `json:"model"`
	Choices   []chatChoice    `json:"choices"`
	Usage     *chatUsage      `json:"usage,omitempty"`
	Build     string          `json:"build"`
	Refused   bool            `json:"refused"`
	Citations []engine.Source `json:"citations"`
}

// chat answers the last message of the user from the live build. What steers a model
// (temperature and the like) is accepted and ignored, as are the messages before the last: the
// answer comes from the documents, and each question stands for itself.
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
	if q.Text, err = lastQuestion(o); err != nil {
		return err
	}
	stream := string(o["stream"]) == "true"
	if o.has("stream") && !stream && string(o["stream"]) != "false" {
		return invalid("stream", "stream is %s: it must be true or false", kind(o["stream"]))
	}
	if q.As, err = c.Labels(s.e); err != nil {
		return err
	}
	requestOf(r).query = q.Text
	res, err := s.ask(r, q)
	if err != nil {
		return err
	}
	body := chatBody{
		ID: "chatcmpl-" + requestOf(r).id, Created: time.Now().Unix(), Model: ModelName,
		Build: res.Build, Refused: res.Answer.Refused, Citations: append([]engine.Source{}, res.Sources...),
	}
	text := withSources(res)
	stopped := "stop"
	if !stream {
		u := res.Answer.Usage
		body.Object = "chat.completion"
		body.Choices = []chatChoice{{Message: &chatMessage{"assistant", text}, FinishReason: &stopped}}
		body.Usage = &chatUsage{u.PromptTokens, u.CompletionTokens, u.PromptTokens + u.CompletionTokens}
		return s.write(w, body)
	}
	// The answer is checked as a whole before it is shown, so it is sent as one piece.
	body.Object = "chat.completion.chunk"
	var b bytes.Buffer
	for _, choice := range []chatChoice{{Delta: &chatMessage{"assistant", text}}, {Delta: &chatMessage{}, FinishReason: &stopped}} {
		body.Choices = []chatChoice{choice}
		line, err := json.Marshal(body)
		if err != nil {
			return errors.Join(errors.New("encode the response"), err)
		}
		fmt.Fprintf(&b, "data: %s\n\n", line)
	}
	b.WriteString("data: [DONE]\n\n")
	send(w, http.StatusOK, "text/event-stream", b.Bytes())
	return nil
}

// lastQuestion returns the text of the user's last message.
func lastQuestion(o object) (string, error) {
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if !o.has("messages") || json.Unmarshal(o["messages"], &messages) != nil {
		return "", invalid("messages", "messages must be a list of objects with role and content")
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != "user" {
			continue
		}
		text, err := contentText(messages[i].Content)
		if err != nil {
			return "", err
		}
		field := object{"content": mustJSON(text)}
		return field.text("content", true, engine.MaxQueryRunes)
	}
	return "", invalid("messages", "messages hold no message of role user")
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
