#!/bin/bash
# cpio of u-root 0.14.0 (Go): where files of a newc archive are hard links of each other, all but the last are extracted empty, with exit code 0.
#
# Guess before it was run: each reader extracts what GNU cpio wrote with the same content, hard links too, as BusyBox, bsdcpio and the kernel's initramfs do: the data of linked files is stored
# once, with the last name.
# Seen: of a, b and c with one content, a and b have 0 bytes and are no links of c. No message. An initramfs or a bundle of firmware with linked programs (BusyBox, kmod, Git) loses them when u-root's tool
# or package unpacks it and packs it again.
# Needs cpio of Debian 12 by dpkg and an apt source, Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v0.14.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download cpio busybox
for deb in *.deb; do dpkg-deb -x "$deb" root; done
GOBIN=$work/bin go install "github.com/u-root/u-root/cmds/core/cpio@$VERSION" 2> build || { cat build; exit 1; }
mkdir from gnu busybox u-root
echo text > from/a
ln from/a from/b
ln from/a from/c
(cd from && printf 'a\nb\nc\n' | ../root/bin/cpio --quiet -o -H newc > ../archive)
sizes() { (cd "$1" && stat -c %s a b c | paste -sd ' '); }
(cd gnu && ../root/bin/cpio --quiet -i < ../archive)
(cd busybox && ../root/bin/busybox cpio -i < ../archive 2> ../said)
code=0; (cd u-root && ../bin/cpio i < ../archive > ../said 2>&1) || code=$?
echo "bytes of a, b and c: GNU $(sizes gnu), BusyBox $(sizes busybox), u-root $VERSION $(sizes u-root), exit code $code, $(wc -l < said) lines of output"
[ "$(sizes gnu),$(sizes busybox),$(sizes u-root),$code" = '5 5 5,5 5 5,0 0 5,0' ]
