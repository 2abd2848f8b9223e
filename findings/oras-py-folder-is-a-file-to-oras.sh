#!/bin/bash
# oras 0.2.43 (PyPI): a folder that it pushes is pulled by oras 1.3.3 (Go) as one file with the name of the folder, with exit code 0.
#
# Guess before it was run: each program pulls a folder that the other pushed: both pack it as a tar with gzip, and the Go one says in an annotation, io.deis.oras.content.unpack, that a layer is one.
# Seen: oras-py writes no such annotation; the layer is called `tree` like the folder, and the Go program writes a file `tree`, which is a tar. What oras pushed,
# oras-py unpacks, as it unpacks its own. Where a folder `tree` is expected, nothing inside of it is found.
# Needs Go, the Go module proxy, curl, Python 3 with venv and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
PYTHON=0.2.43 GO=v1.3.3 REGISTRY=v0.21.6
work=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT
export GOBIN=$work/bin CGO_ENABLED=0
cd "$work"
for one in "oras.land/oras/cmd/oras@$GO" "github.com/google/go-containerregistry/cmd/registry@$REGISTRY"; do
  go install -trimpath -ldflags='-s -w' "$one" 2> build || { cat build; exit 1; }
done
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "oras==$PYTHON"
for port in 15873 25873 35873; do
  bin/registry -port "$port" > log 2>&1 & server=$!
  for _ in $(seq 100); do curl -sf "http://127.0.0.1:$port/v2/" > /dev/null && break 2; sleep 0.1; done
  kill $server 2> /dev/null || true
done
export at=127.0.0.1:$port/app
mkdir tree by-go by-python
echo a > tree/file
python() { own/bin/python -c "import os, oras.client; client = oras.client.OrasClient(insecure=True); client.$1"; }
python 'push(target=os.environ["at"] + ":python", files=["tree"])' > said
bin/oras push --plain-http "$at:go" tree > said
code=0; bin/oras pull --plain-http --output by-go "$at:python" > said || code=$?
python 'pull(target=os.environ["at"] + ":go", outdir="by-python")' > said
files() { (cd "$1" && find . -type f | paste -sd ' '); }
packed=$(tar tzf by-go/tree 2> /dev/null | grep -c file || true)
echo "oras-py $PYTHON pushed, oras $GO pulled (exit code $code): $(files by-go), a tar with the file: $packed; the other way: $(files by-python)"
[ "$code" = 0 ] && [ "$(files by-go)" = ./tree ] && [ "$packed" = 1 ] && [ "$(files by-python)" = ./tree/file ]
