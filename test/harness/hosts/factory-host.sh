#!/bin/sh
# The privileged half of factory-host.ts: a Debian host with systemd as PID 1 in namespaces of its own.
#
#   unshare --fork --pid --mount --uts --ipc --net sh factory-host.sh boot STATE BASE NAME GROUP
#   factory-host.sh await STATE          until systemd says that it has booted; prints running or degraded
#   factory-host.sh plug STATE LINK SUBNET up|down   a cable to this machine: SUBNET.1 here (LINK), SUBNET.2 there (eth0)
#   factory-host.sh cable STATE LINK up|down         lets it through, or not
#   factory-host.sh signal STATE NUMBER  to its PID 1
#   factory-host.sh look STATE ARGV...   a command inside
#   factory-host.sh clear STATE          its control groups, once it is down
#   factory-host.sh sweep STATE          kill it, then remove every trace
#
# STATE is a folder: binds (input: 'ro|rw TAB from TAB to' lines), devices (input: rules of devices.allow), pid1, cgroups, disk (what the host wrote), work, root.
# All mounts are made in the host's own mount namespace: when its PID 1 dies, they are gone too.
set -eu

# A pid alone may have been given to another process meanwhile: its start time makes it one of a kind (proc(5), field 22).
start_time() { # PID
  stat=$(cat "/proc/$1/stat" 2> /dev/null) || return 1
  # shellcheck disable=SC2086 # the fields after '(name) '
  set -- ${stat##*) }
  echo "${20}"
}

pid1() { # STATE -> pid, if it lives
  [ -s "$1/pid1" ] || return 1
  read -r pid started < "$1/pid1"
  [ "$(start_time "$pid")" = "$started" ] && echo "$pid"
}

# One group in each hierarchy of the machine, so that the root of the cgroup namespace is not the machine's own root.
# Version 1 and hybrid: below the group we are in. Version 2 alone: at the top, as a group with processes may not
# hand controllers on to groups below it (cgroup-v2.rst, 'No Internal Process Constraint').
own_groups() { # GROUP -> directories
  while IFS=: read -r _ controllers path; do
    case $controllers in
      '') if [ -d /sys/fs/cgroup/unified ]; then echo "/sys/fs/cgroup/unified${path%/}/$1"; else echo "/sys/fs/cgroup/$1"; fi ;;
      name=systemd) echo "/sys/fs/cgroup/systemd${path%/}/$1" ;;
      *) echo "/sys/fs/cgroup/$controllers${path%/}/$1" ;;
    esac
  done < /proc/self/cgroup
}

# The host may make any device node but open only these: null, zero, full, random, urandom, tty, console, ptmx, pts,
# fuse, tun and what STATE/devices names. So nothing inside can reach the machine's disks. (With version 2 that would take a
# BPF program.)
limit_devices() { # DIRECTORY STATE
  echo a > "$1/devices.deny"
  for rule in 'c *:* m' 'b *:* m' 'c 1:3 rwm' 'c 1:5 rwm' 'c 1:7 rwm' 'c 1:8 rwm' 'c 1:9 rwm' 'c 5:0 rwm' 'c 5:1 rwm' \
    'c 5:2 rwm' 'c 136:* rwm' 'c 10:229 rwm' 'c 10:200 rwm'; do
    echo "$rule" > "$1/devices.allow"
  done
  while read -r rule; do echo "$rule" > "$1/devices.allow"; done < "$2/devices"
}

# PID 1 of the new namespaces. It enters the groups itself and only then gets its cgroup namespace: unshare, which
# waits for it outside, never is in the host's groups, where systemd would stumble over a process without a pid.
boot() { # STATE BASE NAME GROUP
  # shellcheck disable=SC2034
  read -r own _ < /proc/self/stat
  echo "$own $(start_time "$own")" > "$1/pid1.new"
  own_groups "$4" > "$1/cgroups"
  while read -r directory; do
    mkdir -p "$directory"
    for file in cpuset.cpus cpuset.mems; do
      if [ -e "$directory/$file" ] && [ ! -s "$directory/cgroup.controllers" ]; then
        cat "${directory%/*}/$file" > "$directory/$file"
      fi
    done
    if [ -e "$directory/devices.deny" ]; then limit_devices "$directory" "$1"; fi
    echo 0 > "$directory/cgroup.procs"
  done < "$1/cgroups"

  mount --make-rprivate /
  mkdir -p "$1/disk" "$1/work" "$1/root"
  chmod 755 "$1/disk"
  # Nothing waits for the machine's disk: dpkg alone syncs each file. A power cut keeps what was written, synced or not, because the kernel
  # lives on; its mark in the work folder, which refuses another mount, is for kernels that did not.
  rm -rf "$1/work/work/incompat"
  mount -t overlay fleet-ferry -o "volatile,lowerdir=$2,upperdir=$1/disk,workdir=$1/work" "$1/root"
  # Kept over reboots, as on a real machine: the journal is found by it, and no boot is a first boot.
  if [ ! -s "$1/root/etc/machine-id" ]; then tr -d - < /proc/sys/kernel/random/uuid > "$1/root/etc/machine-id"; fi
  echo "$3" > "$1/root/etc/hostname"
  printf '127.0.0.1 localhost %s\n' "$3" > "$1/root/etc/hosts"
  mv "$1/pid1.new" "$1/pid1"
  exec unshare --cgroup sh "$0" inside "$1"
}

