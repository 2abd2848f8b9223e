#!/bin/bash
# kustomize 5.8.1: a JSON 6902 patch of one field rounds the whole numbers beyond 2^53 in every other field of its object, with exit code 0.
#
# Guess before it was run: fields that no patch names come out as they were written, whichever kind of patch the object has.
# Seen: `9007199254740993` stays without a patch, with a strategic merge patch, and with namePrefix and labels. With a JSON 6902 patch that replaces an
# annotation it is 9007199254740992, and 12345678901234567890 is 12345678901234567000: the object went through numbers of JSON with 53 bits.
# A serial number, a bit mask or a time in nanoseconds of a custom resource is another one, in silence.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.8.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "sigs.k8s.io/kustomize/kustomize/v5@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
mkdir "$work/app"
cd "$work/app"
cat > thing.yaml <<'THING'
apiVersion: example.com/v1
kind: Thing
metadata: {name: press, annotations: {note: old}}
spec: {serial: 9007199254740993, mask: 12345678901234567890}
THING
numbers() { # PATCH
  printf 'resources: [thing.yaml]\nnamePrefix: a-\n%s\n' "$1" > kustomization.yaml
  "$work/bin/kustomize" build . > out
  sed -n 's/^  \(serial\|mask\): //p' out | tr '\n' ' '; }
none=$(numbers '')
merge=$(numbers 'patches: [{patch: "{apiVersion: example.com/v1, kind: Thing, metadata: {name: press, annotations: {note: new}}}"}]')
json=$(numbers 'patches: [{target: {kind: Thing}, patch: "- {op: replace, path: /metadata/annotations/note, value: new}"}]')
echo "kustomize $VERSION: without a patch $none; with a strategic merge patch $merge; with a JSON 6902 patch $json"
[ "$merge" = '12345678901234567890 9007199254740993 ' ] && [ "$json" = '12345678901234567000 9007199254740992 ' ]
