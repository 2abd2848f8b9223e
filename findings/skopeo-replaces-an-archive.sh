#!/bin/bash
# skopeo 1.9.3 (Debian 12): a second `skopeo copy` into one `oci-archive:` replaces the archive; the image that was in it is gone, with exit code 0.
#
# Guess before it was run: `oci-archive:` is an OCI layout in a tar file (containers-transports(5)), so a second image of another name is added as in a layout of `oci:`,
# or refused as by `docker-archive:` ("doesn't support modifying existing images").
# Seen: after images `one` and `two` the archive has `two` alone. A loop that copies a list of images to one file leaves the last. `oci:` has both.
# Needs python3, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
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
python3 - << 'LAYOUT'
import hashlib, io, json, os, tarfile
os.makedirs('layout/blobs/sha256')
def blob(data, kind):
    name = hashlib.sha256(data).hexdigest()
    open('layout/blobs/sha256/' + name, 'wb').write(data)
    return {'mediaType': f'application/vnd.oci.image.{kind}', 'digest': 'sha256:' + name, 'size': len(data)}
packed = io.BytesIO()
tarfile.open(fileobj=packed, mode='w').close()
layer = blob(packed.getvalue(), 'layer.v1.tar')
config = blob(json.dumps({'architecture': 'amd64', 'os': 'linux', 'config': {}, 'rootfs': {'type': 'layers', 'diff_ids': [layer['digest']]}}).encode(), 'config.v1+json')
image = blob(json.dumps({'schemaVersion': 2, 'config': config, 'layers': [layer]}).encode(), 'manifest.v1+json')
json.dump({'schemaVersion': 2, 'manifests': [{**image, 'annotations': {'org.opencontainers.image.ref.name': 'app'}}]}, open('layout/index.json', 'w'))
json.dump({'imageLayoutVersion': '1.0.0'}, open('layout/oci-layout', 'w'))
LAYOUT
echo '{"default":[{"type":"insecureAcceptAnything"}]}' > policy.json
code=
for to in oci-archive:images.tar:one oci-archive:images.tar:two oci:folder:one oci:folder:two; do
  one=0; root/usr/bin/skopeo --policy policy.json copy --quiet oci:layout:app "$to" || one=$?
  code="$code$one"
done
names() { grep -o 'ref.name":"[a-z]*' | sed 's/.*"//' | paste -sd ' '; }
archive=$(tar xOf images.tar index.json | names); folder=$(names < folder/index.json)
echo "skopeo $VERSION, exit codes $code: images of the archive: $archive; of the folder: $folder"
[ "$code" = 0000 ] && [ "$archive" = two ] && [ "$folder" = 'one two' ]
