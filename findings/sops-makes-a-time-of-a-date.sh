#!/bin/bash
# SOPS 3.13.3: a date without quotes in a YAML file, `2027-03-01`, is `2027-03-01T00:00:00Z` after `encrypt` and `decrypt`.
#
# Guess before it was run: SOPS encrypts values and gives them back as they were written; comments and order are kept, so a date is too, or stays text.
# Seen: the value is parsed as a time and encrypted as one. What comes back has an hour and a zone that nobody wrote, and a program that expects a date gets
# another text; 017 becomes 15 in the same way. Also what `unencrypted_suffix` leaves in plain text is rewritten. In quotes both stay.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v3.13.3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOBIN=$work/bin CGO_ENABLED=0 SOPS_AGE_KEY_FILE=$work/key
go install -trimpath -ldflags='-s -w' "github.com/getsops/sops/v3/cmd/sops@$VERSION" 2> build || { cat build; exit 1; }
go install filippo.io/age/cmd/age-keygen@v1.3.1 2> build || { cat build; exit 1; }
bin/age-keygen -o key 2> /dev/null
printf 'valid: 2027-03-01\nvalid_unencrypted: 2027-03-01\nquoted: "2027-03-01"\n' > plain.yaml
bin/sops encrypt --age "$(bin/age-keygen -y key)" --unencrypted-suffix _unencrypted plain.yaml > sealed.yaml
type=$(sed -n 's/^valid: .*type:\([a-z]*\)].*/\1/p' sealed.yaml)
seen=$(bin/sops decrypt sealed.yaml | paste -sd ,)
echo "SOPS $VERSION: encrypted as $type; $seen"
[ "$type" = time ] && [ "$seen" = 'valid: 2027-03-01T00:00:00Z,valid_unencrypted: 2027-03-01T00:00:00Z,quoted: "2027-03-01"' ]
