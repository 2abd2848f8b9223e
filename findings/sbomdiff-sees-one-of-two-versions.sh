#!/bin/bash
# sbomdiff 0.6.0 (PyPI): where two packages have one name, it compares one of them; a change of the other is "Version changes: 0", exit code 0.
#
# Guess before it was run: each component of a CycloneDX file is compared, so a new version of either lodash is listed: a JavaScript project often has two versions of one package, each with a
# `bom-ref` and a purl of its own.
# Seen: of lodash 3.10.1 and 4.17.20, the first to 3.10.2 is listed, exit code 1; the second to 4.17.21 is not, and neither is its removal: no change, exit code 0.
# Needs Python 3 with venv and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=0.6.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "sbomdiff==$VERSION" lib4sbom==0.10.4
library() { printf '{"type":"library","name":"lodash","version":"%s","purl":"pkg:npm/lodash@%s","bom-ref":"lodash-%s"}' "$1" "$1" "$1"; }
bom() { # FILE COMPONENTS
  printf '{"bomFormat":"CycloneDX","specVersion":"1.5","version":1,"components":[%s]}\n' "$2" > "$1.json"; }
bom old "$(library 3.10.1),$(library 4.17.20)"
bom first "$(library 3.10.2),$(library 4.17.20)"
bom second "$(library 3.10.1),$(library 4.17.21)"
bom removed "$(library 3.10.1)"
compare() { own/bin/sbomdiff old.json "$1.json" > out && code=0 || code=$?; echo "$code, $(grep -c '^\[' out || :) changes"; }
first=$(compare first) second=$(compare second) removed=$(compare removed)
echo "sbomdiff $VERSION: 3.10.1 to 3.10.2: $first; 4.17.20 to 4.17.21: $second; 4.17.20 removed: $removed"
[ "$first" = '1, 1 changes' ] && [ "$second" = '0, 0 changes' ] && [ "$removed" = '0, 0 changes' ]
