#!/bin/bash
# ansible.posix 1.6.2 (Ansible 11.6.0), module mount: `/data/`, or a line with a comment after its fields, is not found in fstab, and a second line for the same place is added.
#
# Guess before it was run: `path: /data/` finds the line of /data, as mount takes both for one place. That a line with `# the disk` after its six fields is found was expected, too, and not written down.
# Seen: both times a second line is appended, with "changed" and exit code 0: fstab has two file systems for one place, and still the one that was to be replaced. `path: /data` with a line
# without a comment replaces it.
# Needs Python 3.11 to 3.13 and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
CORE=2.18.6 ANSIBLE=11.6.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "ansible-core==$CORE"
own/bin/pip download --quiet --disable-pip-version-check --no-deps "ansible==$ANSIBLE"
own/bin/python -c 'import glob, zipfile
wheel = zipfile.ZipFile(glob.glob("*.whl")[0])
wheel.extractall("collections", [name for name in wheel.namelist() if name.startswith("ansible_collections/ansible/posix/")])'
version=$(grep -o '"version": "[^"]*"' collections/ansible_collections/ansible/posix/MANIFEST.json | head -n 1 | tr -d '" ' | cut -d: -f2)
export ANSIBLE_HOME=$work/home ANSIBLE_COLLECTIONS_PATH=$work/collections ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false
devices() { # LINE PATH: exit code, then the devices that fstab has afterwards
  echo "$1" > fstab
  code=0
  own/bin/ansible localhost --connection local --extra-vars "ansible_python_interpreter=$work/own/bin/python" --module-name ansible.posix.mount \
    --args "path=$2 src=UUID=new fstype=ext4 state=present fstab=$work/fstab" > said 2>&1 || { code=$?; cat said; }
  echo "$code $(cut -d' ' -f1,2 fstab | paste -sd ,)"; }
plain=$(devices 'UUID=old /data ext4 defaults 0 2' /data)
slash=$(devices 'UUID=old /data ext4 defaults 0 2' /data/)
comment=$(devices 'UUID=old /data ext4 defaults 0 2 # the disk' /data)
echo "ansible.posix $version: $plain; with a slash: $slash; with a comment: $comment"
[ "$version" = 1.6.2 ] && [ "$plain" = '0 UUID=new /data' ] && [ "$slash" = '0 UUID=old /data,UUID=new /data/' ] && [ "$comment" = '0 UUID=old /data,UUID=new /data' ]
