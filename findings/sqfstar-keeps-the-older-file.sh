#!/bin/bash
# sqfstar of squashfs-tools 4.5.1 (Debian 12): where a tar has a file twice, the image gets the older one, with exit code 0.
#
# Guess before it was run: the last one counts, as for every program that extracts a tar: `tar -r` and `tar -u` append the new version of a file, and so does a layer
# that is concatenated to another.
# Seen: "etc/plant.conf already exists in the tar file, ignoring", exit code 0, and the image has the old text; `tar -x` of the same archive gives the new one.
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION='1:4.5.1-1'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "squashfs-tools=$VERSION" liblzo2-2
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$work/$(dirname "$(find root -name 'liblzo2.so.2')")
export LD_LIBRARY_PATH
mkdir etc extracted
echo old > etc/plant.conf
tar -cf system.tar etc/plant.conf
echo new > etc/plant.conf
tar -rf system.tar etc/plant.conf
code=0; root/usr/bin/sqfstar -quiet -no-progress system.squashfs < system.tar 2> said || code=$?
tar -xf system.tar -C extracted
inside=$(root/usr/bin/unsquashfs -cat system.squashfs etc/plant.conf)
echo "squashfs-tools $VERSION: exit code $code, $(cat said); in the image $inside, by tar -x $(cat extracted/etc/plant.conf)"
[ "$code $inside $(cat extracted/etc/plant.conf)" = '0 old new' ]
