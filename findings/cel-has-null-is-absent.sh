#!/bin/bash
# @bufbuild/cel 0.6.1 (npm): a key whose value is null is missing to `has` and `in`; to cel-go 0.26.0, which Kubernetes and Flux use, it is there.
#
# Guess before it was run: both do what the definition of the language says of has(e.f) for a map: it asks whether f is one of its keys.
# Seen: with {"ready": null}, has(status.ready) and "ready" in status are false in JavaScript and true in Go, while size(status) is 1 in both and
# status.ready == null is true. One health check about the same object has two answers.
# Needs Node 20 or newer, npm, Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
JS=0.6.1
GO=v0.26.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund "@bufbuild/cel@$JS"
cat > ask.mjs << 'MODULE'
import { run } from '@bufbuild/cel';
const status = new Map([['ready', null]]);
console.log(['has(status.ready)', '"ready" in status', 'status.ready == null', 'size(status) == 1'].map((text) => run(text, { status })).join(' '));
MODULE
cat > main.go << 'PROGRAM'
package main

import (
	"fmt"

	"github.com/google/cel-go/cel"
)

func main() {
	env, _ := cel.NewEnv(cel.Variable("status", cel.DynType))
	for _, text := range []string{"has(status.ready)", "'ready' in status", "status.ready == null", "size(status) == 1"} {
		ast, _ := env.Compile(text)
		program, _ := env.Program(ast)
		value, _, err := program.Eval(map[string]any{"status": map[string]any{"ready": nil}})
		if err != nil {
			panic(err)
		}
		fmt.Print(value.Value(), " ")
	}
}
PROGRAM
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "github.com/google/cel-go/cel@$GO" && go build -o ask .; } 2> build || { cat build; exit 1; }
js=$(node ask.mjs)
go=$(./ask)
echo "has, in, null, size 1: @bufbuild/cel $JS: $js; cel-go $GO: $go"
[ "$js" = 'false false true true' ] && [ "$go" = 'true true true true ' ]
