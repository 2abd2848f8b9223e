#!/bin/bash
# pynmeagps 1.1.8 (PyPI) and nmea-simple 3.3.0 (npm): a position just below a full degree is written with 60 minutes, "5360.00000".
#
# Guess before it was run: degrees of 53.9999999999, as a sum of floating-point numbers has them, are written as 5400.00000 or 5359.99999: the minutes of NMEA 0183 (ddmm.mm) are below 60.
# Seen: degrees are cut first and minutes rounded afterwards: 5360.00000,N and 00960.00000,E, with a right checksum. pynmea2 1.19.0 reads it back as 54; a receiver that
# checks the range of minutes has no position of the ship.
# Needs Python 3.10 or newer, PyPI, Node.js 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check pynmeagps==1.1.8 pynmea2==1.19.0
npm install --silent --no-audit --no-fund nmea-simple@3.3.0 > installed 2>&1 || { cat installed; exit 1; }
python=$(own/bin/python -c '
from pynmeagps import NMEAMessage
print(NMEAMessage("GN", "GLL", 0, lat=53.9999999999, lon=9.9999999999).serialize().decode().strip())')
node=$(node -e '
const { encodeNmeaPacket } = require("nmea-simple");
console.log(encodeNmeaPacket({ sentenceId: "GLL", latitude: 53.9999999999, longitude: 9.9999999999, time: new Date(0), status: "valid" }, "GP"))')
back=$(own/bin/python -c 'import sys, pynmea2; print(round(pynmea2.parse(sys.argv[1]).latitude, 6))' "$python")
echo "pynmeagps 1.1.8: $python, which pynmea2 reads as $back; nmea-simple 3.3.0: $node"
[[ $python == '$GNGLL,5360.00000,N,00960.00000,E,'* ]] && [[ $node == '$GPGLL,5360.000000,N,00960.000000,E,'* ]] && [ "$back" = 54.0 ]
