#!/bin/bash
# nmea-simple 3.3.0 (npm) and pynmea2 1.19.0 (PyPI): a receiver without a fix is at latitude 0, longitude 0; to nmea-simple an echo sounder without an echo has a depth of 0, too.
#
# Guess before it was run: empty fields are no value: NMEA 0183 leaves a field empty where the device has no data, so the position of a GGA without a fix is null, None or missing, not 0, 0.
# Seen: GGA, RMC (status V) and GLL (V) without a position give 0 and 0, a point in the Gulf of Guinea, in both. pynmea2 has None for an empty depth, angle and heading; nmea-simple has 0 for
# all of them: no water under the keel, wind from ahead, course north. Only the quality or status beside it says otherwise, and DBT and HDT have none. pynmeagps 1.1.8 keeps them empty.
# Needs Python 3.10 or newer, PyPI, Node.js 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check pynmea2==1.19.0 pynmeagps==1.1.8
npm install --silent --no-audit --no-fund nmea-simple@3.3.0 > installed 2>&1 || { cat installed; exit 1; }
printf '%s\r\n' '$GPGGA,120000,,,,,0,00,,,M,,M,,*65' '$GPRMC,120000,V,,,,,,,301126,,,N*57' '$GPGLL,,,,,120000,V,N*67' '$IIDBT,,f,,M,,F*3F' '$HEHDT,,T*01' > lines
node=$(node -e '
const { parseNmeaSentence } = require("nmea-simple");
for (const line of require("fs").readFileSync("lines", "utf8").trim().split("\r\n")) {
  const { sentenceId, latitude, longitude, depthMeters, heading } = parseNmeaSentence(line);
  console.log(`${sentenceId} ${latitude ?? depthMeters ?? heading} ${longitude ?? ""}`);
}' | sed 's/ *$//' | paste -sd ,)
python=$(own/bin/python -c '
import pynmea2
for line in open("lines").read().split():
    it = pynmea2.parse(line)
    print(it.sentence_type, *([it.latitude, it.longitude] if hasattr(it, "latitude") else [getattr(it, "depth_meters", getattr(it, "heading", None))]))' | paste -sd ,)
gps=$(own/bin/python -c '
from pynmeagps import NMEAReader
print([NMEAReader.parse(open("lines").readline()).lat])')
echo "nmea-simple 3.3.0: $node; pynmea2 1.19.0: $python; pynmeagps 1.1.8: latitude $gps"
[ "$node" = 'GGA 0 0,RMC 0 0,GLL 0 0,DBT 0,HDT 0' ] && [ "$python" = 'GGA 0.0 0.0,RMC 0.0 0.0,GLL 0.0 0.0,DBT None,HDT None' ] && [ "$gps" = "['']" ]
