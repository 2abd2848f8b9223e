#!/bin/bash
# kustomize 5.8.1: a plain date in a custom resource comes out as a text with a time; kubectl, of the same file, sends the date.
#
# Guess before it was run: `build` of a resource that nothing changes keeps its values; what `kubectl apply -f` and `-k` send is the same.
# Seen: `from: 2027-01-01` becomes `from: "2027-01-01T00:00:00Z"`. sigs.k8s.io/yaml, by which kubectl and
# controllers read YAML, makes the text "2027-01-01" of it. A definition with `format: date` or a pattern then refuses
# the object, and Flux, which builds every folder with kustomize, applies another value than `kubectl apply -f`. In quotes it stays.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.8.1
YAML=v1.6.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "sigs.k8s.io/kustomize/kustomize/v5@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
cat > shift.yaml <<'THING'
apiVersion: example.com/v1
kind: Shift
metadata: {name: night}
spec: {from: 2027-01-01, quoted: "2027-01-01"}
THING
cat > main.go << 'GO'
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	text, _ := os.ReadFile("shift.yaml")
	out, err := yaml.YAMLToJSON(text)
	fmt.Println(string(out), err)
}
GO
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "sigs.k8s.io/yaml@$YAML" && go build -o read .; } 2> build || { cat build; exit 1; }
echo 'resources: [shift.yaml]' > kustomization.yaml
built=$(bin/kustomize build . | sed -n 's/^  //p' | tr -d '"' | tr '\n' ' ')
read=$(./read | sed 's/.*"spec":{\([^}]*\)}.*/\1/; s/"//g')
echo "kustomize $VERSION: $built; sigs.k8s.io/yaml $YAML: $read"
[ "$built" = 'name: night from: 2027-01-01T00:00:00Z quoted: 2027-01-01 ' ] &&
  [ "$read" = 'from:2027-01-01,quoted:2027-01-01' ]
