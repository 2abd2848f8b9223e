#!/bin/bash
# @canboat/canboatjs 3.20.0 (npm): a local offset of minus an hour and a half is written as minus half an hour, and read as "-1:-30:00".
#
# Guess before it was run: what `pgnToActisenseSerialFormat` writes of PGN 129033 (Time & Date of NMEA 2000) `FromPgn` reads as the same text, as it does for date, time and the offset "01:30:00".
# Seen: "-01:30:00" becomes e2ff, -30 minutes: the sign counts for the hours alone. That is read as "-1:-30:00"; the right bytes, a6ff, are read as "-2:-30:00". So the clock of a ship off Newfoundland
# ("-03:30:00", written as -150 minutes) is an hour wrong for every other device. Whole hours are right but for a zero, "-3:00:00".
# Needs Node.js 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=3.20.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts "@canboat/canboatjs@$VERSION" > installed 2>&1 || { cat installed; exit 1; }
seen=$(node -e '
const { FromPgn, pgnToActisenseSerialFormat } = require("@canboat/canboatjs");
const reader = new FromPgn({ format: 1, useCamel: false });
const write = (offset) => pgnToActisenseSerialFormat({ prio: 3, src: 1, dst: 255, pgn: 129033, fields: { Date: "2027.03.01", Time: "12:30:05", "Local Offset": offset } });
const read = (line) => reader.parseString(line).fields["Local Offset"];
const trip = (offset) => `${offset} ${write(offset).split(",").slice(-2).join("")} ${read(write(offset))}`;
console.log([...["01:30:00", "-01:30:00", "-03:30:00", "-03:00:00"].map(trip), `a6ff ${read(write("-01:30:00").replace(/e2,ff$/, "a6,ff"))}`].join(", "))')
echo "canboatjs $VERSION: $seen"
[ "$seen" = '01:30:00 5a00 01:30:00, -01:30:00 e2ff -1:-30:00, -03:30:00 6aff -3:-30:00, -03:00:00 4cff -3:00:00, a6ff -2:-30:00' ]
