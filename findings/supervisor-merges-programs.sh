#!/bin/bash
# Supervisor 4.3.0 (PyPI): where two included files define one program, their keys are merged, without a warning.
#
# Guess before it was run: a second file with `[program:press]` is refused as a duplicate, or replaces the first one whole.
# Seen: the command and the environment are those of the file whose name comes last, and the folder is that of the first: the program starts in a folder that the file with its command does not name. Log and
# exit code say nothing. So a copy that a person left in conf.d (`press-old.conf`), or a package of another name with the same program, changes it in part.
# Needs Python 3.10 or newer and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=4.3.0
work=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "supervisor==$VERSION" setuptools==75.8.0
mkdir conf.d first
printf '[supervisord]\nlogfile=%s/log\npidfile=%s/pid\nuser=%s\n[include]\nfiles=conf.d/*.conf\n' "$work" "$work" "$(id -un)" > main.conf
printf '[program:press]\ncommand=/bin/sh -c "echo one > %s/said; pwd >> %s/said; sleep 60"\ndirectory=%s/first\nenvironment=A="1"\n' "$work" "$work" "$work" > conf.d/10.conf
printf '[program:press]\ncommand=/bin/sh -c "echo two $A > %s/said; pwd >> %s/said; sleep 60"\nenvironment=A="2"\n' "$work" "$work" > conf.d/20.conf
own/bin/python -W ignore own/bin/supervisord --nodaemon --configuration main.conf > out 2>&1 & server=$!
for _ in $(seq 100); do [ "$(wc -l < said 2> /dev/null)" = 2 ] && break; sleep 0.1; done
seen=$(sed "s|$work||" said | paste -sd ' ')
warned=$(grep -ciE 'duplicate|already|conflict|warn' out || true)
echo "supervisor $VERSION: the program says: $seen; $warned warnings"
[ "$seen $warned" = 'two 2 /first 0' ]
