#!/bin/bash
# cel-js 0.8.2 (npm): 7 / 2 is 3.5 and whole numbers have 53 bits; cel-python 0.5.0 (PyPI): string(true) is "True". In CEL, as in cel-go, the results are 3, 64 bits and "true".
#
# Guess before it was run: 151 expressions without extensions give what cel-go 0.29.2 gives, in the two libraries: whole numbers divide without a remainder (`-7 / 2 == -3`), int has 64 bits, string(true) is "true".
# Seen: with cel-js, 7 / 2 == 3 is false, so a rule about half of the replicas differs for odd numbers; 9007199254740993 equals 9007199254740992. `true || status.missing` is an error there, which
# `||` has to absorb. With cel-python, string(true) is "True", string(1.0) is "1.0" ("1" in Go), and [1, 2][-1] is 2 instead of an error.
# Needs Node.js 20 or newer, npm, Python 3 with venv, PyPI, Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
JS=0.8.2 PYTHON=0.5.0 GO=v0.29.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund "cel-js@$JS" > installed 2>&1 || { cat installed; exit 1; }
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "cel-python==$PYTHON"
cat > main.go << 'PROGRAM'
package main

import (
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
)

func main() {
	env, _ := cel.NewEnv()
	ast, issues := env.Compile(os.Args[1])
	if issues.Err() != nil {
		panic(issues.Err())
	}
	program, _ := env.Program(ast)
	value, _, err := program.Eval(map[string]any{})
	if err != nil {
		fmt.Println("error")
		return
	}
	fmt.Println(value.Value())
}
PROGRAM
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "github.com/google/cel-go/cel@$GO" && go build -o ask .; } 2> build || { cat build; exit 1; }
js() { node --input-type=module -e 'import { evaluate } from "cel-js"; console.log(evaluate(process.argv[1]))' "$1"; }
python() { own/bin/python -c '
import sys, celpy
env = celpy.Environment()
print(str(bool(env.program(env.compile(sys.argv[1])).evaluate({}))).lower())' "$1"; }
half=$(js '7 / 2 == 3') large=$(js '9007199254740993 == 9007199254740992')
truth=$(python "string(true) == 'true'") one=$(python "string(1.0) == '1'") last=$(python '[1, 2][-1] == 2')
go=$(for text in '7 / 2 == 3' '9007199254740993 == 9007199254740992' "string(true) == 'true'" "string(1.0) == '1'" '[1, 2][-1] == 2'; do ./ask "$text"; done | paste -sd ' ')
echo "half, large; true, 1.0, last: cel-js $JS: $half $large; cel-python $PYTHON: $truth $one $last; cel-go $GO: $go"
[ "$half $large $truth $one $last" = 'false true false false true' ] && [ "$go" = 'true false true true error' ]
