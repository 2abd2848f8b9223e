#!/bin/bash
# skopeo 1.9.3 (Debian 12): `skopeo copy --all` from one OCI layout to another writes an index of another digest, without the `artifactType` of its entries.
#
# Guess before it was run: nothing is converted or signed, so the copy has the same bytes and the same digest; what the program does not know stays.
# Seen: the index is read into a structure and written again: `artifactType` of a descriptor is gone, exit code 0, and the digest is another one. The copy
# has nothing under the digest that somebody pinned or signed. With `--preserve-digests` the copy is refused: "Manifest list must be converted".
# Needs curl, python3, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=1.9.3+ds1-1+b10
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "skopeo=$VERSION" libgpgme11 libassuan0 libdevmapper1.02.1
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$(dirname "$(find root -name 'libgpgme.so.11')"):$(dirname "$(find root -name 'libdevmapper.so*' | head -n 1)")
export LD_LIBRARY_PATH
python3 - <<'LAYOUT'
import hashlib, json, os
os.makedirs('layout/blobs/sha256')
def blob(data, **descriptor):
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    name = hashlib.sha256(data).hexdigest()
    open('layout/blobs/sha256/' + name, 'wb').write(data)
    return {**descriptor, 'digest': 'sha256:' + name, 'size': len(data)}
MANIFEST, INDEX = ('application/vnd.oci.image.%s.v1+json' % kind for kind in ('manifest', 'index'))
config = blob(b'{}', mediaType='application/vnd.oci.empty.v1+json')
layer = blob(b'hello\n', mediaType='text/plain')
manifest = blob({'schemaVersion': 2, 'mediaType': MANIFEST, 'artifactType': 'application/vnd.example.app', 'config': config, 'layers': [layer]},
    mediaType=MANIFEST, artifactType='application/vnd.example.app')
index = blob({'schemaVersion': 2, 'mediaType': INDEX, 'manifests': [manifest]},
    mediaType=INDEX, annotations={'org.opencontainers.image.ref.name': 'all'})
json.dump({'schemaVersion': 2, 'manifests': [index]}, open('layout/index.json', 'w'))
json.dump({'imageLayoutVersion': '1.0.0'}, open('layout/oci-layout', 'w'))
LAYOUT
echo '{"default":[{"type":"insecureAcceptAnything"}]}' > policy.json
skopeo() { root/usr/bin/skopeo --policy policy.json "$@"; }
code=0; skopeo copy --quiet --all oci:layout:all oci:copied:all || code=$?
kept=0; why=$(skopeo copy --quiet --all --preserve-digests oci:layout:all oci:kept:all 2>&1) || kept=$?
digest() { skopeo inspect --raw "oci:$1:all" | sha256sum | cut -c1-12; }
types() { skopeo inspect --raw "oci:$1:all" | grep -c artifactType || true; }
echo "skopeo $VERSION: exit code $code; digests $(digest layout), copied $(digest copied); artifactType in the copy: $(types copied); with --preserve-digests $kept"
[ "$code" = 0 ] && [ "$(digest layout)" != "$(digest copied)" ] && [ "$kept" = 1 ] && [[ $why == *'must be converted'* ]] && [ "$(types layout) $(types copied)" = '1 0' ]
