#!/bin/bash
# crane 0.21.6: a second `pull` of a tag that moved leaves two images of one name in the OCI layout; regctl then reads the old one, oras the new one.
#
# Guess before it was run: `crane pull --format=oci --annotate-ref` moves the name in the layout as the tag moved in the registry; or readers refuse
# a name that stands for two images.
# Seen: index.json has two entries with the same `org.opencontainers.image.ref.name`. regctl takes the first, oras the last, both with exit code 0: of
# one layout, one name and one moment, one tool ships the image of last month.
# Needs Go, curl and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
CRANE=v0.21.6 REGCTL=v0.11.7 ORAS=v1.3.3
work=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT
export GOBIN=$work/bin CGO_ENABLED=0
cd "$work"
for one in "github.com/google/go-containerregistry/cmd/crane@$CRANE" "github.com/google/go-containerregistry/cmd/registry@$CRANE" \
  "github.com/regclient/regclient/cmd/regctl@$REGCTL" "oras.land/oras/cmd/oras@$ORAS"; do
  go install -trimpath -ldflags='-s -w' "$one" 2> build || { cat build; exit 1; }
done
for port in 15872 25872 35872; do
  bin/registry -port "$port" > log 2>&1 & server=$!
  for _ in $(seq 100); do curl -sf "http://127.0.0.1:$port/v2/" > /dev/null && break 2; sleep 0.1; done
  kill $server 2> /dev/null || true
done
tag=127.0.0.1:$port/app:1
for text in old new; do
  echo "$text" > file
  tar cf layer.tar file
  bin/crane append --oci-empty-base --new_layer layer.tar --new_tag "$tag" 2> said
  bin/crane pull --format=oci --annotate-ref "$tag" layout
  bin/crane digest "$tag" > "$text"
done
names=$(grep -c "ref.name\": \"$tag\"" layout/index.json)
sed -i "s|$tag|app|" layout/index.json
which() { [ "$1" = "$(cat old)" ] && echo old || { [ "$1" = "$(cat new)" ] && echo new || echo neither; }; }
regctl=$(which "$(bin/regctl image digest ocidir://layout:app)")
oras=$(which "$(bin/oras manifest fetch --descriptor --oci-layout layout:app | sed 's/.*"digest":"\([^"]*\)".*/\1/')")
echo "crane $CRANE: entries of the name $names; regctl $REGCTL reads the $regctl image, oras $ORAS the $oras one"
[ "$names $regctl $oras" = '2 old new' ]