inside() { # STATE
  root=$1/root
  mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
  # The machine's kernel settings are not this host's to change; those of its own network are.
  for file in sys sysrq-trigger irq bus; do
    if [ ! -e "$root/proc/$file" ]; then continue; fi
    mount --bind "$root/proc/$file" "$root/proc/$file"
    if [ "$file" = sys ]; then
      mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
      # Each start is a boot of its own, though the kernel is the machine's.
      cat /proc/sys/kernel/random/uuid > "$1/boot-id"
      mount --bind "$1/boot-id" "$root/proc/sys/kernel/random/boot_id"
      mount -o remount,bind,ro "$root/proc/sys/kernel/random/boot_id"
    fi
    mount -o remount,bind,ro "$root/proc/$file"
  done
  mount --bind /dev/null "$root/proc/kmsg"
  mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
  mount_devices "$root/dev"
  mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root/run"
  mask_generators "$root/run/systemd/system-generators"
  mask_units "$root/run/systemd/system"
  mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"
  mount_groups "$root/sys/fs/cgroup" "$root"
  mount_binds "$1" "$root"
  cd "$root"
  mkdir -p .machine
  pivot_root . .machine
  umount -l /.machine
  rmdir /.machine
  # No clock, module, raw i/o or kernel-log powers.
  exec env -i container=fleet-ferry PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 setpriv --bounding-set \
    -sys_time,-sys_module,-sys_rawio,-syslog,-mac_admin,-mac_override,-wake_alarm,-block_suspend /lib/systemd/systemd
}

# What systemd starts at each boot and daemon-reload for disks, consoles and updates, which a host does not have.
mask_generators() { # DIRECTORY
  mkdir -p "$1"
  for name in cryptsetup debug getty gpt-auto hibernate-resume integritysetup rc-local run ssh system-update tpm2 veritysetup; do
    ln -s /dev/null "$1/systemd-$name-generator"
  done
}

# Services for people at a terminal and for a file of logins, which take a quarter of the time of a boot.
mask_units() { # DIRECTORY
  mkdir -p "$1"
  for name in dev-hugepages.mount systemd-logind.service systemd-update-utmp.service systemd-update-utmp-runlevel.service; do
    ln -s /dev/null "$1/$name"
  done
}

