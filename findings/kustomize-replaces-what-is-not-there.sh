#!/bin/bash
# kustomize 5.8.1: a JSON 6902 patch that replaces a field that is not there adds it, with exit code 0.
#
# Expected (its library was run before a guess was written down): the build ends with an error: of "replace", RFC 6902 section 4.3 says that the target location must exist.
# Seen: `op: replace` of /spec/replica adds `replica: 5` beside `replicas: 1`. A misspelled field, or one that an upgrade of the base renamed, is not noticed
# before the object is applied, and in a custom resource maybe not then. `op: remove` of such a field is refused. Kubernetes uses the same
# library, gopkg.in/evanphx/json-patch.v4 4.13.0; github.com/evanphx/json-patch/v5 refuses such a "replace".
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.8.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "sigs.k8s.io/kustomize/kustomize/v5@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
printf 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n' > web.yaml
build() { # OPERATION
  printf "resources: [web.yaml]\npatches: [{target: {kind: Deployment}, patch: '[%s]'}]\n" "$1" > kustomization.yaml
  code=0; bin/kustomize build . > built 2> said || code=$?
  echo "$code $(sed -n '/^spec:/,$p' built | sed 's/^ *//' | paste -sd ' ')"
}
replaced=$(build '{"op": "replace", "path": "/spec/replica", "value": 5}')
removed=$(build '{"op": "remove", "path": "/spec/replica"}')
echo "kustomize $VERSION, exit code and result of replace: $replaced; of remove: $removed"
[ "$replaced" = '0 spec: replica: 5 replicas: 1' ] && [ "$removed" = '1 ' ]
