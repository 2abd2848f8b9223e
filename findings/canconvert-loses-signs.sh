#!/bin/bash
# canmatrix 1.3.3 (PyPI): `canconvert` to .xlsx and back makes signed signals unsigned, so -64 degrees are 6529.6; to .sym and back a floating-point signal becomes an integer.
#
# Guess before it was run: a signal has the same value of the same bytes after `canconvert` from .dbc to another format and back, as both describe the same signals; or the program ends non-zero
# and names what the format does not hold.
# Seen: exit code 0 and no message each time. With .xlsx the sign is gone from Temp and from Torque, a float; with .sym Torque is the integer that its bits are, -1072693248.
# Names and units are right, so the file looks right. cantools 45.1.0 reads all three files.
# Needs Python 3.10 or newer and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=1.3.3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "canmatrix[xlsx,sym]==$VERSION" cantools==45.1.0
cat > plant.dbc << 'DBC'
VERSION ""
NS_ :
BS_:
BU_: PLC HMI
BO_ 512 Drive: 8 PLC
 SG_ Torque : 0|32@1- (1,0) [0|0] "Nm" HMI
 SG_ Temp : 39|16@0- (0.1,-40) [0|0] "C" HMI
 SG_ Speed : 48|16@1+ (0.5,0) [0|0] "m/s" HMI
SIG_VALTYPE_ 512 Torque : 1;
DBC
codes=''
for kind in xlsx sym; do
  own/bin/canconvert --silent plant.dbc "plant.$kind" > said 2>&1 && own/bin/canconvert --silent "plant.$kind" "$kind.dbc" >> said 2>&1 && codes+="$kind 0, $(wc -l < said) lines; " || codes+="$kind failed"
done
read_() { own/bin/python -c '
import struct, sys, cantools
frame = cantools.database.load_file(sys.argv[1], strict=False).get_message_by_name("Drive")
print(*frame.decode(struct.pack("<f", -2.25) + bytes([0xff, 0x10, 100, 0])).values())' "$1"; }
dbc=$(read_ plant.dbc) xlsx=$(read_ xlsx.dbc) sym=$(read_ sym.dbc)
echo "canmatrix $VERSION: ${codes}torque, temperature and speed of .dbc: $dbc; after .xlsx: $xlsx; after .sym: $sym"
[ "$codes" = 'xlsx 0, 0 lines; sym 0, 0 lines; ' ] && [ "$dbc" = '-2.25 -64.0 50.0' ] && [ "$xlsx" = '3222274048 6529.6 50.0' ] && [ "$sym" = '-1072693248 -64.0 50.0' ]
