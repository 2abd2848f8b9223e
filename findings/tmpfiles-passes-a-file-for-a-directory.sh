#!/bin/bash
# systemd-tmpfiles 252 (Debian 12): a directory that cannot be made, because a file has its path, ends with exit code 0.
#
# Guess before it was run: `d /run/press` where /run/press is a file ends non-zero; an unknown user ends it with 65. systemd-tmpfiles(8), read afterwards, has 73 for a line that is valid and cannot be
# carried out.
# Seen: a warning, "already exists and is not a directory", and exit code 0. The file stays with the mode that it had, and the program that needs the directory fails later. A line with
# an unknown user ends with 65, and the lines after it are carried out.
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=252.38-1~deb12u1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && chmod 777 . && apt-get -qq download "systemd=$VERSION" "libsystemd-shared=$VERSION")
for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name 'libsystemd-shared-*.so')")
export LD_LIBRARY_PATH
program=$(find "$work/root" -path '*bin/systemd-tmpfiles' -type f)
mkdir -p "$work/host/run" "$work/host/etc"
printf 'root:x:0:0::/root:/bin/sh\n' > "$work/host/etc/passwd"
printf 'root:x:0:\n' > "$work/host/etc/group"
echo text > "$work/host/run/press"
create() { printf "$1" > "$work/press.conf"; code=0; "$program" --create --root="$work/host" "$work/press.conf" 2> "$work/said" || code=$?; echo "$code"; }
file=$(create 'd /run/press 0750\n')
said=$(grep -c 'already exists and is not a directory' "$work/said" || true)
user=$(create 'd /run/a 0750 nobody-here\nd /run/b 0750\n')
echo "systemd $VERSION: a directory where a file is: exit code $file, $said warning; $(stat -c '%F %a' "$work/host/run/press"); unknown user: $user, then $(ls "$work/host/run" | paste -sd ' ')"
[ "$file $said $user" = '0 1 65' ] && [ "$(stat -c %F "$work/host/run/press")" = 'regular file' ] && [ -d "$work/host/run/b" ]
