#!/bin/bash
# community.general 10.7.0 (Ansible 11.6.0), module archive: with `remove: true`, files that `exclusion_patterns` keeps out of the archive are deleted too.
#
# Guess before it was run: `remove` deletes what was added to the archive ("Remove any added source files and trees after adding to archive"), and a file that was
# excluded stays where it is.
# Seen: the archive has data/a.csv alone, and the whole folder is gone, with data/live.db and data/sub/b.db, which were never archived. The result is "changed", exit code 0. The module deletes the
# paths that it was given, not those that it added.
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
wheel.extractall("collections", [name for name in wheel.namelist() if name.startswith("ansible_collections/community/general/")])'
version=$(grep -o '"version": "[^"]*"' collections/ansible_collections/community/general/MANIFEST.json | head -n 1 | tr -d '" ' | cut -d: -f2)
export ANSIBLE_HOME=$work/home ANSIBLE_COLLECTIONS_PATH=$work/collections ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false
mkdir -p data/sub
touch data/a.csv data/live.db data/sub/b.db
code=0
own/bin/ansible localhost --connection local --extra-vars "ansible_python_interpreter=$work/own/bin/python" --module-name community.general.archive \
  --args "{\"path\": \"$work/data\", \"dest\": \"$work/data.tgz\", \"exclusion_patterns\": [\"*.db\"], \"remove\": true}" > said 2>&1 || { code=$?; cat said; }
archived=$(tar tzf data.tgz | grep -v '/$' | paste -sd ' ')
left=$(find data -type f 2> /dev/null | wc -l)
echo "community.general $version: exit code $code; archived: $archived; files left: $left"
[ "$version $code $archived $left" = '10.7.0 0 data/a.csv 0' ]
