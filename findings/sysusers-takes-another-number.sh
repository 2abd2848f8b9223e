#!/bin/bash
# systemd-sysusers 252 (Debian 12): an account whose number is taken gets another one, and an account for which there is no number is not made, both with exit code 0.
#
# Guess before it was run: `u press 500` where another user has 500 ends non-zero. No guess was written down about a group with that number and a range with none left; systemd-sysusers(8), read
# afterwards, says "a non-zero failure code otherwise".
# Seen: with the user `other` at 500, and also with only a group at 500, press is made with 999 for user and group. With `r - 500-500` for the
# range and two accounts, the second is "No free group ID available for b." and is not made. The exit code is 0 each time.
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=252.38-1~deb12u1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && chmod 777 . && apt-get -qq download "systemd=$VERSION" "libsystemd-shared=$VERSION")
for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name 'libsystemd-shared-*.so')")
export LD_LIBRARY_PATH
program=$(find "$work/root" -name systemd-sysusers -type f)
accounts() { # PASSWD GROUP LINES: exit code, then the accounts that were made
  rm -rf "$work/host"
  mkdir -p "$work/host/etc"
  printf "root:x:0:0::/root:/bin/sh\n$1" > "$work/host/etc/passwd"
  printf "root:x:0:\n$2" > "$work/host/etc/group"
  printf "$3" > "$work/plant.conf"
  code=0; "$program" --root="$work/host" "$work/plant.conf" 2> "$work/said" || code=$?
  echo "$code $(cut -d: -f1,3 "$work/host/etc/passwd" | grep -v root | paste -sd ' ')"; }
user=$(accounts 'other:x:500:500::/:/bin/sh\n' 'other:x:500:\n' 'u press 500\n')
group=$(accounts '' 'other:x:500:\n' 'u press 500\n')
range=$(accounts '' '' 'r - 500-500\nu a -\nu b -\n')
echo "systemd $VERSION: number of another user: $user; of a group: $group; no number left: $range, $(grep -c 'No free' "$work/said") message"
[ "$user" = '0 other:500 press:999' ] && [ "$group" = '0 press:999' ] && [ "$range" = '0 a:500' ]
