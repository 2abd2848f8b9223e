#!/bin/bash
# mtools 4.0.32 (Debian 12): mcopy writes `./a:b` to a FAT volume as `b`, and `dot.` as `dot`, in silence and with exit code 0.
#
# Guess before it was run: a name that FAT cannot have is refused, as the colon of a short argument is taken for a drive letter; or the
# character is replaced by `_`, as in short names.
# Seen: `mcopy ./a:b ::/` takes the text before the last colon for a drive, even after a path, and writes `b`. A dot or space at the end is dropped
# (`dot.` becomes `dot`, `sp ` becomes `sp`). The exit code is 0 and there is no message: a loop that copies a folder to a stick writes other names,
# and two files may become one. `q?` is refused with exit code 1.
# Needs dpkg, dosfstools and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION='4.0.33-1+really4.0.32-1'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "mtools=$VERSION" dosfstools
for deb in *.deb; do dpkg-deb -x "$deb" root; done
mkdir files
cd files
for name in a:b dot. 'sp ' plain; do echo "$name" > "$name"; done
truncate -s 8M ../fat.img
../root/sbin/mkfs.vfat ../fat.img > /dev/null
copy() { code=0; said=$(../root/usr/bin/mtools -c mcopy -i ../fat.img "$1" ::/ < /dev/null 2>&1) || code=$?; echo "$code$said"; }
results="$(copy ./a:b) $(copy dot.) $(copy 'sp ') $(copy plain)"
echo x > 'q?'
refused=$(copy 'q?')
names=$(../root/usr/bin/mtools -c mdir -b -i ../fat.img ::/ | tr '\n' ' ')
echo "mtools $VERSION: exit codes $results; names on the volume: $names; q?: ${refused:0:1}"
[ "$results" = '0 0 0 0' ] && [ "$names" = '::/b ::/dot ::/sp ::/plain ' ] && [ "${refused:0:1}" = 1 ]
