#!/bin/bash
# Helm 3.22.0: with `!*.yaml` in .helmignore, a chart renders nothing, with exit code 0: a negated line takes everything that it does not match out of the chart.
#
# Guess before it was run, from the documentation: `*.md` and `!README.md` leave out all .md files but README.md, and nothing else, as in a .gitignore: Helm's documentation of the file says that it supports
# "negation (prefixed with !)". Further down, the same page says that "!" is no special leading sequence; that would be a pattern that matches nothing.
# Seen: with these two lines, `helm template` ends with 1, "Chart.yaml file is missing", though it is there. With `*.md` and `!*.yaml` it ends with 0 and prints nothing, `helm lint` passes, and the package has
# Chart.yaml and values.yaml alone: the folder templates does not match. What an earlier line ignored stays ignored. With `*.md` alone, everything but the .md files is there.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v3.22.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN=$work/bin go install "helm.sh/helm/v3/cmd/helm@$VERSION" 2> build || { cat build; exit 1; }
mkdir -p chart/templates
printf 'apiVersion: v2\nname: shown\nversion: 0.1.0\n' > chart/Chart.yaml
echo 'a: 1' > chart/values.yaml
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shown}\n' > chart/templates/one.yaml
touch chart/README.md chart/NOTES.md
look() { # LINE...: exit code and objects of `template`, exit code of `lint`, names in the package
  printf '%s\n' "$@" > chart/.helmignore
  bin/helm template chart > rendered 2> error && code=0 || code=$?
  bin/helm lint chart > linted 2>&1 && lint=0 || lint=$?
  rm -f ./*.tgz
  bin/helm package chart > packed 2>&1 && names=$(tar tf shown-0.1.0.tgz | sed 's|^shown/||' | sort | paste -sd ' ') || names=none
  echo "template $code $(grep -c '^kind:' rendered || :), lint $lint, package: $names $(cat error)"; }
plain=$(look '*.md'); yaml=$(look '*.md' '!*.yaml'); readme=$(look '*.md' '!README.md')
printf 'helm %s, *.md: %s\n*.md, !*.yaml: %s\n*.md, !README.md: %s\n' "$VERSION" "$plain" "$yaml" "$readme"
[ "$plain" = 'template 0 1, lint 0, package: .helmignore Chart.yaml templates/one.yaml values.yaml ' ] &&
  [ "$yaml" = 'template 0 0, lint 0, package: Chart.yaml values.yaml ' ] &&
  [ "$readme" = 'template 1 0, lint 1, package: none Error: Chart.yaml file is missing' ]
