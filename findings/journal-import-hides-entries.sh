#!/bin/bash
# systemd-journal-remote 252 (Debian 12): of two exports of one boot that are imported one after the other, `journalctl --since` finds only a part.
#
# Guess before it was run: exports of two units (`journalctl -u a -o export`, then of b) become one file in which `--since` shows every entry of that time or later,
# and which `journalctl --verify` passes.
# Seen: exit code 0, and all entries are in the file, in the order of the import. `--since` searches by bisection, as if times only grew: of entries from 0 to 95
# seconds, `--since` 50 shows those of b alone, and `--since` 20 also b's of 5 and 15. `--verify` calls the file corrupt ("Entry timestamp out of
# synchronization"). So two exports need a file each, which `journalctl --directory` merges by time.
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=252.38-1~deb12u1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "systemd=$VERSION" "libsystemd-shared=$VERSION" "systemd-journal-remote=$VERSION" libmicrohttpd12
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$(find root -name '*.so.*' -o -name 'libsystemd-shared-*.so' | sed 's|/[^/]*$||' | sort -u | paste -sd :)
export LD_LIBRARY_PATH
export_of() { # UNIT SECONDS...
  for second in "${@:2}"; do
    printf '__REALTIME_TIMESTAMP=%s\n__MONOTONIC_TIMESTAMP=%s\n_BOOT_ID=0123456789abcdef0123456789abcdef\nMESSAGE=%s\n\n' \
      "$((1700000000 + second))000000" "${second}000000" "$1$second"
  done
}
mkdir apart
remote=$(find root -name systemd-journal-remote -type f -perm -u+x -path '*/systemd/*' | head -n 1)
export_of a $(seq 10 10 90) > a
export_of b $(seq 5 10 95) > b
code=0; cat a b | "$remote" -o both.journal - 2> said || code=$?
"$remote" -o apart/a.journal a 2> said
"$remote" -o apart/b.journal b 2> said
journalctl=$(find root -name journalctl -path "*/bin/*")
since() { "$journalctl" -q -o cat --since "@$((1700000000 + $1))" "${@:2}" | paste -sd ' '; }
at50=$(since 50 --file both.journal)
at80=$(since 80 --directory apart)
at20=$(since 20 --file both.journal | tr ' ' '\n' | grep -cE '^b(5|15)$' || true)
verified=0; "$journalctl" -q --verify --file both.journal 2> why || verified=$?
echo "systemd $VERSION: import $code; since 50: $at50; since 20 shows $at20 older ones; verify $verified; in a file each, since 80: $at80"
[ "$code" = 0 ] && [ "$at50" = 'b55 b65 b75 b85 b95' ] && [ "$at20" = 2 ] && [ "$verified" = 1 ] && [ "$at80" = 'a80 b85 a90 b95' ]
