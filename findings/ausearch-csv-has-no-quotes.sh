#!/bin/bash
# ausearch of auditd 3.0.9 (Debian 12): `--format csv` writes a file name with a comma or a quote as it is, so the columns after it move.
#
# Guess before it was run: a field with a comma is in quotes, and a quote in it is doubled, as RFC 4180 and every spreadsheet have it; or such names stay in the hexadecimal form that the log has.
# Seen: for /srv/a,b.txt the row has 17 fields under a heading of 16: the object is /srv/a, its inode "b.txt", its kind "5". For /srv/a "b.txt the quote stands alone in the field. The exit code is 0: a
# report of who read which file counts another file.
# Needs Python 3, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION='1:3.0.9-1'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "auditd=$VERSION" "libauparse0=$VERSION"
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$work/$(dirname "$(find root -name 'libauparse.so.0')")
export LD_LIBRARY_PATH
record() { # SERIAL NAME
  stamp="msg=audit(1700000000.000:$1):"
  echo "type=SYSCALL $stamp arch=c000003e syscall=257 success=yes exit=3 a0=ffffff9c a1=0 a2=0 a3=0 items=1 ppid=1 pid=2 auid=0 uid=0 gid=0 euid=0 suid=0 fsuid=0 egid=0 sgid=0 fsgid=0 tty=pts0 ses=1 comm=\"cat\" exe=\"/usr/bin/cat\" key=\"recipes\""
  echo "type=CWD $stamp cwd=\"/root\""
  echo "type=PATH $stamp item=0 name=$2 inode=5 dev=08:01 mode=0100644 ouid=0 ogid=0 rdev=00:00 nametype=NORMAL cap_fp=0 cap_fi=0 cap_fe=0 cap_fver=0 cap_frootid=0"
}
{ record 1 '"/srv/ab.txt"'; record 2 '"/srv/a,b.txt"'; record 3 "$(printf '/srv/a "b.txt' | od -An -tx1 | tr -d ' \n' | tr a-f A-F)"; } > audit.log
code=0; root/sbin/ausearch --input audit.log --format csv > rows.csv 2> said || code=$?
seen=$(python3 -c 'import csv
head, *rows = csv.reader(open("rows.csv"))
at = head.index("OBJ_PRIME")
print(len(head), *("/".join([str(len(row)), row[at][5:], *row[at + 1:at + 3]]) for row in rows), sep="; ")')
echo "auditd $VERSION: exit code $code; fields of the heading and of the rows, object and what follows: $seen"
[ "$code $seen" = '0 16; 16/ab.txt/5/file; 17/a/b.txt/5; 16/a "b.txt/5/file' ]
