#!/bin/bash
# debconf 1.5.82 (Debian 12): `debconf-set-selections` refuses what `debconf-get-selections` writes of an answer with `\n` in it; after an answer that ends in a backslash, it takes the next line as part of that answer.
#
# Guess before it was run: `debconf-get-selections | debconf-set-selections` gives another host the same answers; a backslash, `#` and blanks in an answer stay, and so does
# one of several lines. No guess was written down about the line after an answer that ends in a backslash.
# Seen: of `C:\new` the first writes a line break for `\n`, and the second ends with 1 at the line "ew": none of the answers that follow is set. `C:\` is set to "C:" and the whole next line, whose question gets
# no answer, with exit code 0. An answer of the type `text` is not written at all. Blanks and `#` come back.
# Needs perl and debconf, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=1.5.82
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "debconf=$VERSION" "debconf-utils=$VERSION"
for deb in *.deb; do dpkg-deb -x "$deb" root; done
run() { # HOST PROGRAM
  printf 'Config: answers\nTemplates: templates\n\nName: answers\nDriver: File\nFilename: %s/%s.answers\n\nName: templates\nDriver: File\nFilename: %s/%s.templates\n' "$work" "$1" "$work" "$1" > "$1.conf"
  DEBIAN_FRONTEND=noninteractive DEBCONF_SYSTEMRC=$work/$1.conf PERL5LIB=$work/root/usr/share/perl5 perl "root/usr/bin/debconf-$2-selections"; }
answers() { sed -n 's/^Name: //p; s/^Value: /=/p' "$1.answers" 2> /dev/null | paste -sd ' ' | sed 's/ =/=/g'; }
printf 'press press/a string two  blanks # hash\npress press/b string C:\\new\npress press/c text last\n' | run one set
run one get > written
code=0; run other set < written > said 2>&1 || code=$?
printf 'press press/path string C:\\\npress press/port string 8080\n' > two
ended=0; run third set < two || ended=$?
echo "debconf $VERSION: set: $(answers one); written and set again: exit code $code, $(answers other); two answers: exit code $ended, $(answers third)"
[ "$(answers one)" = 'press/a=two  blanks # hash press/b=C:\new press/c=last' ] && [ "$code $(answers other)" = '1 press/a=two  blanks # hash press/b=C:' ] &&
  [ "$ended $(answers third)" = '0 press/path=C:press press/port string 8080' ]