mount_devices() { # DIRECTORY
  mount -t tmpfs -o mode=755,nosuid tmpfs "$1"
  mkdir "$1/pts" "$1/shm"
  while read -r name minor; do mknod -m 666 "$1/$name" c ${minor%:*} ${minor#*:}; done << END
null 1:3
zero 1:5
full 1:7
random 1:8
urandom 1:9
tty 5:0
fuse 10:229
END
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$1/pts"
  mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$1/shm"
  ln -s pts/ptmx "$1/ptmx"
  ln -s /proc/self/fd "$1/fd"
  ln -s /proc/self/fd/0 "$1/stdin"
  ln -s /proc/self/fd/1 "$1/stdout"
  ln -s /proc/self/fd/2 "$1/stderr"
}

# systemd 258 and later know no other. The machine's controllers stay with version 1, so the host has none.
wants_version_2() { # ROOT
  for file in "$1"/usr/lib/*/systemd/libsystemd-shared-*.so; do
    version=${file##*-}
    version=${version%%.*}
    [ "${version:-0}" -ge 258 ] 2> /dev/null && return
  done
  return 1
}

# The same hierarchies as the machine has, seen from our own groups: limits set inside hold in the kernel.
mount_groups() { # DIRECTORY ROOT
  if [ ! -d /sys/fs/cgroup/systemd ] || wants_version_2 "$2"; then
    mount -t cgroup2 -o nsdelegate cgroup2 "$1"
    return
  fi
  mount -t tmpfs -o mode=755,nosuid,nodev,noexec tmpfs "$1"
  while IFS=: read -r _ controllers _; do
    case $controllers in
      '') mkdir "$1/unified" && mount -t cgroup2 -o nsdelegate cgroup2 "$1/unified" ;;
      name=*) mkdir "$1/${controllers#name=}" && mount -t cgroup -o "none,$controllers" cgroup "$1/${controllers#name=}" ;;
      *)
        mkdir "$1/$controllers" && mount -t cgroup -o "$controllers" cgroup "$1/$controllers"
        case $controllers in *,*) for one in $(echo "$controllers" | tr , ' '); do ln -s "$controllers" "$1/$one"; done ;; esac
        ;;
    esac
  done < /proc/self/cgroup
}

mount_binds() { # STATE ROOT
  tab=$(printf '\t')
  while IFS=$tab read -r mode from to; do
    if [ -d "$from" ]; then mkdir -p "$2$to"; elif [ ! -e "$2$to" ]; then mkdir -p "$2${to%/*}" && : > "$2$to"; fi
    mount --bind "$from" "$2$to"
    if [ "$mode" = ro ]; then mount -o remount,bind,ro "$2$to"; fi
  done < "$1/binds"
}

enter() { # PID ARGV...
  target=$1
  shift
  exec nsenter --target "$target" --mount --uts --ipc --net --pid --cgroup --root --wd \
    env -i --chdir=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    NODE_COMPILE_CACHE=/var/cache/compiled "$@"
}

await() { # STATE
  while :; do
    # Its existence first, then whether it lives: the other way round, a pid1 written in between would look dead.
    if [ -s "$1/pid1" ]; then
      pid=$(pid1 "$1") || return 1
      if [ -S "/proc/$pid/root/run/systemd/private" ]; then
        state=$( (enter "$pid" systemctl is-system-running --wait) 2> /dev/null) || true
        case $state in running | degraded) echo "$state" && return ;; esac
      fi
    fi
    sleep 0.03
  done
}

plug() { # STATE LINK SUBNET up|down
  while [ ! -s "$1/pid1" ]; do sleep 0.02; done
  pid=$(pid1 "$1") || return 1
  # The one of before a power cut goes with its network namespace, which the kernel takes apart when it finds the time.
  ip link delete "$2" 2> /dev/null || true
  ip link add "$2" type veth peer name eth0 netns "$pid"
  ip address add "$3.1/24" dev "$2"
  ip link set "$2" "$4"
  nsenter --target "$pid" --net sh -c "ip address add $3.2/24 dev eth0 && ip link set eth0 up"
}

cable() { # STATE LINK up|down
  # While the host is down there is no link, and the next plug makes it as it is wanted then.
  if [ ! -e "/sys/class/net/$2" ]; then return; fi
  ip link set "$2" "$3"
  if [ "$3" = down ]; then return; fi
  # Carrier is noticed a moment later, and both ends remember for seconds that there was no neighbour.
  until [ "$(cat "/sys/class/net/$2/operstate")" = up ]; do sleep 0.02; done
  ip neighbour flush dev "$2"
  if pid=$(pid1 "$1"); then
    nsenter --target "$pid" --net sh -c \
      'until ip -brief link show eth0 | grep -q " UP "; do sleep 0.02; done; ip neighbour flush dev eth0'
  fi
}

clear() { # STATE
  if [ ! -e "$1/cgroups" ]; then return; fi
  while read -r directory; do
    if [ -d "$directory" ]; then find "$directory" -depth -type d -exec rmdir {} +; fi
  done < "$1/cgroups"
  rm -f "$1/pid1" "$1/cgroups"
}

sweep() { # STATE
  if pid=$(pid1 "$1"); then
    kill -9 "$pid"
    while pid1 "$1" > /dev/null; do sleep 0.02; done
  fi
  clear "$1"
  # Its owner last (host-folders.ts): another run that saw none would sweep beside this one.
  if [ -d "$1" ]; then find "$1" -mindepth 1 -maxdepth 1 ! -name owner -exec rm -rf {} +; fi
  rm -rf "$1"
}

verb=$1
state=$2
shift 2
case $verb in
  boot | inside | await | plug | cable | clear | sweep) "$verb" "$state" "$@" ;;
  signal) kill "-$1" "$(pid1 "$state")" ;;
  look)
    pid=$(pid1 "$state") || { echo "The host is not running." >&2 && exit 125; }
    enter "$pid" "$@"
    ;;
  *) echo "factory-host.sh: no such verb: $verb" >&2 && exit 2 ;;
esac
