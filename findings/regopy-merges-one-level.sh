#!/bin/bash
# regopy 1.5.2 (PyPI, of rego-cpp): object.union loses nested keys, and semver.compare puts alpha.10 before alpha.9; in OPA 1.22.4 neither is so.
#
# Guess before it was run: 204 calls of built-in functions with valid arguments have one answer, which OPA documents; a function that is not there is an error.
# Seen: of {"a": {"b": 1}} and {"a": {"c": 2}} the union is {"a": {"c": 2}}, so defaults that a policy merges under an input are lost, and 1.0.0-alpha.10 is older than 1.0.0-alpha.9, as if numbers of a
# prerelease were texts. No error. Sets, globs, durations and units were alike.
# Needs Go, the Go module proxy, Python 3 with venv and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
GO=v1.22.4 PYTHON=1.5.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > calls << 'CALLS'
object.union({"a": {"b": 1}}, {"a": {"c": 2}})
semver.compare("1.0.0-alpha.10", "1.0.0-alpha.9")
units.parse("1Gi")
CALLS
cat > main.go << 'GO'
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/open-policy-agent/opa/v1/rego"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		found, err := rego.New(rego.Query("x := " + lines.Text())).Eval(context.Background())
		if err != nil {
			panic(err)
		}
		text, _ := json.Marshal(found[0].Bindings["x"])
		fmt.Println(string(text))
	}
}
GO
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "github.com/open-policy-agent/opa/v1/rego@$GO" && go build -o opa .; } 2> build || { cat build; exit 1; }
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "regopy==$PYTHON"
cat > ask.py << 'PY'
import json, sys
from regopy import Interpreter
for call in sys.stdin:
    print(json.dumps(json.loads(str(Interpreter().query('x := ' + call.strip())))['bindings']['x'], separators=(',', ':')))
PY
go=$(./opa < calls) python=$(own/bin/python ask.py < calls)
printf 'OPA %s:\n%s\nregopy %s:\n%s\n' "$GO" "$go" "$PYTHON" "$python"
[ "$go" = $'{"a":{"b":1,"c":2}}\n1\n1073741824' ] && [ "$python" = $'{"a":{"c":2}}\n-1\n1073741824' ]
