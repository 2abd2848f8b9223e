#!/bin/bash
# sfdisk 2.38.1 and sgdisk 1.0.9 (Debian 12): a name of a GPT partition that is longer than 36 characters is cut in silence, so that two names that differ at the end become one.
#
# Guess before it was run: a name beyond the 36 characters that GPT has room for is refused by sfdisk, sgdisk and parted.
# Seen: exit code 0 for all three. `...-slot-a` and `...-slot-b` both end before the slot; /dev/disk/by-partlabel then has one link for two partitions, and what names a slot by it (fstab, RAUC's
# system.conf, root=PARTLABEL=) finds none or the other. Only parted 3.5 has a warning, "failed to translate partition name", and cuts too.
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
SFDISK=2.38.1 SGDISK=1.0.9 PARTED=3.5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download fdisk libfdisk1 libsmartcols1 gdisk libpopt0 parted libparted2
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$(find "$work/root" -name '*.so.*' -printf '%h\n' | sort -u | paste -sd :)
export LD_LIBRARY_PATH
program() { find "$work/root" -name "$1" -path '*sbin/*' -type f; }
one=press-controller-rootfs-of-the-line-slot-a other=press-controller-rootfs-of-the-line-slot-b
seen=''
for tool in sfdisk sgdisk parted; do
  rm -f disk
  truncate -s 32M disk
  code=0
  case $tool in
    sfdisk) printf 'label: gpt\nsize=8M,name="%s"\nsize=8M,name="%s"\n' $one $other | "$(program sfdisk)" disk ;;
    sgdisk) "$(program sgdisk)" -n 1:0:+8M -c "1:$one" -n 2:0:+8M -c "2:$other" disk ;;
    parted) "$(program parted)" -s disk mklabel gpt mkpart $one 1MiB 9MiB mkpart $other 9MiB 17MiB ;;
  esac > said 2>&1 || code=$?
  names=$("$(program sfdisk)" --dump disk | grep -o 'name="[^"]*"' | sort | uniq -c | sed 's/^ *//')
  seen+="$tool $code, $(grep -ci 'name.*\(long\|cut\|trunc\)\|translate' said || true) warnings, $names; "
done
echo "sfdisk $SFDISK, sgdisk $SGDISK, parted $PARTED: $seen"
cut='2 name="press-controller-rootfs-of-the-line-"'
[ "$("$(program sfdisk)" --version | grep -o '[0-9.]*$')" = $SFDISK ] && [[ $seen == "sfdisk 0, 0 warnings, $cut; sgdisk 0, 0 warnings, $cut; parted 0, "[1-9]" warnings, $cut; " ]]
