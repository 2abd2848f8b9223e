#!/bin/bash
# apt-ftparchive of apt-utils 2.6.2 (Debian 12): with `--db`, a package that was replaced by one of another size keeps the size and hashes of the old one.
#
# Guess before it was run: what the database keeps for a file counts while both its size and its time of change are the same, as for make, rsync or tar.
# Seen: only the time is compared. A .deb that is copied over an older one with the same time (SOURCE_DATE_EPOCH, `cp -p` from a build that sets it, a checkout
# whose files all have one time) is listed with Size and SHA256 of the file that is gone, exit code 0: no host
# can install it.
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=2.6.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "apt-utils=$VERSION" libdb5.3
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$(dirname "$(find root -name 'libdb-5.3.so')")
export LD_LIBRARY_PATH
mkdir pool
make() { # SIZE
  rm -rf tree
  mkdir -p tree/DEBIAN tree/opt
  printf 'Package: vision\nVersion: 1.0\nArchitecture: all\nMaintainer: a <a@example.com>\nDescription: vision\n' > tree/DEBIAN/control
  head -c "$1" /dev/urandom > tree/opt/vision
  dpkg-deb --root-owner-group --build tree pool/vision_1.0_all.deb > /dev/null
  touch -d @1700000000 pool/vision_1.0_all.deb
}
listed() { root/usr/bin/apt-ftparchive "$@" packages pool | sed -n 's/^Size: //p'; }
make 1000
first=$(listed --db cache)
make 50000
code=0; second=$(listed --db cache) || code=$?
without=$(listed)
size=$(stat -c %s pool/vision_1.0_all.deb)
echo "apt-utils $VERSION: listed first $first, after the replacement $second (exit code $code), without --db $without; the file has $size bytes"
[ "$second" = "$first" ] && [ "$code" = 0 ] && [ "$without" = "$size" ] && [ "$size" != "$first" ]
