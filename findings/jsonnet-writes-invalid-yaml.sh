#!/bin/bash
# go-jsonnet 0.21.0: `std.manifestYamlDoc` writes invalid YAML for a text that begins with blanks, and drops blank lines at the end of a text.
#
# Guess before it was run: what std.manifestYamlDoc writes has the values that it was given, as std.manifestJson has: a text of several lines gets what YAML needs.
# Seen: a text with a line break at its end becomes a block (`|`) without a number for its indentation and without `+`. So "  two\none\n" is read as an error
# ("did not find expected key"), and "a\n\n" comes back as "a\n": a script, a certificate or a file in a ConfigMap. The exit code is 0. The C++ program,
# 0.22.0 of PyPI, writes the same. `std.manifestJson`, which every YAML reader takes, keeps all.
# Needs Go, the Go module proxy, Python 3 with venv and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
GO=v0.21.0 CPP=0.22.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN=$work/bin CGO_ENABLED=0 go install -trimpath -ldflags='-s -w' "github.com/google/go-jsonnet/cmd/jsonnet@$GO" 2> build || { cat build; exit 1; }
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "jsonnet==$CPP" PyYAML==6.0.4
cat > read.py << 'PY'
import sys, yaml
try:
    print(repr(yaml.safe_load(open(sys.argv[1]))['text']))
except yaml.YAMLError:
    print('not YAML')
PY
round() { # FUNCTION TEXT
  printf "std.%s({ text: %s })\n" "$@" > one.jsonnet
  bin/jsonnet --string one.jsonnet > go.yaml
  own/bin/python -c 'import _jsonnet; print(_jsonnet.evaluate_file("one.jsonnet"))' | own/bin/python -c 'import json, sys; print(json.load(sys.stdin))' > cpp.yaml
  cmp -s go.yaml cpp.yaml && same= || same=' (C++ differs)'
  echo "$(own/bin/python read.py go.yaml)$same"; }
leading=$(round manifestYamlDoc '"  two\none\n"'); last=$(round manifestYamlDoc '"a\n\n"')
json=$(round manifestJson '"  two\none\n"') lastjson=$(round manifestJson '"a\n\n"')
echo "go-jsonnet $GO: leading blanks: $leading; last blank line: $last; by manifestJson: $json, $lastjson"
[ "$leading" = 'not YAML' ] && [ "$last" = "'a\\n'" ] && [ "$json" = "'  two\\none\\n'" ] && [ "$lastjson" = "'a\\n\\n'" ]
