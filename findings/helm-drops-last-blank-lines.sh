#!/bin/bash
# Helm 3.22.0: blank lines at the end of the last text of an object (`|+`) are gone from what `helm template` prints, with exit code 0.
#
# Guess before it was run: a value that is written with `|+` keeps its final line breaks, wherever in a template it stands; Helm splits documents, no more.
# Seen: of two equal values, "line\n\n\n", the first has three line breaks and the last of the document one: the text before `---` and at the end of
# a file is trimmed before it is read. A rendered release, a digest over a configuration and a file that ends with an empty line depend on
# which key comes last, so an added key changes the value of another. In quotes ("line\n\n\n") both keep them.
# Needs Go, python3 with venv, PyPI and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v3.22.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
GOBIN=$work/bin go install "helm.sh/helm/v3/cmd/helm@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
python3 -m venv yaml
yaml/bin/pip install --quiet --disable-pip-version-check PyYAML==6.0.3
mkdir -p chart/templates
printf 'apiVersion: v2\nname: shown\nversion: 0.1.0\n' > chart/Chart.yaml
config() { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n' "$1"; }
{ config block; printf '  a: |+\n    line\n\n\n  b: |+\n    line\n\n\n---\n'; config quoted; printf '  a: "line\\n\\n\\n"\n  b: "line\\n\\n\\n"\n'; } > chart/templates/all.yaml
breaks() { # FILE
  yaml/bin/python -c "
import sys, yaml
print(*(one['metadata']['name'] + ' a %d b %d' % tuple(one['data'][key].count('\n') for key in 'ab') for one in yaml.safe_load_all(open(sys.argv[1]))), sep=', ')" "$1"; }
bin/helm template x chart > rendered
echo "helm $VERSION: line breaks written: $(breaks chart/templates/all.yaml); rendered: $(breaks rendered)"
[ "$(breaks chart/templates/all.yaml)" = 'block a 3 b 3, quoted a 3 b 3' ] && [ "$(breaks rendered)" = 'block a 3 b 1, quoted a 3 b 3' ]
