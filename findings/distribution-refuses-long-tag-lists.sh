#!/bin/bash
# distribution 3.1.0 (registry): a list of tags with `n` above 1000 is refused with 400, where 2.8 answers all of them.
#
# Guess before it was run: the registry answers at most its own maximum and a Link header to the rest, as the OCI distribution specification allows
# ("Listing Tags"); or it ignores `n` where it is larger than what there is.
# Seen: `tags/list?n=1000` answers 200, `?n=1001` answers 400 PAGINATION_NUMBER_INVALID for a repository of one tag. 1000 is
# catalog.maxentries, a setting of the catalogue, which the documentation names for the catalogue alone.
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
[ "$(put one 2)" = 201 ]
most=$(status "$url/tags/list?n=1000")
more=$(status "$url/tags/list?n=1001")
why=$(sed 's/.*"code":"\([A-Z_]*\)".*/\1/' "$work/body")
echo "distribution $VERSION: n=1000 $most; n=1001 $more $why"
[ "$most" = 200 ] && [ "$more" = 400 ] && [ "$why" = PAGINATION_NUMBER_INVALID ]
