#!/bin/bash
# tar 7.5.23 (npm) and BusyBox 1.35.0 (Debian 12): a sparse file that GNU tar wrote is extracted with another name and other bytes, or left out, with success.
#
# Guess before it was run: an archive of `tar --sparse` with a disk image in it is extracted as the file that it was, as by Python, or it is an error.
# Seen: of --format=posix both write a folder GNUSparseFile.<n> with a file of 4,608 bytes, its map of holes and then its data, in place of 2 MiB. Of GNU tar's own format (the
# default of `tar --sparse`) npm's tar writes nothing at all and reports success, also with `strict: true`; BusyBox ends with 1. Python's tarfile reads both.
# Needs Node.js 20 or newer, npm, Python 3, GNU tar, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
NPM=7.5.23 BUSYBOX='1:1.35.0-4+deb12u1+b1'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "busybox=$BUSYBOX"
dpkg-deb -x ./busybox_*.deb root
npm install --silent --no-audit --no-fund "tar@$NPM" > installed 2>&1 || { cat installed; exit 1; }
truncate -s 2M disk.img
printf DATA | dd of=disk.img bs=1 seek=512K conv=notrunc 2> /dev/null
found() { (cd "$1" && find . -type f -printf '%f of %s bytes in %h') | sed 's|\./GNUSparseFile\.[0-9]*|GNUSparseFile|'; }
seen=''
for format in gnu posix; do
  tar --sparse --format=$format -cf $format.tar disk.img
  mkdir node-$format busybox-$format
  node -e 'require("tar").x({ file: process.argv[1], cwd: process.argv[2], strict: true }).then(() => process.exit(0), () => process.exit(1))' $format.tar node-$format && node=0 || node=1
  root/bin/busybox tar -xf $format.tar -C busybox-$format 2> said && busybox=0 || busybox=1
  python=$(python3 -c 'import sys, tarfile; print(tarfile.open(sys.argv[1]).extractfile("disk.img").read() == open("disk.img", "rb").read())' $format.tar)
  seen+="$format: npm $node $(found node-$format), BusyBox $busybox $(found busybox-$format), Python $python; "
done
echo "tar $NPM, BusyBox $BUSYBOX: $seen"
odd='disk.img of 4608 bytes in GNUSparseFile'
[ "$seen" = "gnu: npm 0 , BusyBox 1 , Python True; posix: npm 0 $odd, BusyBox 0 $odd, Python True; " ]
