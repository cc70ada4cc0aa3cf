package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

func TestSeal(t *testing.T) {
	cand, live := flips(100, 5, 3)
	policy := &Policy{Primary: "hit@3", Margin: ptr(.10)}
	v := Decide(Input{Policy: policy, Candidate: cand, Live: live, SelfTest: sure(), RecordDigest: "dd"})
	golden := cand.Golden.Digest
	t.Run("ST-07", func(t *testing.T) {
		if err := v.Check("cand", golden, policy.Digest()); err != nil {
			t.Fatalf("its own build, golden set and policy: %v", err)
		}
		other := &Policy{Primary: "hit@3", Margin: ptr(.12)}
		for _, row := range []struct{ what, build, golden, policy string }{
			{"build", "build-b", golden, policy.Digest()},
			{"golden set", "cand", "bb00", policy.Digest()},
			{"policy", "cand", golden, other.Digest()},
		} {
			err := v.Check(row.build, row.golden, row.policy)
			var m *MismatchError
			if !errors.As(err, &m) || m.What != row.what || !errors.Is(err, ErrMismatch) {
				t.Errorf("other %s: %v", row.what, err)
			}
		}
		// A verdict that names no build at all fits none.
		w := *v
		w.Build = ""
		w.Seal()
		if err := w.Check("", golden, policy.Digest()); !errors.Is(err, ErrMismatch) {
			t.Errorf("empty build: %v", err)
		}
	})
	t.Run("ST-07 edited by hand", func(t *testing.T) {
		c, l := flips(27, 1, 2)
		data, err := json.Marshal(Decide(Input{Policy: policy, Candidate: c, Live: l}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(data); err != nil {
			t.Fatalf("unedited: %v", err)
		}
		for _, edit := range [][2]string{
			{`"verdict":"inconclusive"`, `"verdict":"accept"`},
			{`"lost":["q002"`, `"lost":["q009"`},
			{`"margin":0.1`, `"margin":0.2`},
			{`"record_digest":""`, `"record_digest":"ee"`},
		} {
			edited := bytes.Replace(data, []byte(edit[0]), []byte(edit[1]), 1)
			if bytes.Equal(edited, data) {
				t.Fatalf("%s not found in %s", edit[0], data)
			}
			w, err := Decode(edited)
			if !errors.Is(err, ErrTampered) {
				t.Errorf("%s: %v", edit[1], err)
			}
			if err := w.Check(w.Build, w.GoldenDigest, w.PolicyDigest); !errors.Is(err, ErrTampered) {
				t.Errorf("%s passes Check: %v", edit[1], err)
			}
		}
		if _, err := Decode(bytes.Replace(data, []byte(`{"schema"`), []byte(`{"approved":true,"schema"`), 1)); err == nil {
			t.Error("an unknown key, which the digest does not cover, is accepted")
		}
		if _, err := Decode(append(data, "{}"...)); err == nil {
			t.Error("a second document is accepted")
		}
	})
	t.Run("not accepted", func(t *testing.T) {
		c, l := flips(27, 1, 2)
		w := Decide(Input{Policy: policy, Candidate: c, Live: l})
		if err := w.Check("cand", golden, policy.Digest()); !errors.Is(err, ErrNotAccepted) {
			t.Errorf("inconclusive: %v", err)
		}
	})
	t.Run("every kind of verdict survives storage", func(t *testing.T) {
		c, l := flips(40, 2, 1)
		other := clone(l)
		other.Golden.Digest = "bb"
		g := &Policy{Primary: "rr@5"}
		for name, in := range map[string]Input{
			"first build": {Policy: policy, Candidate: c},
			"reference":   {Policy: policy, Candidate: c, Live: l, Reference: l, SelfTest: &SelfTest{}, Measured: map[string]float64{"unsupported_claims": 1. / 3}},
			"invalid":     {Policy: policy, Candidate: c, Live: other},
			"nothing":     {},
			"graded": {Policy: g, Candidate: graded("c", "rr@5", 40, func(i int) float64 { return float64(i) / 41 }),
				Live: graded("l", "rr@5", 40, func(i int) float64 { return float64(i) / 43 })},
		} {
			v := Decide(in)
			data, err := json.MarshalIndent(v, "", "\t")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if w, err := Decode(data); err != nil || w.Verdict != v.Verdict {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("unsealed", func(t *testing.T) {
		w := *v
		w.Digest = ""
		if err := w.Intact(); !errors.Is(err, ErrTampered) {
			t.Errorf("no digest: %v", err)
		}
	})
}

func TestExitCode(t *testing.T) {
	for o, want := range map[Outcome]int{Accept: 0, Reject: 3, Inconclusive: 4, Invalid: 5, "yes": 1, "": 1} {
		if got := o.ExitCode(); got != want {
			t.Errorf("%q exits with %d, want %d", o, got, want)
		}
	}
}
