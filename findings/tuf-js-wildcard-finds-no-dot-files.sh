#!/bin/bash
# @tufjs/models 5.0.2 (npm): `*` in the paths of a delegation does not match a target whose name begins with a dot, and `#1` and `{a,b}` do not match targets of these names; in python-tuf they do.
#
# Guess before it was run: both implementations decide alike which targets a role may list: in the TUF specification (section 4.5) `*` and `?` are wildcards, which match
# everything but a slash, and other characters stand for themselves.
# Seen: with the pattern `packages/*` the target packages/.npmrc belongs to the role in python-tuf 7.0.1 and to no role in tuf-js, which hands each part of the path to
# minimatch with the defaults of that library; a pattern `#1` is a comment there. A client in JavaScript says that the target does not exist. packages/app is found by both.
# Needs Node 20 or newer, npm, Python 3 with venv and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
JS=5.0.2 PYTHON=7.0.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund "@tufjs/models@$JS" > installed 2>&1 || { cat installed; exit 1; }
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "tuf==$PYTHON"
cat > ask.cjs << 'MODULE'
const { Metadata } = require('@tufjs/models');
const [pattern, target] = process.argv.slice(2);
const roles = [{ name: 'team', keyids: [], threshold: 1, terminating: false, paths: [pattern] }];
const signed = { _type: 'targets', spec_version: '1.0.0', version: 1, expires: '2037-01-01T00:00:00Z', targets: {}, delegations: { keys: {}, roles } };
const { delegations } = Metadata.fromJSON('targets', { signatures: [], signed }).signed;
console.log([...delegations.rolesForTarget(target)].length === 1);
MODULE
cat > ask.py << 'PY'
import sys
from tuf.api.metadata import DelegatedRole
role = DelegatedRole(name='team', keyids=[], threshold=1, terminating=False, paths=[sys.argv[1]])
print(str(role.is_delegated_path(sys.argv[2])).lower())
PY
ask() { echo "$1 $2 $(node ask.cjs "$@") $(own/bin/python ask.py "$@")"; }
plain=$(ask 'packages/*' packages/app); dot=$(ask 'packages/*' packages/.npmrc); hash=$(ask '#1' '#1'); braces=$(ask '{a,b}' '{a,b}')
echo "pattern, target, tuf-js $JS, python-tuf $PYTHON: $plain; $dot; $hash; $braces"
[ "$plain" = 'packages/* packages/app true true' ] && [ "$dot" = 'packages/* packages/.npmrc false true' ] &&
  [ "$hash" = '#1 #1 false true' ] && [ "$braces" = '{a,b} {a,b} false true' ]
