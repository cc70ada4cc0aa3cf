package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/seed792a4543/assay/internal/command"
)

func TestFinish(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code int
		out  string
	}{
		{"nothing", nil, command.OK, ""},
		{"another error", errors.New("disk is full"), 7, "x: disk is full\n"},
		{"usage", command.Usage("-k is %d", 0), command.BadUsage, "x: -k is 0\n"},
		{"printed already", &command.Exit{Code: command.Rejected}, command.Rejected, ""},
		{"wrapped", fmt.Errorf("eval: %w", &command.Exit{Code: command.Invalid, Message: "no"}), command.Invalid, "x: eval: no\n"},
		{"printed already, and closing fails", errors.Join(&command.Exit{Code: command.Rejected}, errors.New("close")), command.Rejected, "x: close\n"},
		{"control characters", errors.New("a\x1b]0;x\x07b"), 7, "x: a�]0;x�b\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if code := command.Finish(&out, "x", tt.err, func(error) int { return 7 }); code != tt.code || out.String() != tt.out {
				t.Errorf("code %d, %q, want %d, %q", code, out.String(), tt.code, tt.out)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"a\n b\tc", 10, "a b c"},
		{"größere", 4, "grö…"},
		{"\x1b[2Jx", 10, "�[2Jx"},
		{"", 1, ""},
	} {
		if got := command.OneLine(tt.in, tt.n); got != tt.want {
			t.Errorf("OneLine(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	if err := command.WriteJSON(&out, map[string]any{"a": 1, "z": math.Inf(1)}); err == nil || out.Len() > 0 {
		t.Errorf("%v, %q, want an error and no byte", err, out.String())
	}
	if err := command.WriteJSON(&out, map[string]int{"a": 1}); err != nil || out.String() != "{\n  \"a\": 1\n}\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}
