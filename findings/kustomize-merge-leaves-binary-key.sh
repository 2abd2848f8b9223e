#!/bin/bash
# kustomize 5.8.1: an overlay that merges a text over a base's binary key leaves both, in `data` and in `binaryData`: a ConfigMap that no cluster takes.
#
# Guess before it was run: `behavior: merge` replaces a key whatever its content is, so the overlay's text is the only value of the key.
# Seen: the base's `logo`, which is not UTF-8, stays in `binaryData`, and the overlay's is added to `data`, with exit code 0. Kubernetes says that keys of the
# two must not overlap, and refuses it. The other way round, a binary file over a text, is the same.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.8.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "sigs.k8s.io/kustomize/kustomize/v5@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
mkdir base over
printf '\377\376' > base/logo
printf 'configMapGenerator: [{name: shop, files: [logo]}]\n' > base/kustomization.yaml
printf 'text' > over/logo
printf 'resources: [../base]\nconfigMapGenerator: [{name: shop, behavior: merge, files: [logo]}]\n' > over/kustomization.yaml
build() { code=0; bin/kustomize build over > out || code=$?; echo "exit code $code: $(sed '/^kind/,$d; /^apiVersion/d' out | tr -s ' \n' ' ')"; }
text=$(build)
mv base/logo binary
mv over/logo base/logo
mv binary over/logo
binary=$(build)
echo "kustomize $VERSION: a text over a binary file: $text; a binary file over a text: $binary"
[ "$text" = 'exit code 0: binaryData: logo: //4= data: logo: text ' ] && [ "$binary" = "$text" ]
