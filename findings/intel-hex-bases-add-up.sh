#!/bin/bash
# bincopy 20.1.1 (PyPI) and objcopy 2.40 (Debian 12): in an Intel HEX file they add a linear base to the segment base before it, which intelhex, srec_cat and nrf-intel-hex replace.
#
# Guess before it was run: a record of type 04 replaces the base that a record of type 02 set, and the other way round: Intel's specification gives one address formula for each of the two,
# and "remains in effect until" the next one.
# Seen: of `02 1000`, then `04 0002` and one byte at 0000, bincopy and objcopy make 0x30000, intelhex 2.3.0, srec_cat 1.64 and nrf-intel-hex 1.4.0 make 0x20000: firmware of one file lies elsewhere,
# with exit code 0. Of a segment's record that crosses 64 KiB, srec_cat wraps to the segment's beginning, nrf-intel-hex refuses it, the other three go on beyond its end.
# Needs Node.js 20 or newer, npm, Python 3, PyPI, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download srecord=1.64-3 libsrecord0=1.64-3 binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2
for deb in *.deb; do dpkg-deb -x "$deb" root; done
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check bincopy==20.1.1 intelhex==2.3.0
npm install --silent --no-audit --no-fund nrf-intel-hex@1.4.0 > installed 2>&1 || { cat installed; exit 1; }
LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH
printf ':020000021000EC\n:020000040002F8\n:01000000AA55\n:00000001FF\n' > both.hex
printf ':020000021000EC\n:04FFFE0001020304F5\n:00000001FF\n' > cross.hex
addresses() { # FILE: the address of the last byte for each program
  own/bin/python -c 'import sys, bincopy; print("bincopy %x" % (bincopy.BinFile(sys.argv[1]).maximum_address - 1))' "$1"
  root/usr/bin/x86_64-linux-gnu-objcopy -I ihex -O srec "$1" written.srec
  own/bin/python -c 'import bincopy; print("objcopy %x" % (bincopy.BinFile("written.srec").maximum_address - 1))'
  own/bin/python -c 'import sys, intelhex; print("intelhex %x" % intelhex.IntelHex(sys.argv[1]).addresses()[-1])' "$1"
  root/usr/bin/srec_cat "$1" -intel -o - -intel 2> /dev/null | own/bin/python -c 'import io, sys, intelhex; print("srec_cat", *["%x" % at for at in intelhex.IntelHex(io.StringIO(sys.stdin.read())).addresses()])'
  node -e 'const read = require("nrf-intel-hex"); try { const [[at, bytes]] = (read.default ?? read).fromHex(require("fs").readFileSync(process.argv[1], "utf8")); console.log("nrf", (at + bytes.length - 1).toString(16)) } catch { console.log("nrf refuses") }' "$1"
}
both=$(addresses both.hex | paste -sd ,)
cross=$(addresses cross.hex | paste -sd ,)
echo "both bases: $both; across 64 KiB: $cross"
[ "$both" = 'bincopy 30000,objcopy 30000,intelhex 20000,srec_cat 20000,nrf 20000' ] &&
  [ "$cross" = 'bincopy 20001,objcopy 20001,intelhex 20001,srec_cat 10000 10001 1fffe 1ffff,nrf refuses' ]
