#!/bin/bash
# kustomize 5.8.1: a strategic merge patch that sets metadata.namespace of an object that has none does nothing, with exit code 0.
#
# Expected, and not written down before it was run: the namespace is a field like any other, so a merge patch sets it as a JSON 6902
# patch does.
# Seen: other fields of the same patch arrive, the namespace does not; a JSON 6902 patch sets it. A patch that should move an object leaves it in the default namespace of
# the apply, without a warning. It matters beside numbers beyond 2^53, which a JSON 6902 patch rounds: there is no patch that sets a namespace and keeps them.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.8.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "sigs.k8s.io/kustomize/kustomize/v5@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
mkdir "$work/app"
cd "$work/app"
cat > map.yaml <<'MAP'
apiVersion: v1
kind: ConfigMap
metadata: {name: press}
MAP
place() { # PATCH
  printf 'resources: [map.yaml]\npatches:\n  - target: {kind: ConfigMap, name: press}\n    patch: |-\n      %s\n' "$1" > kustomization.yaml
  "$work/bin/kustomize" build . > out
  sed -n 's/^  \(namespace\|line\): /\1=/p' out | tr '\n' ' '; }
merge=$(place '{apiVersion: v1, kind: ConfigMap, metadata: {name: press, namespace: plant}, data: {line: "7"}}')
json=$(place '[{"op": "add", "path": "/metadata/namespace", "value": "plant"}]')
echo "kustomize $VERSION: with a strategic merge patch '$merge'; with a JSON 6902 patch '$json'"
[ "$merge" = 'line="7" ' ] && [ "$json" = 'namespace=plant ' ]
