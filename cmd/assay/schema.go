package main

import (
	"github.com/seed792a4543/assay/engine"
	"github.com/seed792a4543/assay/evalkit/golden"
	"github.com/seed792a4543/assay/evalkit/verdict"
)

type schemaCmd struct {
	Of string `arg:"" enum:"settings,golden,policy" help:"settings, golden or policy."`
}

func (c *schemaCmd) Run(a *app) error {
	data := engine.SettingsJSONSchema()
	switch c.Of {
	case "golden":
		data = golden.JSONSchema()
	case "policy":
		data = []byte(verdict.PolicyJSONSchema())
	}
	_, err := a.stdout.Write(data)
	return err
}
