#!/bin/bash
# packageurl-python 0.17.6, packageurl-js 2.0.1 and packageurl-go 0.1.7: they write three different purls for one image with a `repository_url`, and two for a version with a `+`.
#
# Guess before it was run: a purl has one canonical text, which these libraries of the package-url project write alike, so that lists of components can be compared by it.
# Seen: of registry.example:5000/app, Python leaves `:` and `/`, Go encodes the slash, JavaScript both. A version 1.0.0+b is `+b` to JavaScript and `%2Bb` to the others.
# Python and JavaScript read the texts of each other; where lists of components are compared by the text, one component counts as two.
# Needs Go, the Go module proxy, Python 3 with venv, PyPI, Node 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
GO=v0.1.7 PYTHON=0.17.6 JS=2.0.1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go << 'PROGRAM'
package main

import (
	"fmt"

	purl "github.com/package-url/packageurl-go"
)

func main() {
	image := purl.QualifiersFromMap(map[string]string{"repository_url": "registry.example:5000/app"})
	fmt.Println(purl.NewPackageURL("oci", "", "app", "sha256:1a2b", image, "").ToString(), purl.NewPackageURL("npm", "", "app", "1.0.0+b", nil, "").ToString())
}
PROGRAM
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "github.com/package-url/packageurl-go@$GO" && go build -o write .; } 2> build || { cat build; exit 1; }
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "packageurl-python==$PYTHON"
npm install --silent --no-audit --no-fund "packageurl-js@$JS" > installed 2>&1 || { cat installed; exit 1; }
go=$(./write)
python=$(own/bin/python -c "
from packageurl import PackageURL as P
print(P('oci', None, 'app', 'sha256:1a2b', {'repository_url': 'registry.example:5000/app'}).to_string(), P('npm', None, 'app', '1.0.0+b').to_string())")
js=$(node -e "import('packageurl-js').then(({ PackageURL: P }) => console.log(String(new P('oci', undefined, 'app', 'sha256:1a2b', { repository_url: 'registry.example:5000/app' })), String(new P('npm', undefined, 'app', '1.0.0+b'))))")
printf 'Go %s\nPython %s\nJavaScript %s\n' "$go" "$python" "$js"
[ "$go" = 'pkg:oci/app@sha256:1a2b?repository_url=registry.example:5000%2Fapp pkg:npm/app@1.0.0%2Bb' ] &&
  [ "$python" = 'pkg:oci/app@sha256:1a2b?repository_url=registry.example:5000/app pkg:npm/app@1.0.0%2Bb' ] &&
  [ "$js" = 'pkg:oci/app@sha256:1a2b?repository_url=registry.example%3A5000%2Fapp pkg:npm/app@1.0.0+b' ]
