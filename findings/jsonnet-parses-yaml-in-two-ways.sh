#!/bin/bash
# Jsonnet: `std.parseYaml` of one text has other values in go-jsonnet 0.21.0 than in the C++ program of 0.22.0 (PyPI): `yes`, 017, 1_000, `~` and `!!str 5`.
#
# Guess before it was run: the standard library is one and documented, so both programs give the same JSON for plain scalars, null, tags and merge keys.
# Seen: to Go `yes` is true, 017 is 15, 1_000 is 1000, `~` is null, `!!str 5` is the text "5", and `<<: *x` is merged, as to kubectl. To C++ the first four are
# texts, `!!str 5` is the number 5, and `<<` is a key with the text "*x". A key `n` is called "false" by Go. Exit code 0 in both: what a manifest says depends on which of the
# programs a pipeline runs. Quoted texts and plain numbers without underscores or leading zeros are the same.
# Needs Go, the Go module proxy, Python 3 with venv and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
GO=v0.21.0 CPP=0.22.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN=$work/bin CGO_ENABLED=0 go install -trimpath -ldflags='-s -w' "github.com/google/go-jsonnet/cmd/jsonnet@$GO" 2> build || { cat build; exit 1; }
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "jsonnet==$CPP"
cat > read.jsonnet << 'JSONNET'
std.manifestJsonMinified(std.parseYaml(|||
  a: yes
  b: 017
  c: 1_000
  d: ~
  e: !!str 5
  f: &x {g: 1}
  h: {<<: *x}
  n: "017"
|||))
JSONNET
go=$(bin/jsonnet --string read.jsonnet)
cpp=$(own/bin/python -c 'import _jsonnet, json; print(json.loads(_jsonnet.evaluate_file("read.jsonnet")))')
echo "go-jsonnet $GO: $go"
echo "C++ $CPP: $cpp"
[ "$go" = '{"a":true,"b":15,"c":1000,"d":null,"e":"5","f":{"g":1},"false":"017","h":{"g":1}}' ] &&
  [ "$cpp" = '{"a":"yes","b":"017","c":"1_000","d":"~","e":5,"f":{"g":1},"h":{"<<":"*x"},"n":"017"}' ]
