#!/bin/bash
# @bufbuild/cel 0.6.1 (npm): `double()` of a text that is not a number is NaN, and `int('')` is 0, without an error.
#
# Guess before it was run: a text that is not a number is an error of evaluation, as CEL's definition has it for a conversion that cannot be made, and as in
# cel-go ("type conversion error from 'string' to 'double'").
# Seen: `double('5%')` and `double('abc')` are NaN, `double('')` and `int('')` are 0, and `int('0x1F')` is 31: the texts go through JavaScript's Number and
# BigInt. So `double(status.load) <= 5.0` is false where the load is "5%", and true where it is "", instead of having no answer. `int('abc')` is an error.
# Needs Node 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=0.6.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund "@bufbuild/cel@$VERSION"
cat > ask.mjs << 'MODULE'
import { isCelError, run } from '@bufbuild/cel';
const answer = (text) => {
  const value = run(text, {});
  return isCelError(value) ? 'error' : value;
};
console.log(["double('5%')", "double('')", "int('')", "int('0x1F')", "double('5%') <= 5.0", "double('') <= 5.0", "int('abc')"].map(answer).join(' '));
MODULE
seen=$(node ask.mjs)
echo "@bufbuild/cel $VERSION: $seen"
[ "$seen" = 'NaN 0 0 31 false true error' ]
