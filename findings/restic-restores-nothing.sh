#!/bin/bash
# restic 0.14.0 (Debian 12): `restore --include` of a path that no snapshot has restores nothing, and `forget` of an ID that is not there forgets nothing, both with exit code 0.
#
# Guess before it was run: what was asked for by name and is not in the repository ends non-zero, for `restore`, `ls` and `forget`.
# Seen: with a slip in the path `restore` makes an empty folder and ends with 0; so do `ls` of such a path and `forget` of such an ID, with a line "Ignoring". `dump` ends with 2. The check of a script or
# of a service's exit code sees a restore that worked. `backup` of two folders of which one is missing saves the other and ends with 0, too; no guess was written down about that. 0.18.0 of
# Debian 13 does the same, with 1 for `dump` and a line "Restored 0 files/dirs".
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=0.14.0-1+b5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "restic=$VERSION"
dpkg-deb -x ./restic_*.deb root
export RESTIC_PASSWORD=plant RESTIC_REPOSITORY=$work/repository RESTIC_CACHE_DIR=$work/cache
mkdir data
echo text > data/press.db
restic() { code=0; root/usr/bin/restic "$@" > said 2>&1 || code=$?; echo "$code"; }
made="$(restic init) $(restic backup data)"
restore=$(restic restore latest --target out --include /data/pres.db)
files=$(find out -type f 2> /dev/null | wc -l)
ls_=$(restic ls latest /data/pres.db)
dump=$(restic dump latest /data/pres.db)
forget=$(restic forget 0badc0de)
backup=$(restic backup data missing)
right=$(restic restore latest --target right --include /data/press.db)
echo "restic $VERSION: restore $restore, $files files; ls $ls_; dump $dump; forget $forget; backup with a missing folder $backup; the right path $right, $(find right -type f | wc -l) file"
[ "$made $restore $files $ls_ $dump $forget $backup $right" = '0 0 0 0 0 2 0 0 0' ] && [ "$(find right -type f | wc -l)" = 1 ]
