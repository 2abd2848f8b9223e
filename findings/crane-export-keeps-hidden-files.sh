#!/bin/bash
# crane 0.21.6: `crane export` has files that a layer hides with an opaque whiteout, and puts a hard link before its file, so that tar cannot unpack the result; exit code 0.
#
# Guess before it was run: the exported file system is the one that a container of the image has: an opaque whiteout hides what lower layers have in its folder (OCI image specification,
# layer, "Opaque Whiteout"), and `tar -x` unpacks it. No guess was written down about hard links.
# Seen: conf/old of the first layer is in the export beside conf/new of the second, which replaced the whole folder. A plain whiteout works. A hard link of the second layer to a file of the first comes
# before that file: "Cannot hard link to 'file': No such file or directory", exit code 2 of tar.
# Needs Go, the Go module proxy, GNU tar and Python 3. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v0.21.6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN=$work/bin go install "github.com/google/go-containerregistry/cmd/crane@$VERSION" 2> build || { cat build; exit 1; }
mkdir -p one/conf two/conf
touch one/conf/old one/gone one/file two/conf/.wh..wh..opq two/conf/new two/.wh.gone
tar cf one.tar -C one conf gone file
ln one/file one/link
tar cf two.tar -C two conf .wh.gone
python3 -c "
import tarfile
with tarfile.open('two.tar', 'a') as layer:
    link = tarfile.TarInfo('link')
    link.type, link.linkname = tarfile.LNKTYPE, 'file'
    layer.addfile(link)"
bin/crane append --oci-empty-base --new_layer one.tar --new_layer two.tar --new_tag example.invalid/app:1 --output image.tar > appended 2>&1 || { cat appended; exit 1; }
bin/crane export - exported.tar < image.tar
names=$(tar tf exported.tar | paste -sd ' ')
mkdir out
LC_ALL=C tar xf exported.tar -C out 2> error && code=0 || code=$?
echo "crane $VERSION: $names; tar: $code, $(head -1 error)"
[ "$names" = 'conf conf/new link conf/old file' ] && [ "$code" = 2 ] && grep -q "Cannot hard link to 'file'" error
