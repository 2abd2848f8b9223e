#!/bin/bash
# json-patch 4.13.0 (evanphx; that of Kubernetes and kustomize): a JSON merge patch with a list loses the null fields of the list's objects.
#
# Guess before it was run: a list in a merge patch takes the place of the old one just as it is: by RFC 7386, null removes a field
# only in objects of the patch, and a patch that is not an object replaces the target.
# Seen: `{"steps": [{"name": "a", "wait": null}]}` gives `[{"name":"a"}]`, with and without a list before it; a null that is an item of the list stays. v5.9.11 does the same, json-merge-patch 1.0.2
# (npm) keeps the null. Such a patch cannot write a custom resource in which null and absent mean different things.
# Needs Go, the Go module proxy, Node 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
V4=v4.13.0 V5=v5.9.11 JS=1.0.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go << 'GO'
package main

import (
	"fmt"
	"os"

	five "github.com/evanphx/json-patch/v5"
	four "gopkg.in/evanphx/json-patch.v4"
)

func main() {
	target, patch := []byte(os.Args[1]), []byte(os.Args[2])
	old, err := four.MergePatch(target, patch)
	if err != nil {
		panic(err)
	}
	merged, err := five.MergePatch(target, patch)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(old), string(merged))
}
GO
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "gopkg.in/evanphx/json-patch.v4@$V4" "github.com/evanphx/json-patch/v5@$V5" && go build -o merge .; } 2> build || { cat build; exit 1; }
npm install --silent --no-audit --no-fund "json-merge-patch@$JS" > installed 2>&1 || { cat installed; exit 1; }
merge() { # TARGET PATCH
  ./merge "$@"
  node -e 'const [target, patch] = process.argv.slice(1).map((text) => JSON.parse(text)); console.log(JSON.stringify(require("json-merge-patch").apply(target, patch)))' "$@"; }
new=$(merge '{}' '{"steps":[{"name":"a","wait":null}]}' | paste -sd ' ')
over=$(merge '{"steps":[1]}' '{"steps":[{"name":"a","wait":null}]}' | paste -sd ' ')
item=$(merge '{}' '{"steps":[null,1]}' | paste -sd ' ')
echo "json-patch $V4, $V5, json-merge-patch $JS: new $new; over a list $over; an item $item"
wanted='{"steps":[{"name":"a"}]} {"steps":[{"name":"a"}]} {"steps":[{"name":"a","wait":null}]}'
[ "$new" = "$wanted" ] && [ "$over" = "$wanted" ] && [ "$item" = '{"steps":[null,1]} {"steps":[null,1]} {"steps":[null,1]}' ]
