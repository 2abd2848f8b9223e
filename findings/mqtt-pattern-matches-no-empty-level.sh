#!/bin/bash
# mqtt-pattern 2.1.1 (npm): `+` does not match an empty level, so "+/+" does not find a topic that begins with a slash.
#
# Guess before it was run: `matches(pattern, topic)` agrees with MQTT 5, section 4.7.1.3, which has "/finance" for an example: it matches "+/+" and "/+", and not "+".
# Seen: "+/+" against "/finance" gives false, as do "a/+/b" against "a//b" and "a/+" against "a/". The broker delivers such a message, and
# a program that sorts its messages with this library drops it in silence. "/+" and "#" against "/finance" are right.
# Needs Node.js 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=2.1.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund "mqtt-pattern@$VERSION" > installed 2>&1 || { cat installed; exit 1; }
seen=$(node -e '
const { matches } = require("mqtt-pattern");
const pairs = [["+/+", "/finance"], ["/+", "/finance"], ["a/+/b", "a//b"], ["a/+", "a/"], ["+", "finance"], ["#", "/finance"], ["+", "/finance"]];
console.log(pairs.map((pair) => `${pair.join(" ")} ${matches(...pair)}`).join(", "))')
echo "mqtt-pattern $VERSION: $seen"
[ "$seen" = '+/+ /finance false, /+ /finance true, a/+/b a//b false, a/+ a/ false, + finance true, # /finance true, + /finance false' ]
