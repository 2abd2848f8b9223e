#!/bin/bash
# yq 4.54.3 and @kubernetes/client-node 2.0.1 (npm): `defaultMode: 0644` of a manifest is 644 to them; to kubectl it is 420, the permissions 0644.
#
# Guess before it was run: tools for manifests read a number as kubectl does, which takes octal (sigs.k8s.io/yaml, YAML 1.1): permissions are written so everywhere.
# Seen: sigs.k8s.io/yaml 1.6.0 gives 420; `yq -o json` and `loadYaml` of client-node give 644, which are the permissions 01204: the owner may only write. The exit code
# is 0 and the object is valid. A pipeline that makes JSON of YAML, or applies with client-node, sets other permissions than `kubectl apply -f`. 0o644 is 420 to all three.
# Needs Go, the Go module proxy, Node 22 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
YQ=v4.54.3 CLIENT=2.0.1 YAML=v1.6.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN=$work/bin CGO_ENABLED=0 go install -trimpath -ldflags='-s -w' "github.com/mikefarah/yq/v4@$YQ" 2> build || { cat build; exit 1; }
npm install --silent --no-audit --no-fund "@kubernetes/client-node@$CLIENT" > installed 2>&1 || { cat installed; exit 1; }
cat > main.go << 'GO'
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	text, _ := os.ReadFile("volume.yaml")
	json, err := yaml.YAMLToJSON(text)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(json))
}
GO
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "sigs.k8s.io/yaml@$YAML" && go build -o read .; } 2> build || { cat build; exit 1; }
printf 'defaultMode: 0644\nmode: 0o644\n' > volume.yaml
kubectl=$(./read)
yq=$(bin/yq --output-format json --indent 0 volume.yaml)
client=$(node -e 'import("@kubernetes/client-node").then(({ loadYaml }) => console.log(JSON.stringify(loadYaml(require("fs").readFileSync("volume.yaml", "utf8")))))')
echo "sigs.k8s.io/yaml $YAML: $kubectl; yq $YQ: $yq; client-node $CLIENT: $client"
[ "$kubectl" = '{"defaultMode":420,"mode":420}' ] && [ "$yq" = '{"defaultMode":644,"mode":420}' ] && [ "$client" = "$yq" ]
