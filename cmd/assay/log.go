package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// log returns what the engine reports to that belongs to no result: one line each on standard
// error, what is no warning only without --quiet.
func (a *app) log() *slog.Logger { return slog.New(lineHandler{a: a}) }

// lineHandler writes records as lines for people: no time, the level in words.
type lineHandler struct {
	a     *app
	attrs string
}

func (h lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || level >= slog.LevelInfo && !h.a.cli.Quiet
}

func (h lineHandler) Handle(_ context.Context, r slog.Record) error {
	word := "note"
	if r.Level >= slog.LevelWarn {
		word = "warning"
	}
	var b strings.Builder
	r.Attrs(func(at slog.Attr) bool {
		fmt.Fprintf(&b, ", %s %v", at.Key, at.Value)
		return true
	})
	attrs := h.attrs + b.String()
	if attrs != "" {
		attrs = ": " + strings.TrimPrefix(attrs, ", ")
	}
	h.a.warnf("%s: %s\n", word, r.Message+attrs)
	return nil
}

func (h lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, at := range attrs {
		h.attrs += fmt.Sprintf(", %s %v", at.Key, at.Value)
	}
	return h
}

func (h lineHandler) WithGroup(string) slog.Handler { return h }
