#!/bin/bash
# deb-version-compare 1.2.1 (npm): the result depends on the order of the two arguments: 1.0 equals 1.0-1, and 1.0-1 is higher than 1.0.
#
# Guess before it was run: its order is that of dpkg for all valid versions ("according to debian policy"): in section 5.6.12 an absent revision is lower than any but 0, and runs
# of digits are compared as numbers. The first run compared random pairs, of which some differed; the pairs below were chosen afterwards.
# Seen: compare("1.0", "1.0-1") is 0, compare("1.0-1", "1.0") is 1; the same for 1.0-1~bpo12+1. Of 1.00 and 1.0, and of 1.00 and 1.0.1, each is lower than the other; to dpkg the first two are equal, and 1.00 is lower than 1.0.1. How a list
# with such versions is sorted depends on its order before, and an upgrade from 1.0 to 1.0-1 is not seen as one. Pairs with ~, + and other zeros (2.028, 2.27) are right.
# Needs Node.js 20 or newer, npm and dpkg. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=1.2.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund "deb-version-compare@$VERSION" > installed 2>&1 || { cat installed; exit 1; }
npm_() { node -e 'console.log("<=>"[Math.sign(require("deb-version-compare")(process.argv[1], process.argv[2])) + 1])' "$1" "$2"; }
dpkg_() { dpkg --compare-versions "$1" lt "$2" && echo '<' || { dpkg --compare-versions "$1" eq "$2" && echo '=' || echo '>'; }; }
seen=''
for pair in '1.0 1.0-1' '1.0 1.0-1~bpo12+1' '1.00 1.0' '1.00 1.0.1' '1.0~rc1 1.0' '2.028 2.27'; do
  read -r one other <<< "$pair"
  seen+="$pair npm $(npm_ "$one" "$other")$(npm_ "$other" "$one") dpkg $(dpkg_ "$one" "$other")$(dpkg_ "$other" "$one"); "
done
echo "deb-version-compare $VERSION, both ways: $seen"
[ "$seen" = '1.0 1.0-1 npm => dpkg <>; 1.0 1.0-1~bpo12+1 npm => dpkg <>; 1.00 1.0 npm << dpkg ==; 1.00 1.0.1 npm << dpkg <>; 1.0~rc1 1.0 npm <> dpkg <>; 2.028 2.27 npm >< dpkg ><; ' ]
