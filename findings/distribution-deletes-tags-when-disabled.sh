#!/bin/bash
# distribution 3.1.0 (registry): with `storage.delete.enabled: false` a tag is deleted all the same; a manifest by its digest is not.
#
# Guess before it was run: as with 2.8, where DELETE of either answers 405 UNSUPPORTED until `delete.enabled` is true.
# Seen: DELETE of /manifests/<tag> answers 202 and the tag is gone; DELETE of /manifests/<digest> answers 405. A tool that removes old tags succeeds
# on a registry whose operator never allowed deletion, and its content stays until a garbage collection with --delete-untagged, which
# then takes it.
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
[ "$(put one 2) $(put two 2)" = '201 201' ]
by_tag=$(status -X DELETE "$url/manifests/one")
tags=$(curl -sf "$url/tags/list")
by_digest=$(status -X DELETE "$url/manifests/sha256:$(manifest 2 | sha256sum | cut -d' ' -f1)")
echo "distribution $VERSION, deletes not enabled: DELETE of a tag $by_tag, then $tags; DELETE of a digest $by_digest"
[ "$by_tag" = 202 ] && [ "$tags" = '{"name":"app","tags":["two"]}' ] && [ "$by_digest" = 405 ]
