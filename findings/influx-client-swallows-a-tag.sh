#!/bin/bash
# @influxdata/influxdb-client 1.35.0 (npm): a tag whose value ends in a backslash, such as `C:\`, takes the next tag into its value; the client for Python puts a blank in its place.
#
# Guess before it was run: a point with the tags path=C:\ and zone=7 comes back from its line of line protocol with these two tags and values.
# Seen: npm writes `press,path=C:\,zone=7 count=1i`, where the comma belongs to the value: InfluxDB's own reader in Go, line-protocol 2.2.1, reads the value "C:,zone" and then an error. influxdb-client 1.50.0
# of PyPI writes a blank behind it, which is read as "C: ", a value without its backslash. Neither says anything. The writer in Go refuses the value ("invalid tag value").
# Needs Node.js 20 or newer, npm, Python 3.10 or newer, PyPI, Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
NPM=1.35.0 PYPI=1.50.0 GO=v2.2.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund "@influxdata/influxdb-client@$NPM" > installed 2>&1 || { cat installed; exit 1; }
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "influxdb-client==$PYPI"
node=$(node -e '
const { Point } = require("@influxdata/influxdb-client");
console.log(new Point("press").tag("path", "C:\\").tag("zone", "7").intField("count", 1).timestamp("1").toLineProtocol())')
python=$(own/bin/python -W ignore -c '
from influxdb_client import Point
print(Point("press").tag("path", "C:\\").tag("zone", "7").field("count", 1).time(1).to_line_protocol())')
cat > main.go << 'GO'
package main

import (
	"fmt"
	"os"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
)

func main() {
	reader := lineprotocol.NewDecoderWithBytes([]byte(os.Args[1]))
	for reader.Next() {
		reader.Measurement()
		for {
			key, value, err := reader.NextTag()
			if err != nil {
				fmt.Print("error")
			}
			if err != nil || key == nil {
				return
			}
			fmt.Printf("%s=[%s] ", key, value)
		}
	}
}
GO
go mod init reads > made 2>&1
go get "github.com/influxdata/line-protocol/v2@$GO" > made 2>&1 || { cat made; exit 1; }
go build -o reads .
echo "npm $NPM: $node, read as $(./reads "$node"); PyPI $PYPI: $python, read as $(./reads "$python")"
[ "$node" = 'press,path=C:\,zone=7 count=1i 1' ] && [ "$(./reads "$node")" = 'path=[C:,zone] error' ] && [ "$(./reads "$python")" = 'path=[C: ] zone=[7] ' ]
