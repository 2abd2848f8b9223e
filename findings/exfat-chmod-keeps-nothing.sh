#!/bin/bash
# exfat-fuse 1.3.0+git20220115 (Debian 12): chmod of a file on exFAT exits with 0 and changes nothing; chown to the owner that the mount has
# passes, too, and to another one fails.
#
# Guess before it was run: chmod fails with EPERM, as chown does, since exFAT has no modes.
# Seen: `chmod 600` exits with 0 and the file still has 777, the mode of the mount; `chown nobody` is "Operation not permitted". So a program that
# trusts the exit code has set nothing, and one that compares modes finds a difference after each correction. With `fmask=0133` every file has 644.
# Two names that differ by case alone are one file: `cat NAME` reads what was written as `name`. Needs root, dpkg, loop devices, FUSE, and an apt source of Debian 12.
# Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION='1.3.0+git20220115-2'
work=$(mktemp -d)
loop=
trap 'umount "$work/mnt" 2> /dev/null || true; [ -z "$loop" ] || losetup -d "$loop"; rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "exfat-fuse=$VERSION" exfatprogs libfuse2
for deb in *.deb; do dpkg-deb -x "$deb" root; done
libraries=$(dirname "$(find "$work/root" -name 'libfuse.so.2')")
truncate -s 64M image
root/usr/sbin/mkfs.exfat image > /dev/null
loop=$(losetup --find --show image)
mkdir mnt
modes() {
  LD_LIBRARY_PATH=$libraries root/sbin/mount.exfat-fuse "$@" "$loop" mnt > /dev/null 2>&1
  echo text > mnt/name
  code=0; chmod 600 mnt/name || code=$?
  owner=0; chown nobody mnt/name 2> /dev/null || owner=$?
  echo "chmod $code, mode $(stat -c %a mnt/name), chown $owner, $(cat mnt/NAME)"
  umount mnt
}
plain=$(modes)
masked=$(modes -o fmask=0133)
echo "exfat-fuse $VERSION: $plain; with fmask=0133: $masked"
[ "$plain" = 'chmod 0, mode 777, chown 1, text' ] && [ "$masked" = 'chmod 0, mode 644, chown 1, text' ]
