package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Value is what a measure assigns to a topic or a mean over topics: V if OK, else n/a. The
// zero Value is n/a. JSON shows n/a as null.
type Value struct {
	V  float64
	OK bool
}

// String returns four decimals, or "n/a".
func (v Value) String() string {
	if !v.OK {
		return "n/a"
	}
	return strconv.FormatFloat(v.V, 'f', 4, 64)
}

// MarshalJSON implements json.Marshaler. A NaN or an infinity is an error, never a number.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.OK {
		return []byte("null"), nil
	}
	if math.IsNaN(v.V) || math.IsInf(v.V, 0) {
		return nil, fmt.Errorf("measure value %v is no number", v.V)
	}
	return json.Marshal(v.V)
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(data, &v.V); err != nil {
		return err
	}
	v.OK = true
	return nil
}
