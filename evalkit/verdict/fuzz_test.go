package verdict

import (
	"encoding/json"
	"testing"
)

// FuzzDecode: a verdict that is accepted is intact, and stays so through another encoding.
func FuzzDecode(f *testing.F) {
	v := &Verdict{Schema: Schema, Verdict: Accept, Build: "0123456789ab", Reasons: []string{"é <&>"}}
	v.Seal()
	data, err := json.Marshal(v)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":"assay.verdict/v1","verdict":"accept"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data)
		if err != nil {
			return
		}
		if err := v.Intact(); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("accepted, encoded as %q and refused: %v", again, err)
		}
	})
}
