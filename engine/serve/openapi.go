package serve

import (
	_ "embed"
	"net/http"
)

// openapiJSON describes the API; a test holds the handlers to it.
//
//go:embed openapi.json
var openapiJSON []byte

func (s *Server) openapi(w http.ResponseWriter, _ *http.Request, _ Caller) error {
	send(w, http.StatusOK, "application/json", openapiJSON)
	return nil
}
