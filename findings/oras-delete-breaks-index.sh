#!/bin/bash
# oras 1.3.3: `oras manifest delete` in an OCI layout deletes the manifest also where an index of the layout lists it; the index cannot be copied any more.
#
# Guess before it was run: a manifest that an index lists is kept, and only its tag goes, or the command is refused with the name of the index:
# the layout knows both.
# Seen: the manifest's blob is deleted, with exit code 0. The index keeps its tag and its entry, and `oras copy` of it ends with 1:
# "application/vnd.oci.image.manifest.v1+json: not found". The layers of the manifest stay where something else has them.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v1.3.3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install -trimpath -ldflags='-s -w' "oras.land/oras/cmd/oras@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
echo hello > file
oras() { bin/oras "$@" > out 2>&1; }
oras push --oci-layout layout:app file:text/plain --artifact-type application/vnd.example.app
oras manifest index create --oci-layout layout:all app
before=0; oras copy --from-oci-layout layout:all --to-oci-layout one:all || before=$?
deleted=0; oras manifest delete --oci-layout layout:app --force || deleted=$?
tags=$(bin/oras repo tags --oci-layout layout)
after=0; oras copy --from-oci-layout layout:all --to-oci-layout two:all || after=$?
why=$(grep -o 'image.manifest.v1+json: not found' out || true)
echo "oras $VERSION: copy of the index $before, delete of its manifest $deleted, tags left: $tags, copy of the index then $after ($why)"
[ "$before $deleted $tags $after" = '0 0 all 1' ] && [ -n "$why" ]
