#!/bin/sh
# The privileged half of in-wine.ts: runs one program of Windows under Wine. No process of it outlives this script.
#
#   in-wine.sh BASE LAYER DATA SECONDS WORDS...
#
# BASE is the root of a Debian, LAYER what lies over it (Wine, its prefix in srv, opt/node). The program sees DATA as Z:\mnt and may write there.
# The processes run as a user of their own, with a limit on their number, in a PID namespace that ends with its first process or after SECONDS.
# Changes of the prefix are in memory, and gone at the end, unless DATA is the layer's own srv: then this run makes the prefix.
set -eu
base=$1 layer=$2 data=$3 seconds=$4
shift 4
user=61234
owner=$(stat -c %u:%g "$data")
root=$(mktemp -d)
chown -R $user:$user "$data"
code=0
# shellcheck disable=SC2016 # its own words
timeout -k 5 "$seconds" setpriv --pdeathsig KILL unshare --fork --kill-child --pid --mount --ipc sh -c '
  user=$1 root=$2 base=$3 layer=$4 data=$5
  shift 5
  mount -t tmpfs tmpfs "$root"
  mkdir "$root/upper" "$root/work" "$root/all"
  mount -t overlay overlay -o "lowerdir=$layer:$base,upperdir=$root/upper,workdir=$root/work" "$root/all"
  cd "$root/all"
  mount -t proc proc proc
  mount --bind /dev dev
  mount -t tmpfs -o mode=1777 tmpfs tmp
  if [ "$data" = "$layer/srv" ]; then mount --bind "$data" srv; else mount --bind "$data" mnt; fi
  # No desktop, menus, .NET and HTML: explorer.exe, which can make no desktop here, starts the next explorer.exe, without end.
  # This shell stays: the kernel forgets whose end a process ends with when that changes its user (prctl(2), PR_SET_PDEATHSIG).
  code=0
  chroot . prlimit --nproc=120 --core=0 setpriv --reuid=$user --regid=$user --clear-groups env -i PATH=/usr/lib/wine:/usr/bin:/bin \
    HOME=/srv WINEPREFIX=/srv/prefix WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=;winemenubuilder.exe=;explorer.exe=;winedbg.exe=" LANG=C.UTF-8 "$@" || code=$?
  exit $code
' sh $user "$root" "$base" "$layer" "$data" "$@" || code=$?
rmdir "$root"
# Wine uses no prefix of another user.
[ "$data" = "$layer/srv" ] || chown -R "$owner" "$data"
exit $code
