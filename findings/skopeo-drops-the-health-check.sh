#!/bin/bash
# skopeo 1.9.3 (Debian 12): a copy of a `docker-archive:` to an OCI layout loses the health check, the shell and the ONBUILD lines of the image, with exit code 0.
#
# Guess before it was run: the configuration of the image, with Healthcheck, is the same afterwards: its fields are the same in both formats, and the OCI image specification allows others in it
# (config, "Any extra fields in the Image JSON struct are considered implementation specific").
# Seen: Cmd and Labels are there, Healthcheck, Shell and OnBuild are not. No warning. A container that Podman starts from the copy has no health check, so what waits for "healthy", or restarts
# on failure, does nothing. A copy from a layout to a `docker-archive:` has all three.
# Needs dpkg, python3 and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
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
python3 - << 'ARCHIVE'
import hashlib, json, tarfile
tarfile.open('layer.tar', 'w').close()
layer = 'sha256:' + hashlib.sha256(open('layer.tar', 'rb').read()).hexdigest()
config = {'Cmd': ['/app'], 'Labels': {'a': 'b'}, 'Healthcheck': {'Test': ['CMD', '/app', 'check']}, 'Shell': ['/bin/ash', '-c'], 'OnBuild': ['RUN true']}
json.dump({'architecture': 'amd64', 'os': 'linux', 'config': config, 'rootfs': {'type': 'layers', 'diff_ids': [layer]}}, open('config.json', 'w'))
json.dump([{'Config': 'config.json', 'RepoTags': ['registry.example/app:1'], 'Layers': ['layer.tar']}], open('manifest.json', 'w'))
with tarfile.open('image.tar', 'w') as archive:
    for name in ('config.json', 'layer.tar', 'manifest.json'):
        archive.add(name)
ARCHIVE
echo '{"default":[{"type":"insecureAcceptAnything"}]}' > policy.json
fields() { root/usr/bin/skopeo inspect --config --raw "$1" | python3 -c 'import json, sys; print(*sorted(json.load(sys.stdin)["config"]))'; }
before=$(fields docker-archive:image.tar)
root/usr/bin/skopeo --policy policy.json copy --quiet docker-archive:image.tar oci:layout:app && code=0 || code=$?
after=$(fields oci:layout:app)
echo "skopeo $VERSION: $before; after the copy ($code): $after"
[ "$before $code $after" = 'Cmd Healthcheck Labels OnBuild Shell 0 Cmd Labels' ]
