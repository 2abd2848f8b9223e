#!/bin/bash
# regctl 0.11.7: a copy into an OCI layout deletes every blob there that index.json does not lead to, with exit code 0.
#
# Guess before it was run: `image copy` adds what it copies; blobs that it did not write stay, as with skopeo, crane and oras.
# Seen: with a blob in the layout that its index does not name, `regctl image copy` of one tag to another name deletes it, without a word. A layout may hold such
# blobs: one that another program writes at this moment has blobs before its index names them, and a format of one's own may name them elsewhere.
# Needs Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v0.11.7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOBIN=$work/bin CGO_ENABLED=0
go install -trimpath -ldflags='-s -w' "github.com/regclient/regclient/cmd/regctl@$VERSION" 2> "$work/build" || { cat "$work/build"; exit 1; }
cd "$work"
mkdir -p layout/blobs/sha256
blob() { # writes standard input, prints its digest and size as JSON
  cat > blob
  digest=$(sha256sum blob | cut -d' ' -f1)
  cp blob "layout/blobs/sha256/$digest"
  printf '"digest":"sha256:%s","size":%s' "$digest" "$(wc -c < blob)"; }
config=$(printf '{}' | blob)
layer=$(printf 'hello' | blob)
type=application/vnd.oci.image.manifest.v1+json
manifest=$(printf '{"schemaVersion":2,"mediaType":"%s","artifactType":"text/plain","config":{"mediaType":"application/vnd.oci.empty.v1+json",%s},"layers":[{"mediaType":"text/plain",%s}]}' "$type" "$config" "$layer" | blob)
printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s",%s,"annotations":{"org.opencontainers.image.ref.name":"one"}}]}' "$type" "$manifest" > layout/index.json
echo '{"imageLayoutVersion":"1.0.0"}' > layout/oci-layout
printf 'of another program' | blob > other
before=$(ls layout/blobs/sha256 | wc -l)
code=0; bin/regctl image copy ocidir://layout:one ocidir://layout:two > said 2>&1 || code=$?
after=$(ls layout/blobs/sha256 | wc -l)
other=$(sed 's/.*sha256:\([0-9a-f]*\).*/\1/' other)
[ -e "layout/blobs/sha256/$other" ] && left=there || left=gone
echo "regctl $VERSION: exit code $code, blobs before $before and after $after, the other one is $left, said: $(tr '\n' ' ' < said)"
[ "$code $before $after $left" = '0 4 3 gone' ] && ! grep -qi delet said
