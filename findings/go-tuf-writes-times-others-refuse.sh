#!/bin/bash
# go-tuf 2.4.2: `expires` is written with nanoseconds and with an offset, which python-tuf 7.0.1 refuses: a root made from `time.Now()` is no metadata to it.
#
# Guess before it was run: go-tuf writes the time as the TUF specification has it (section 4.2.1, "YYYY-MM-DDTHH:MM:SSZ"), whatever its argument is, so that every
# implementation reads what it writes.
# Seen: `metadata.Root(time.Now().AddDate(1, 0, 0))` has "2027-11-30T15:48:47.16838952Z", and a time in another zone "+01:00". go-tuf and tuf-js 5.0.2 read both.
# python-tuf raises DeserializationError: a client in Python cannot update any more. `.UTC().Truncate(time.Second)` before it gives what all read.
# Needs Go, the Go module proxy, Python 3 with venv, PyPI, Node 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
GO=v2.4.2 PYTHON=7.0.1 JS=5.0.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go << 'PROGRAM'
package main

import (
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

func main() {
	at := time.Date(2037, 1, 2, 3, 4, 5, 600700800, time.UTC)
	for name, expires := range map[string]time.Time{"fraction": at, "offset": at.Truncate(time.Second).In(time.FixedZone("", 3600)), "truncated": at.Truncate(time.Second)} {
		root := metadata.Root(expires)
		if err := root.ToFile(name+".json", false); err != nil {
			panic(err)
		}
	}
}
PROGRAM
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "github.com/theupdateframework/go-tuf/v2/metadata@$GO" && go build -o write . && ./write; } 2> build || { cat build; exit 1; }
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "tuf==$PYTHON"
npm install --silent --no-audit --no-fund "@tufjs/models@$JS" > installed 2>&1 || { cat installed; exit 1; }
seen=
for name in fraction offset truncated; do
  python=$(own/bin/python -c 'import sys; from tuf.api.metadata import Metadata; Metadata.from_file(sys.argv[1])' "$name.json" > said 2>&1 && echo reads || tail -n 1 said | sed 's/.*\.\([A-Za-z]*\):.*/\1/')
  js=$(node -e 'require("@tufjs/models").Metadata.fromJSON("root", JSON.parse(require("fs").readFileSync(process.argv[1])))' "$name.json" > said 2>&1 && echo reads || echo refuses)
  seen="$seen$(grep -o 'expires":"[^"]*' "$name.json" | sed 's/.*"//') python-tuf $python, tuf-js $js; "
done
echo "go-tuf $GO writes: $seen"
[ "$seen" = "2037-01-02T03:04:05.6007008Z python-tuf DeserializationError, tuf-js reads; 2037-01-02T04:04:05+01:00 python-tuf DeserializationError, tuf-js reads; 2037-01-02T03:04:05Z python-tuf reads, tuf-js reads; " ]
