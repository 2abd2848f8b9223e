#!/bin/sh
# First step of the npm scripts: node_modules is what package-lock.json says, or becomes so.
# Warm, it compares one digest, prints nothing and starts no program but the digest's.
#
# The shell that runs an npm script remembers where it found `node`. So this file runs none: the first `node` of the
# script line is then looked up after the install, and is node_modules/.bin/node, the version this project needs.
set -eu
cd "$(dirname "$0")/../.."

digest() {
  if command -v sha256sum > /dev/null; then sha256sum < package-lock.json; else shasum -a 256 < package-lock.json; fi
}

locked=$(digest)
installed=
if [ -f node_modules/.stamp ]; then read -r installed < node_modules/.stamp || true; fi
if [ "$installed" = "${locked%% *}" ]; then exit 0; fi

# npm ci deletes node_modules, also under tests that run from it (test/harness/run/mark-in-use.ts).
user=
if [ -f node_modules/.in-use ]; then read -r user < node_modules/.in-use || true; fi
if [ -n "$user" ] && kill -0 "$user" 2> /dev/null; then
  echo "package-lock.json asks for other packages than are installed, and tests run from those (process $user): run this again when they have ended." >&2
  exit 1
fi

# npm must not run on a node that it is about to delete.
clean_path=
old_ifs=$IFS
IFS=:
for entry in $PATH; do
  case $entry in */node_modules/.bin) ;; *) clean_path=${clean_path:+$clean_path:}$entry ;; esac
done
IFS=$old_ifs

echo "Installing the packages of package-lock.json (npm ci) ..."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! PATH=$clean_path npm ci --include=dev --include=optional > "$log" 2>&1 < /dev/null; then
  cat "$log" >&2
  echo "The packages of package-lock.json could not be installed; npm's reason stands above." >&2
  exit 1
fi

major=$(PATH=$PWD/node_modules/.bin:$PATH node -p 'process.versions.node.split(".")[0]')
if [ "$major" -lt 24 ]; then
  echo "This machine has Node $major and the package with Node 24 has no build for it: install Node 24 or newer." >&2
  exit 1
fi
echo "${locked%% *}" > node_modules/.stamp
