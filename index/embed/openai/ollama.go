package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ollamaDigest returns the digest of the model if the server is Ollama, which lists its models
// under /api/tags beside /v1, and "" if it is not or does not list the model. A server that
// does not answer at all is an error, lest a fingerprint depend on the weather.
func (e *Embedder) ollamaDigest(ctx context.Context) (string, error) {
	u, err := url.Parse(e.o.URL)
	if err != nil { // unreachable: New parsed it
		return "", err
	}
	path, ok := strings.CutSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	if !ok {
		return "", nil
	}
	u.Path = path + "/api/tags"
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", fmt.Errorf("embedding server %s: %w", e.url, transportError(err))
	}
	res, err := e.o.Client.Do(req)
	if err != nil {
		return "", &ServerError{URL: e.url, Message: e.scrub(transportError(err).Error()), Tries: 1,
			Hint: "is it running, and is the url right?", Err: transportError(err)}
	}
	defer res.Body.Close()
	var list struct {
		Models []struct {
			Name   string `json:"name"`
			Digest string `json:"digest"`
		} `json:"models"`
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(res.Body, 8<<20)).Decode(&list) != nil {
		return "", nil
	}
	for _, m := range list.Models {
		if sameModel(m.Name, e.o.Model) {
			return m.Digest, nil
		}
	}
	return "", nil
}
