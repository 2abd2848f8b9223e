#!/bin/bash
# libubootenv 0.3.2 (Debian 12): fw_setenv drops every word of a value but the first, and lines "name value" of a script, with exit code 0.
#
# Guess before it was run: a line "name value" of `fw_setenv --script` sets what `fw_setenv name value` sets. That words are joined, and a name alone deletes, as by U-Boot's own program of this name, was expected
# and not written down.
# Seen: bootargs is `console=ttyS0`. Of the script, `slot A` and `old` change nothing and only `count=3` is set, all without a message. fw_printenv of a name that is not there prints
# `slot=` and ends with 0 too, so a check does not notice it.
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=0.3.2-1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "libubootenv-tool=$VERSION" "libubootenv0.1=$VERSION" u-boot-tools libyaml-0-2
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$work/$(dirname "$(find root -name 'libubootenv.so.0*' | head -n 1)")
export LD_LIBRARY_PATH
echo old=1 | root/usr/bin/mkenvimage -s 4096 -o env.bin -
echo "$work/env.bin 0x0 0x1000" > fw_env.config
printf 'slot A\nold\ncount=3\n' > script
set_() { code=0; root/usr/bin/fw_setenv --config fw_env.config "$@" > said 2>&1 || code=$?; echo "$code$(cat said)"; }
words=$(set_ bootargs console=ttyS0 quiet)
script=$(set_ --script script)
code=0; missing=$(root/usr/bin/fw_printenv --config fw_env.config slot) || code=$?
all=$(root/usr/bin/fw_printenv --config fw_env.config | sort | paste -sd ' ')
echo "libubootenv $VERSION: exit codes $words and $script; environment: $all; of a missing name: $missing, exit code $code"
[ "$words $script $all $missing $code" = '0 0 bootargs=console=ttyS0 count=3 old=1 slot= 0' ]
