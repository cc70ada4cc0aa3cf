package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/seed792a4543/assay/index/embed/internal/unit"
)

// reply is the body of a successful request as far as it is used. It is decoded here and not
// by the client library, which reads null as 0 and an error object as an empty reply.
type reply struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
	Model string `json:"model"`
	Usage struct {
		PromptTokens int `json:"prompt_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// notFinite finds NaN and Infinity where JSON wants a number, as Python's json writes them.
var notFinite = regexp.MustCompile(`[\[,:]\s*[-+]?(NaN|Infinity|inf|nan)\b`)

// errNotFinite says that the reply as a whole is unreadable because of such a number.
var errNotFinite = errors.New("the reply holds NaN or infinite numbers")

// errMessage says that the server reports an error in a reply that looks like a success.
type errMessage string

func (e errMessage) Error() string { return string(e) }

// parseReply returns one raw vector for each of n inputs, in their order.
func parseReply(body []byte, n int) (reply, []json.RawMessage, error) {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		if notFinite.Match(body) {
			return r, nil, errNotFinite
		}
		return r, nil, fmt.Errorf("the reply of %d bytes is not the expected JSON (%v): %s", len(body), err, clip(string(body)))
	}
	if len(r.Error) > 0 && string(r.Error) != "null" || r.Data == nil {
		return r, nil, errMessage(serverWords(body))
	}
	vectors := make([]json.RawMessage, n)
	indexed := 0
	for i, d := range r.Data {
		if d.Index != nil {
			indexed++
		}
		switch {
		case d.Index == nil && i < n:
			vectors[i] = d.Embedding
		case d.Index == nil:
		case *d.Index < 0 || *d.Index >= n:
			return r, nil, fmt.Errorf("the reply has index %d among %d vectors for %d texts", *d.Index, len(r.Data), n)
		case vectors[*d.Index] != nil:
			return r, nil, fmt.Errorf("the reply has index %d twice among %d vectors for %d texts", *d.Index, len(r.Data), n)
		default:
			vectors[*d.Index] = d.Embedding
			if d.Embedding == nil {
				vectors[*d.Index] = json.RawMessage("null")
			}
		}
	}
	if len(r.Data) != n {
		return r, nil, fmt.Errorf("the reply has %d vectors for %d texts", len(r.Data), n)
	}
	if indexed != 0 && indexed != n {
		return r, nil, fmt.Errorf("the reply gives an index to %d of its %d vectors", indexed, n)
	}
	return r, vectors, nil
}

// parseVector decodes one vector and scales it to length 1.
func parseVector(raw json.RawMessage) ([]float32, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, errors.New("the server sent no vector")
	}
	if bytes.HasPrefix(raw, []byte("[[")) {
		return nil, errors.New("the server sent one vector for each token: start it with pooling (llama.cpp: --pooling mean)")
	}
	var parts []*float64
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("the server sent a vector that is no list of finite numbers: %v", err)
	}
	v := make([]float64, len(parts))
	for i, p := range parts {
		if p == nil {
			return nil, fmt.Errorf("the server sent a vector whose component %d is null", i)
		}
		v[i] = *p
	}
	row, err := unit.Scale(v)
	if err != nil {
		return nil, fmt.Errorf("the server sent a useless vector: %w", err)
	}
	return row, nil
}

// serverWords returns the message in an error body, whatever its shape, else the body itself,
// cut to 200 characters.
func serverWords(body []byte) string {
	var any map[string]json.RawMessage
	if json.Unmarshal(body, &any) == nil {
		for _, key := range []string{"error", "message", "detail", "msg"} {
			raw, ok := any[key]
			if !ok || string(raw) == "null" {
				continue
			}
			var s string
			if json.Unmarshal(raw, &s) == nil && s != "" {
				return clip(s)
			}
			var o struct {
				Message string `json:"message"`
			}
			if json.Unmarshal(raw, &o) == nil && o.Message != "" {
				return clip(o.Message)
			}
			return clip(string(raw))
		}
	}
	if s := clip(string(body)); s != "" {
		return s
	}
	return "empty reply"
}

// loading reports whether the server's words mean that it will serve soon.
func loading(words string) bool {
	w := strings.ToLower(words)
	return strings.Contains(w, "loading") || strings.Contains(w, "starting up") || strings.Contains(w, "try again")
}
