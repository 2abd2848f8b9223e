#!/bin/bash
# distribution 3.1.0 (registry): a manifest whose descriptor has the wrong size of a blob is accepted.
#
# Guess before it was run: 400 MANIFEST_INVALID or SIZE_INVALID: the registry has the blob, so it knows its size, and SIZE_INVALID is in its list of errors.
# Seen: with a config of 2 bytes, a manifest that says `"size": 999` is stored with 201 and served as it is. Only the digest is looked up. A client
# that compares sizes finds the fault later. The same with 2.8.2 of Debian 12.
# Needs Go, curl and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v3.1.0
work=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT
GOBIN=$work/bin CGO_ENABLED=0 go install -trimpath -ldflags='-s -w' "github.com/distribution/distribution/v3/cmd/registry@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
for port in 15881 25881 35881; do
  cat > "$work/config.yml" <<CONFIG
version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $work/storage}, delete: {enabled: false}}
http: {addr: '127.0.0.1:$port'}
CONFIG
  "$work/bin/registry" serve "$work/config.yml" > "$work/log" 2>&1 & server=$!
  for _ in $(seq 100); do
    kill -0 $server 2> /dev/null || continue 2
    curl -sf "http://127.0.0.1:$port/v2/" > /dev/null && break 2
    sleep 0.1
  done
  kill $server 2> /dev/null || true
done
url=http://127.0.0.1:$port/v2/app
status() { curl -s -o "$work/body" -D "$work/headers" -w '%{http_code}' "$@"; }
type=application/vnd.oci.image.manifest.v1+json
digest=sha256:$(printf '{}' | sha256sum | cut -d' ' -f1)
place=$(curl -sf -X POST -D - -o /dev/null "$url/blobs/uploads/" | tr -d '\r' | sed -n 's/^[Ll]ocation: //p')
curl -sf -X PUT -H 'Content-Type: application/octet-stream' --data-binary '{}' "$place&digest=$digest"
manifest() { # SIZE
  printf '{"schemaVersion":2,"mediaType":"%s","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"%s","size":%s},"layers":[]}' "$type" "$digest" "$1"; }
put() { # TAG SIZE
  status -X PUT -H "Content-Type: $type" --data-binary "$(manifest "$2")" "$url/manifests/$1"; }
stored=$(put wrong 999)
served=$(curl -sf -H "Accept: $type" "$url/manifests/wrong" | sed 's/.*"size":\([0-9]*\).*/\1/')
length=$(curl -sf "$url/blobs/$digest" | wc -c)
echo "distribution $VERSION: a config of $length bytes that the manifest says has 999: $stored; served with size $served"
[ "$stored" = 201 ] && [ "$served" = 999 ] && [ "$length" = 2 ]
