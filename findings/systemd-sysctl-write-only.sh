#!/bin/bash
# systemd-sysctl of systemd 252.38-1~deb12u1 (Debian 12): a parameter that can only be written is never set from sysctl.d, at boot in silence.
#
# Guess before it was run: a line of sysctl.d(5) for a write-only parameter (mode 0200: net.ipv4.route.flush, vm.compact_memory) is written as
# any other, as `sysctl -w` of procps does, and `--strict` ends with 0.
# Seen: systemd-sysctl opens each parameter for reading and writing. The kernel refuses that to root too, because such a parameter has no mode
# for reading. With --strict it ends with 1: "Couldn't write '1' to 'net/ipv4/route/flush': Permission denied". Without, as at boot, it
# says nothing, ends with 0 and has set nothing. The same value written with a plain write-only open is taken. 257.13-1~deb13u1 refuses too.
# Needs root, a Linux kernel with IPv4, dpkg and an apt source of Debian 12; it writes in a network namespace of its own. Exit 0 while the
# behaviour is as described, 1 otherwise.
set -eu
VERSION=252.38-1~deb12u1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && chmod 777 . && apt-get -qq download "systemd=$VERSION" "libsystemd-shared=$VERSION")
for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name 'libsystemd-shared-*.so')")
export LD_LIBRARY_PATH
program=$(find "$work/root" -name systemd-sysctl -type f)
parameter=/proc/sys/net/ipv4/route/flush
echo 'net.ipv4.route.flush = 1' > "$work/flush.conf"
run() { code=0; said=$(unshare -n "$program" "$@" "$work/flush.conf" 2>&1) || code=$?; echo "$code $said"; }
mode=$(stat -c %a "$parameter")
strict=$(run --strict)
boot=$(run)
plain=0; unshare -n sh -c "printf 1 > $parameter" || plain=$?
echo "mode $mode; --strict: $strict; as at boot: $boot; written plainly: $plain"
[ "$mode" = 200 ] && [ "$plain" = 0 ] &&
  [ "$strict" = "1 Couldn't write '1' to 'net/ipv4/route/flush': Permission denied" ] &&
  [ "$boot" = "0 " ]
