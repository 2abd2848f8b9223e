#!/bin/bash
# kustomize 5.8.1: a custom resource whose kind ends in `List` and that has `items` is replaced by its items, with exit code 0.
#
# Guess before it was run: an object of kind AllowList with a name of its own is one object, whatever its fields are called; only `v1 List` and lists that kubectl writes are
# taken apart.
# Seen: of `kind: AllowList` with one ConfigMap in `items` the ConfigMap is left, and its `spec` is gone; with `items: []` nothing is left of it. With `entries` instead
# of `items` it stays whole. Flux, and Argo CD for folders with a kustomization, apply what is left.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.8.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "sigs.k8s.io/kustomize/kustomize/v5@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
echo 'resources: [list.yaml]' > kustomization.yaml
build() { # FIELD CONTENT
  printf 'apiVersion: net.example/v1\nkind: AllowList\nmetadata: {name: doors}\nspec: {strict: true}\n%s: [%s]\n' "$@" > list.yaml
  code=0; bin/kustomize build . > built 2> said || code=$?
  echo "$code $(sed -n 's/^kind: //p' built)"
}
inner='{apiVersion: v1, kind: ConfigMap, metadata: {name: inner}}'
items=$(build items "$inner"); none=$(build items ''); entries=$(build entries "$inner")
echo "kustomize $VERSION, exit code and kind: items $items; items [] $none; entries $entries"
[ "$items" = '0 ConfigMap' ] && [ "$none" = '0 ' ] && [ "$entries" = '0 AllowList' ]
