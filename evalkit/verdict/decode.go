package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// strictJSON decodes exactly one JSON value without unknown keys.
func strictJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON document")
	}
	return nil
}
