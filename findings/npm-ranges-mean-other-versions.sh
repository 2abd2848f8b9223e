#!/bin/bash
# NpmSpec of semantic-version 2.10.0 (PyPI) and node-semver 2.2.0 (crates.io) read ranges of npm otherwise than npm's semver 7.8.6: `<2.0.0-0` contains 2.0.0-rc.1, `<=1` does not contain 1.1.0.
#
# Guess before it was run: libraries that name npm's ranges give the same answer as npm's own for ranges and versions that both accept: `<2.0.0-0`, which is written to exclude prereleases of 2.0.0, and versions with parts left out.
# Seen: NpmSpec finds 2.0.0-rc.1 in `<2.0.0-0`, 1.2.3 in `1.2.3-alpha`, and no 1.2.3-alpha in `>=1.2.3-alpha <2.0.0-0`. The crate finds 1.1.0 in `1` and in `<1.2`, and not in `<=1`; `<2 >1` has every version
# there and none in npm. No error in either. Ranges without prereleases and build metadata are right in Python. node-semver 0.9.1 of PyPI answered as npm for all of 6,329 pairs.
# Needs Node.js 20 or newer, npm, Python 3 with venv, PyPI, Rust and crates.io. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
NPM=7.8.6 PYTHON=2.10.0 RUST=2.2.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund "semver@$NPM" > installed 2>&1 || { cat installed; exit 1; }
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "semantic-version==$PYTHON"
mkdir src
printf '[package]\nname = "ask"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nnode-semver = "=%s"\n' "$RUST" > Cargo.toml
cat > src/main.rs << 'RUST'
fn main() {
    let asked: Vec<String> = std::env::args().collect();
    let range: node_semver::Range = asked[1].parse().unwrap();
    println!("{}", range.satisfies(&asked[2].parse::<node_semver::Version>().unwrap()));
}
RUST
cargo build --quiet 2> build || { cat build; exit 1; }
ask() { # RANGE VERSION: npm, Python, Rust
  echo "$(node -p 'require("semver").satisfies(process.argv[2], process.argv[1])' "$@") $(own/bin/python -c '
import sys, semantic_version
print(str(semantic_version.NpmSpec(sys.argv[1]).match(semantic_version.Version(sys.argv[2]))).lower())' "$@") $(target/debug/ask "$@")"; }
below=$(ask '<2.0.0-0' 2.0.0-rc.1) exact=$(ask 1.2.3-alpha 1.2.3) from=$(ask '>=1.2.3-alpha <2.0.0-0' 1.2.3-alpha) most=$(ask '<=1' 1.1.0) plain=$(ask '>=1.2 <2' 1.3.0)
echo "npm $NPM, Python $PYTHON, Rust $RUST: 2.0.0-rc.1 in <2.0.0-0: $below; 1.2.3 in 1.2.3-alpha: $exact; 1.2.3-alpha in >=1.2.3-alpha <2.0.0-0: $from; 1.1.0 in <=1: $most; 1.3.0 in >=1.2 <2: $plain"
[ "$below" = 'false true false' ] && [ "$exact" = 'false true false' ] && [ "$from" = 'true false true' ] && [ "$most" = 'true true false' ] && [ "$plain" = 'true true true' ]
