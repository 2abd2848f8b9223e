#!/bin/bash
# systemd 252 (Debian 12): a calendar timer elapses on no instant of the second pass of an hour that the clock repeats, and not at all on a day whose time the clock skips.
#
# Guess before it was run: `OnCalendar=*-*-* 02:30:00 Europe/Berlin` elapses once on each day; on 28 March 2027, which has no 02:30, at 03:00 or 03:30.
# `*:0/15` elapses every fifteen minutes whatever the clock does.
# Seen: after 27 March 02:30 comes 29 March: a daily backup at 02:30 has one night without. `*:0/15 Europe/Berlin` is silent for 75 minutes on 31
# October 2027, from 02:45 of summer time to 03:00 of winter time, because only one instant has each name; `hourly` in a local time zone misses an hour in
# the same way. In UTC both are regular. 257.13-1~deb13u1 does the same.
# Needs tzdata, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=252.38-1~deb12u1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && chmod 777 . && apt-get -qq download "systemd=$VERSION" "libsystemd-shared=$VERSION")
for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name 'libsystemd-shared-*.so')")
export LD_LIBRARY_PATH TZ=UTC LC_ALL=C
elapses() { # FROM EXPRESSION
  "$work/root/usr/bin/systemd-analyze" calendar --base-time="$1" --iterations=2 "$2" | sed -nE 's/.*(elapse|#2): ... (.*):00 UTC/\2/p' | paste -sd ,; }
spring=$(elapses '2027-03-27 01:00 UTC' '*-*-* 02:30:00 Europe/Berlin')
autumn=$(elapses '2027-10-31 00:40 UTC' '*:0/15 Europe/Berlin')
regular=$(elapses '2027-10-31 00:40 UTC' '*:0/15 UTC')
echo "systemd $VERSION: daily at 02:30 $spring; every 15 minutes $autumn, with UTC $regular"
[ "$spring" = '2027-03-27 01:30,2027-03-29 00:30' ] && [ "$autumn" = '2027-10-31 00:45,2027-10-31 02:00' ] && [ "$regular" = '2027-10-31 00:45,2027-10-31 01:00' ]
