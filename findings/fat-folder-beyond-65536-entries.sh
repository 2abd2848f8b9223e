#!/bin/bash
# mtools 4.0.32 and dosfstools 4.2 (Debian 12): a folder of FAT32 with more than 65,536 entries is written and called clean.
#
# Guess before it was run: mcopy refuses the name with which a folder would grow beyond 2 MiB (65,536 entries of 32 bytes, the limit of
# Microsoft's FAT32 specification, at which Linux and Windows fail with "no space"), or fsck.fat reports such a folder.
# Seen: 10,922 names of 64 hex digits take 6 entries each and fill the folder's 4,096 clusters of 512 bytes; mcopy writes the next name
# into a 4,097th, and fsck.fat counts it and finds nothing wrong. A stick that was filled and checked so has files that every reader finds,
# but no kernel writes another one into that folder.
# Needs apt-get for Debian 12 packages, and xargs. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download mtools dosfstools > /dev/null 2>&1
for deb in ./*.deb; do dpkg-deb --extract "$deb" root; done
versions=$(ls ./*.deb | sed 's|^\./||; s/_amd64.*//' | tr '\n' ' ')
export MTOOLS_SKIP_CHECK=1
mcopy=$work/root/usr/bin/mtools
mkdir names
truncate --size=200M image
"$(find root -name mkfs.fat)" -F 32 -s 1 image > /dev/null
"$mcopy" -c mmd -i image ::blobs
for n in $(seq 1 10923); do echo "$n" | sha256sum | cut -c1-64; done > list
(cd names && xargs touch < ../list)
head -n 10922 list | sed "s|^|names/|" | xargs -n 3000 sh -c '"$0" -c mcopy -i image "$@" ::blobs/' "$mcopy"
clusters() { "$(find root -name fsck.fat)" -n image | sed -n 's/.* files, \([0-9]*\)\/.*/\1/p'; }
full=$(clusters)
beyond=written
"$mcopy" -c mcopy -i image "names/$(tail -n 1 list)" ::blobs/ || beyond=refused
"$(find root -name fsck.fat)" -n image > check && clean=yes || clean=no
more=$(clusters)
echo "$versions: 10922 names: $full clusters; one more: $beyond, $more clusters; fsck.fat finds it clean: $clean"
[ "$full" = 4097 ] && [ "$beyond" = written ] && [ "$more" = 4098 ] && [ "$clean" = yes ]
