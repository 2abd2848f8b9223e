#!/bin/bash
# Podman 5.4.2: a file of `EnvironmentFile=` in a quadlet (`--env-file`) is not read as systemd reads one: quotes and backslashes are part of the value.
#
# Guess before it was run: `EnvironmentFile=` of a quadlet reads the same files as `EnvironmentFile=` of a unit, since quadlets have the form of units (podman-systemd.unit(5)):
# A="a b" is the text a b, and "\$" within double quotes is a $.
# Seen: the container gets A with its quotes, B='q' with its, and C="x\$y" with quotes and backslash. A value in quotes that spans two lines ends with the first line, and `export D=1`
# makes a variable of the name "export D". No error, no warning. A value that needs quotes for a shell or systemd has to be written without them here.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.4.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go << 'GO'
package main

import (
	"fmt"

	"github.com/containers/podman/v5/pkg/env"
)

func main() {
	read, err := env.ParseFile("plant.env")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"A", "B", "C", "export D", "E"} {
		fmt.Printf("%s=%s|", name, read[name])
	}
}
GO
printf 'A="a b"\nB='"'q'"'\nC="x\\$y"\nexport D=1\nE="one\ntwo"\n' > plant.env
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
export GOFLAGS=-mod=mod
go get "github.com/containers/podman/v5/pkg/env@$VERSION" 2> build && go build -p 1 -o read . 2>> build || { cat build; exit 1; }
seen=$(./read)
echo "Podman $VERSION: $seen"
[ "$seen" = "A=\"a b\"|B='q'|C=\"x\\\$y\"|export D=1|E=\"one|" ]
