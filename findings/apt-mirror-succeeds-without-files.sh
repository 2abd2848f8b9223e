#!/bin/bash
# apt-mirror 0.5.4 (Debian 12): packages that the server does not have are missing from the mirror, with exit code 0 and no message.
#
# Guess before it was run: a package of the index that answers 404 ends apt-mirror with a non-zero exit code.
# Seen: the index is there and lists two packages, one of which is on the disk; the output counts "2 archive files" and ends as always, exit code 0. Only a log of wget (var/archive-log.0) has the 404.
# At a site without a network, the missing package is noticed when a host installs it from the disk.
# Needs python3, perl, wget, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=0.5.4-2
work=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "apt-mirror=$VERSION"
dpkg-deb -x ./apt-mirror_*.deb root
mkdir -p web/pool web/dists/plant/main/binary-amd64 package/DEBIAN
index=web/dists/plant/main/binary-amd64/Packages
for name in press-a press-b; do
  printf 'Package: %s\nVersion: 1.0\nArchitecture: amd64\nMaintainer: Plant <plant@example.com>\nDescription: text\n' "$name" > package/DEBIAN/control
  file=pool/${name}_1.0_amd64.deb
  dpkg-deb -b package "web/$file" > made
  { dpkg-deb -f "web/$file"; printf 'Filename: %s\nSize: %s\nSHA256: %s\n\n' "$file" "$(stat -c %s "web/$file")" "$(sha256sum < "web/$file" | cut -d ' ' -f 1)"; } >> $index
done
gzip -k $index
printf 'Origin: Plant\nSuite: plant\nCodename: plant\nArchitectures: amd64\nComponents: main\nSHA256:\n %s %s main/binary-amd64/Packages.gz\n' "$(sha256sum < $index.gz | cut -d ' ' -f 1)" "$(stat -c %s $index.gz)" > web/dists/plant/Release
rm web/pool/press-b_*
for port in 18471 28471 38471; do
  python3 -m http.server -b 127.0.0.1 -d web "$port" > log 2>&1 & server=$!
  for _ in $(seq 100); do wget -q -O got "http://127.0.0.1:$port/dists/plant/Release" && break 2; sleep 0.1; done
  kill $server 2> /dev/null || true
done
printf 'set base_path %s/disk\nset nthreads 1\nset _tilde 0\nset run_postmirror 0\nset defaultarch amd64\ndeb http://127.0.0.1:%s plant main\n' "$work" "$port" > mirror.list
mkdir -p disk/mirror disk/skel disk/var
code=0; perl root/usr/bin/apt-mirror mirror.list > said 2>&1 || code=$?
named=$(grep -cE '404|press-b|fail|error' said || true)
has=$(find disk/mirror -name '*.deb' -printf '%f ')
listed=$(find disk -name Packages -exec grep -h '^Filename' {} + | wc -l)
echo "apt-mirror $VERSION: exit code $code, $named lines about it, $listed packages listed, on the disk: $has"
[ "$code $named $listed $has" = '0 0 2 press-a_1.0_amd64.deb ' ]
