package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seed792a4543/assay/evalkit/sweep"
)

// stateSchema is the schema key of a stored result of a sweep.
const stateSchema = "assay.sweep-state/v1"

type sweepState struct {
	Schema string      `json:"schema"`
	Row    sweep.Row   `json:"row"`
	Times  sweep.Times `json:"times"`
}

// statePath is where the result of a variant is stored; false if it must not be, because something
// that is in no setting decides it.
func (s *sweeper) statePath(i int) (string, bool) {
	v := s.variants[i]
	if s.e.o.Embedder != nil || v.Settings.Embed.Kind == "precomputed" || v.Settings.Embed.Kind == "command" || v.Settings.Embed.Refit == "drift" {
		return "", false
	}
	// The size of the context decides nothing unless the results are cut to it; then it is part of
	// the folder's name that it does, and of the key which one.
	return filepath.Join(s.dir, shortDigest([]byte(v.key()+v.Settings.Embed.URL))+".json"), true
}

func (s *sweeper) read(path string, i int) (*SweepResult, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var st sweepState
	if err := json.Unmarshal(data, &st); err != nil {
		return nil, err
	}
	if st.Schema != stateSchema || len(st.Row.Values) != len(s.set.Questions) {
		return nil, fmt.Errorf("%s holds another sweep", path)
	}
	// The name is no part of what was measured.
	st.Row.Name, st.Times.Variant = s.variants[i].Name, s.variants[i].Name
	v := s.variants[i]
	if v.Tune {
		weight, err := strconv.ParseFloat(st.Row.Settings["hybrid.dense"], 64)
		if err != nil {
			return nil, err
		}
		v.Settings.Hybrid.Fusion, v.Settings.Hybrid.Dense, v.Tune = "weighted", &weight, false
	}
	return &SweepResult{Index: i, Variant: v, Build: st.Row.Build, Row: st.Row, Times: st.Times}, nil
}

func (s *sweeper) store(res *SweepResult, i int) error {
	path, ok := s.statePath(i)
	if !ok || res.Row.Errors > 0 { // what failed is tried again
		return nil
	}
	data, err := json.Marshal(sweepState{stateSchema, res.Row, res.Times})
	if err != nil {
		return err
	}
	if err := s.e.fsys.MkdirAll(s.dir); err != nil {
		return err
	}
	return s.e.fsys.WriteFile(path, data)
}

// shortDigest is long enough to tell the files of one folder apart.
func shortDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:10])
}
