#!/bin/bash
# community.general 10.7.0 (Ansible 11.6.0), module interfaces_file: of an option that goes on in a second line, the first alone is replaced, and ifup refuses the file.
#
# Guess before it was run: an option of /etc/network/interfaces whose value is continued with a backslash (interfaces(5): "Lines may be split using backslashes") is replaced as a
# whole, or the module refuses it.
# Seen: `dns-nameservers 10.0.0.53 \` becomes `dns-nameservers 9.9.9.9`, the line `10.0.0.54` after it stays, the result is "changed". ifupdown 0.8.41 then says "option with empty value" for the
# file, so at the next boot no interface in it comes up.
# Needs Python 3.11 to 3.13, PyPI, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
CORE=2.18.6 ANSIBLE=11.6.0 IFUPDOWN=0.8.41
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "ifupdown=$IFUPDOWN"
dpkg-deb -x ./ifupdown_*.deb root
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "ansible-core==$CORE"
own/bin/pip download --quiet --disable-pip-version-check --no-deps "ansible==$ANSIBLE"
own/bin/python -c 'import glob, zipfile
wheel = zipfile.ZipFile(glob.glob("*.whl")[0])
wheel.extractall("collections", [name for name in wheel.namelist() if name.startswith("ansible_collections/community/general/")])'
version=$(grep -o '"version": "[^"]*"' collections/ansible_collections/community/general/MANIFEST.json | head -n 1 | tr -d '" ' | cut -d: -f2)
export ANSIBLE_HOME=$work/home ANSIBLE_COLLECTIONS_PATH=$work/collections ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false
printf 'auto eth0\niface eth0 inet static\n    address 10.0.0.2/24\n    dns-nameservers 10.0.0.53 \\\n        10.0.0.54\n' > interfaces
query() { code=0; root/sbin/ifquery -i interfaces eth0 > told 2>&1 || code=$?; echo "$code $(grep -o 'option with empty value' told || true)"; }
before=$(query)
code=0
own/bin/ansible localhost --connection local --extra-vars "ansible_python_interpreter=$work/own/bin/python" --module-name community.general.interfaces_file \
  --args "dest=$work/interfaces iface=eth0 option=dns-nameservers value=9.9.9.9" > said 2>&1 || { code=$?; cat said; }
after=$(query)
left=$(tail -n 2 interfaces | tr -s ' ' | paste -sd '|')
echo "community.general $version: exit code $code; the file ends in $left; ifquery before: $before, after: $after"
[ "$version $code $left" = '10.7.0 0  dns-nameservers 9.9.9.9| 10.0.0.54' ] && [ "$before" = '0 ' ] && [ "$after" = '1 option with empty value' ]
