#!/bin/bash
# go-containerregistry 0.21.6, cmd/registry: a list of tags that `n` cuts has no Link header, and `last` beyond the last tag begins again.
#
# Guess before it was run: a list that `n` cuts has a Link header to the rest, as the OCI distribution specification asks ("Listing Tags"),
# and a request with `last=` the last tag answers an empty list.
# Seen: with tags a, b and c, `?n=2` answers ["a","b"] without a Link header; `?n=2&last=b` answers ["c"]; `?n=2&last=c` answers
# ["a","b"], the beginning. A client that follows Link alone loses tags in silence, and one that asks on with `last` until a page is empty
# never ends.
# Needs Go, curl and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v0.21.6
work=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT
GOBIN=$work/bin go install "github.com/google/go-containerregistry/cmd/registry@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
for port in 15871 25871 35871; do
  "$work/bin/registry" -port "$port" > "$work/log" 2>&1 & server=$!
  for _ in $(seq 50); do curl -sf "http://127.0.0.1:$port/v2/" > /dev/null && break 2; sleep 0.1; done
  kill $server 2> /dev/null || true
done
url=http://127.0.0.1:$port/v2/app
push() { # TYPE REFERENCE BODY
  curl -sf -X PUT -H "Content-Type: $1" --data-binary "$3" "$url/manifests/$2"; }
config='{}'
digest=sha256:$(printf %s "$config" | sha256sum | cut -d' ' -f1)
curl -sf -X POST --data-binary "$config" -H 'Content-Type: application/octet-stream' "$url/blobs/uploads/?digest=$digest"
type=application/vnd.oci.image.manifest.v1+json
for tag in a b c; do
  push "$type" "$tag" "{\"schemaVersion\":2,\"mediaType\":\"$type\",\"config\":{\"mediaType\":\"application/vnd.oci.empty.v1+json\",\"digest\":\"$digest\",\"size\":2},\"layers\":[]}"
done
tags() { curl -sf -D "$work/headers" "$url/tags/list?$1" | sed 's/.*"tags":\([^}]*\).*/\1/'; }
first=$(tags n=2); grep -qi '^link:' "$work/headers" && link=yes || link=no
rest=$(tags 'n=2&last=b'); beyond=$(tags 'n=2&last=c')
echo "go-containerregistry $VERSION: n=2: $first, Link header: $link; last=b: $rest; last=c: $beyond"
[ "$first" = '["a","b"]' ] && [ "$link" = no ] && [ "$rest" = '["c"]' ] && [ "$beyond" = '["a","b"]' ]
