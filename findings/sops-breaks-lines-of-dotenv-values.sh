#!/bin/bash
# SOPS 3.13.3: a backslash and an n in a value of a .env file are a line break for `exec-env` and in JSON: `C:\new` becomes two lines.
#
# Guess before it was run: SOPS does not interpret values of a .env file; it keeps quotes and spaces, so it keeps a backslash, too, and hands `C:\new` on.
# Seen: quotes, `#` and spaces are kept, but `\n` is read as a line break. `decrypt` to .env writes it back, so that no comparison of files shows it; `exec-env`
# and `--output-type json` give the program "C:", a line break and "ew". An address like `\\nas\share` has it as well. `\t` is left alone, and there is no way to
# escape: `\\n` is a backslash and a line break. As `--input-type binary` the whole file is kept.
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
printf '%s\n' 'FOLDER=C:\new\table' 'TWICE=C:\\new' > plain.env
bin/sops encrypt --age "$(bin/age-keygen -y key)" plain.env > sealed.env
same=no; bin/sops decrypt sealed.env | cmp -s plain.env && same=yes
folder=$(bin/sops exec-env sealed.env 'printf %s "$FOLDER"' | paste -sd '|')
twice=$(bin/sops decrypt --output-type json sealed.env | sed -n 's/.*"TWICE": //p')
echo "SOPS $VERSION: same file: $same; exec-env, line by line: $folder; JSON of C:\\\\new: $twice"
[ "$same" = yes ] && [ "$folder" = 'C:|ew\table' ] && [ "$twice" = '"C:\\\new"' ]
