package golden

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Digest returns the lower-case hex SHA-256 of the set's canonical content: name, version and
// every question, sorted by id, without line numbers and notes. Line ends, key order, format
// and the order of questions, slices and permissions do not change it; a changed label does.
func (s *Set) Digest() string {
	questions := make([]questionJSON, len(s.Questions))
	for i := range s.Questions {
		questions[i] = s.Questions[i].canonical()
	}
	slices.SortFunc(questions, func(a, b questionJSON) int { return strings.Compare(a.ID, b.ID) })
	return digest(struct {
		Schema    string         `json:"schema"`
		Name      string         `json:"name"`
		Version   int            `json:"version"`
		Questions []questionJSON `json:"questions"`
	}{Schema, s.Name, s.Version, questions})
}

// Digest returns the lower-case hex SHA-256 of the question's canonical content, as Set.Digest
// counts it.
func (q *Question) Digest() string { return digest(q.canonical()) }

func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("golden: " + err.Error()) // unreachable: the types hold strings, ints and bools
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (q *Question) canonical() questionJSON {
	j := q.json()
	j.Notes = ""
	j.Split, j.State = q.side(), q.State
	if j.State == "" {
		j.State = Accepted
	}
	slices.Sort(j.Slice)
	slices.Sort(j.As)
	slices.Sort(j.Forbidden)
	return j
}
