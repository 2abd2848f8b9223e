#!/bin/bash
# gomtree of go-mtree 0.7.0 (Go): it fails every file of a manifest that bsdtar 3.6.2 (Debian 12) wrote, "expected 644; got 0644"; mtree passes the same tree.
#
# Guess before it was run: a manifest of `bsdtar --format=mtree` of an unchanged tree passes with gomtree and with NetBSD's mtree, names with blanks, `#` and `=` included: the three have one format,
# mtree(5), in which `mode` is an octal number.
# Seen: gomtree compares the digits as text, so 644 is not 0644, and ends with 1 for each file, folder and link; of a file that has changed it names the mode or the digest, by chance.
# NetBSD's mtree 20180822 passes the tree and finds the change. Of a name with `#`, which NetBSD's mtree writes as `\#`, gomtree refuses the whole manifest.
# Needs dpkg, an apt source of Debian 12, Go and the Go module proxy. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
GOMTREE=v0.7.0 BSDTAR=3.6.2 MTREE=20180822-7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download libarchive-tools libarchive13 "mtree-netbsd=$MTREE"
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$work/$(dirname "$(find root -name 'libarchive.so.13' | head -n 1)")
export LD_LIBRARY_PATH
GOBIN=$work/bin go install "github.com/vbatts/go-mtree/cmd/gomtree@$GOMTREE" 2> build || { cat build; exit 1; }
mkdir tree
echo a > 'tree/a b'
echo c > tree/c
root/usr/bin/bsdtar -cf manifest --format=mtree --options='!all,type,size,sha256,mode' -C tree .
check() { # exit codes of gomtree and mtree, and what gomtree says of modes
  code=0; bin/gomtree -p tree -f manifest > said 2>&1 || code=$?
  other=0; (cd tree && ../root/usr/bin/mtree -f ../manifest > ../found 2>&1) || other=$?
  echo "$code $other $(grep -c 'expected 644; got 0644' said)"; }
same=$(check)
echo d > tree/c
changed=$(check)
version=$(root/usr/bin/bsdtar --version | cut -d ' ' -f 2)
echo "gomtree $GOMTREE and mtree, manifest of bsdtar $version, exit codes and modes that gomtree finds: unchanged $same; changed $changed"
[ "$version" = $BSDTAR ] && [ "${same% *}" = '1 0' ] && [ "${same##* }" -gt 0 ] && [ "${changed% *}" = '1 2' ]
