#!/bin/bash
# ansible-core 2.18.6: interpreter discovery takes the first `python3.x` that is in PATH also when it does not run; the module then fails.
#
# Guess before it was run: discovery starts each candidate to learn its platform, so one that ends with 127 is passed over for the next, /usr/bin/python3.
# Seen: it starts the candidate, warns "Unhandled error in Python interpreter discovery", and uses it all the same: "MODULE FAILURE", rc 127. Such
# a program is what pyenv puts into PATH for each version that is installed and not chosen. Without it in PATH, the same command
# answers pong. ansible-core 2.21.5 does the same.
# Needs Python 3.11 to 3.13 as python3 of the system, and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=2.18.6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
/usr/bin/python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "ansible-core==$VERSION"
mkdir shims
printf '#!/bin/sh\necho "not chosen" >&2\nexit 127\n' > shims/python3.13
chmod +x shims/python3.13
ping() { code=0; PATH=$1:/usr/bin:/bin own/bin/ansible --inventory host, all --connection local --module-name ping > out 2> warned || code=$?; echo "$code"; }
without=$(ping /nonexistent)
with=$(ping "$work/shims")
chosen=$(grep -o 'discovered_interpreter_python": "[^"]*' out | sed 's/.*"//; s#.*/shims/#shims/#')
warned=$(grep -c 'Unhandled error in Python interpreter' warned || true)
echo "ansible-core $VERSION: without the program exit code $without; with it $with, by $chosen, with $warned warning of discovery"
[ "$without $with $chosen $warned" = '0 2 shims/python3.13 1' ]
