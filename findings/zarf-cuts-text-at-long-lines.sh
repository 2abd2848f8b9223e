#!/bin/bash
# Zarf 0.65.0: where its variables are filled in, a line of more than 1 MiB ends the text: it and all that follows are dropped, without an error.
#
# Guess before it was run: the text is refused with the length of its line ("token too long" is what Go's scanner has for that), or the line is kept.
# Seen: ReplaceTextTemplate returns no error and writes only the lines before the long one. A rendered chart is such a text, and 800 KiB in
# `binaryData` of a ConfigMap is such a line, in base64: `zarf package deploy` applied that ConfigMap without its data, none of the objects after
# it, and ended with 0.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v0.65.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go << 'GO'
package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/zarf-dev/zarf/src/pkg/variables"
)

func main() {
	for _, length := range []int{1 << 19, 1 << 21} {
		text := "first\n" + strings.Repeat("x", length) + "\nlast\n"
		os.WriteFile("text", []byte(text), 0o600)
		err := variables.New("zarf", nil, slog.Default()).ReplaceTextTemplate("text")
		left, _ := os.ReadFile("text")
		fmt.Printf("line of %d bytes: error %v, %d of %d bytes left; ", length, err, len(left), len(text))
	}
}
GO
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
export GOFLAGS=-mod=mod
go get "github.com/zarf-dev/zarf/src/pkg/variables@$VERSION" 2> build && go build -o finding . 2>> build || { cat build; exit 1; }
seen=$(./finding)
echo "Zarf $VERSION: $seen"
[ "$seen" = 'line of 524288 bytes: error <nil>, 524300 of 524300 bytes left; line of 2097152 bytes: error <nil>, 6 of 2097164 bytes left; ' ]
