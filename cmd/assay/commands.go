package main

import (
	"runtime"

	"github.com/seed792a4543/assay/engine"
)

// commands are the subcommands, each in a file of its own.
type commands struct {
	Demo     demoCmd     `cmd:"" help:"Show the whole job on a bundled collection, in a temporary folder."`
	Init     initCmd     `cmd:"" help:"Write a settings file and a starter golden set into a folder of documents."`
	Build    buildCmd    `cmd:"" help:"Make a build aside; the live one goes on serving."`
	Eval     evalCmd     `cmd:"" help:"Ask the golden questions of a build and decide whether it may go live."`
	Promote  promoteCmd  `cmd:"" help:"Make an accepted build live."`
	Up       upCmd       `cmd:"" help:"Build, evaluate, and promote if accepted."`
	Search   searchCmd   `cmd:"" help:"Search the live build."`
	Ask      askCmd      `cmd:"" help:"Answer a question from the live build, with sources."`
	Answers  answersCmd  `cmd:"" help:"Answer all golden questions and grade the answers layer by layer."`
	Judge    judgeCmd    `cmd:"" help:"Judges of answers."`
	Serve    serveCmd    `cmd:"" help:"Serve searches, answers and review pages over HTTP."`
	MCP      mcpCmd      `cmd:"" name:"mcp" help:"Serve agents and editors by the Model Context Protocol."`
	Report   reportCmd   `cmd:"" help:"Write a run and its verdict as one HTML file."`
	Builds   buildsCmd   `cmd:"" help:"List, show, roll back or remove builds."`
	Check    checkCmd    `cmd:"" help:"Verify everything in the store and name each fault."`
	Golden   goldenCmd   `cmd:"" help:"Check, freeze, count or split the golden set."`
	Sweep    sweepCmd    `cmd:"" help:"Try many settings on the dev questions and say which are worth it."`
	Compare  compareCmd  `cmd:"" help:"Put two builds, records or TREC runs side by side."`
	Score    scoreCmd    `cmd:"" help:"Score TREC files as trec_eval does."`
	Endpoint endpointCmd `cmd:"" help:"Ask the golden questions of any search service over HTTP and decide by the policy."`
	Import   importCmd   `cmd:"" help:"Make a project from a BEIR or TREC folder."`
	Export   exportCmd   `cmd:"" help:"Write golden set and run for trec_eval, BEIR, ranx or ragas."`
	Schema   schemaCmd   `cmd:"" help:"Print the JSON Schema of the settings, golden or policy file."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

type versionCmd struct{}

func (c *versionCmd) Run(a *app) error {
	if a.cli.JSON {
		return a.printJSON(struct {
			Schema  string `json:"schema"`
			Version string `json:"version"`
			Go      string `json:"go"`
		}{"assay.version/v1", engine.Version(), runtime.Version()})
	}
	a.printf("assay %s %s %s/%s\n", engine.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
