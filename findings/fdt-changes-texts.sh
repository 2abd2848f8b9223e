#!/bin/bash
# fdt 0.3.3 (PyPI): from a device tree source it writes other texts than dtc: `"a;b"` becomes `ab`, `say \"hi\"` loses its quotes, and a list of numbers after a text becomes text.
#
# Guess before it was run: `parse_dts` and `to_dtb` make of a source the tree that dtc makes of it.
# Seen: semicolons in texts are dropped, escapes stay as two characters and quotes are taken away, `"text", <1 2>` is the texts "text" and "<1 2>", and `//` in a text ends its line, so that it grows
# by the next property, which is gone. No error, no warning: a driver that looks for a name, or kernel arguments in `bootargs`, gets another one. Texts of a dtb are read as they are.
# Needs Python 3.10 or newer, PyPI, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=0.3.3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download device-tree-compiler=1.6.1-4+b1 libfdt1=1.6.1-4+b1
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$work/$(dirname "$(find root -name 'libfdt.so.1' | head -n 1)")
export LD_LIBRARY_PATH
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "fdt==$VERSION"
cat > line.dts << 'DTS'
/dts-v1/;
/ {
	model = "Press <7>";
	semi = "a;b";
	said = "say \"hi\"";
	mixed = "text", <1 2>;
	site = "http://plant";
	last = "end";
};
DTS
root/usr/bin/dtc -q -I dts -O dtb -o dtc.dtb line.dts
own/bin/python -c 'import fdt; open("fdt.dtb", "wb").write(fdt.parse_dts(open("line.dts").read()).to_dtb(version=17))'
values() { root/usr/bin/dtc -q -I dtb -O dts "$1" | sed -n 's/^\t//p' | paste -sd ' '; }
one=$(values dtc.dtb) other=$(values fdt.dtb)
echo "dtc: $one"
echo "fdt $VERSION: $other"
[[ $one == *'semi = "a;b"; said = "say \"hi\"";'*'site = "http://plant"; last = "end";' ]] &&
  [ "$other" = 'model = "Press <7>"; semi = "ab"; said = "say \\hi\\"; mixed = "text\0<1 2>"; site = "http: last = end";' ]
