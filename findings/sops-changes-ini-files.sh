#!/bin/bash
# sops 3.13.3: an INI file comes back from encryption and decryption without what follows a `;` in a value, and with one of several equal keys.
#
# Guess before it was run: what sops decrypts is the file that it encrypted, or the file is refused; blanks around `=` may differ.
# Seen: of `dsn=host;port=5432`, `host` is left as the value, and `; port=5432` is a comment above it; of two lines `server=` only the last is left; the
# quotes of a value are gone. Exit code 0 both times, and the check sum is right: sops read the file so before it encrypted it. Connection strings have `;`, and
# in systemd's and other programs' files a key that is repeated is a list. With `--input-type binary` every byte comes back.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v3.13.3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOBIN=$work/bin
{ go install -trimpath -ldflags='-s -w' "github.com/getsops/sops/v3/cmd/sops@$VERSION" && go install filippo.io/age/cmd/age-keygen@v1.2.1; } 2> "$work/build" ||
  { cat "$work/build"; exit 1; }
cd "$work"
bin/age-keygen -o key 2> recipient
recipient=$(sed -n 's/^Public key: //p' recipient)
export SOPS_AGE_KEY_FILE=$work/key
printf '[db]\ndsn=host;port=5432\nserver=a\nserver=b\nname="two words"\n' > app.ini
codes=0
bin/sops --disable-version-check encrypt --age "$recipient" app.ini > app.enc.ini || codes=$?
bin/sops --disable-version-check decrypt app.enc.ini > back.ini || codes=$codes$?
bin/sops --disable-version-check encrypt --age "$recipient" --input-type binary --output-type json app.ini > app.ini.sops
bin/sops --disable-version-check decrypt --input-type json --output-type binary app.ini.sops | cmp -s - app.ini && binary=same || binary=other
back=$(grep -v '^$' back.ini | tr -s ' ' | tr '\n' '|')
echo "sops $VERSION: exit codes $codes; back: $back; as binary: $binary"
[ "$codes" = 0 ] && [ "$back" = '[db]|; port=5432|dsn = host|server = b|name = two words|' ] && [ "$binary" = same ]
