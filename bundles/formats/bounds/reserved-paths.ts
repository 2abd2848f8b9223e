import { debianPlace } from './debian-place.ts';

/** Whether `path` is `above` or below it, by whole components: /etc/line does not cover /etc/line-2. */
export const coversPath = (above: string, path: string): boolean =>
  path === above || path.startsWith(`${above}/`);

/** The agent's own configuration, state, program and sockets. The folder for secrets in memory is for all packages. */
export const AGENT_OWNED_PATHS = [
  '/etc/fleet-agent',
  '/opt/fleet-agent',
  '/run/fleet-agent',
  '/usr/bin/fleet-agent',
  '/usr/lib/fleet-agent',
  '/usr/local/bin/fleet-agent',
  '/var/lib/fleet-agent',
];

export const SECRETS_IN_MEMORY = '/run/fleet-agent/secrets';

/** Folders and files below /etc that control permissions, or whose content root runs or trusts. */
const ETC =
  `acpi adduser.conf adjtime aliases alternatives anacrontab ansible apparmor apparmor.d apt at.allow at.deny audit auditd auto.master
auto.master.d autofs bash.bash_logout bash.bashrc bash_completion bash_completion.d bindresvport.blacklist binfmt.d blkid.conf blkid.tab
ca-certificates ca-certificates.conf cloud cni confexts containerd containers credstore credstore.encrypted cron.allow cron.d cron.daily
cron.deny cron.hourly cron.monthly cron.weekly cron.yearly crontab cryptsetup-keys.d crypttab csh.cshrc csh.login dbus-1 debconf.conf
debian_version debuginfod default deluser.conf depmod.d dhcp dhcpcd.conf dhcpcd.enter-hook dhcpcd.exit-hook dkms dnssec-trust-anchors.d
doas.conf docker dpkg dracut.conf dracut.conf.d dropbear environment environment.d ethers ethertypes exports extension-release.d
extensions fail2ban filesystems fstab fuse.conf gai.conf gcrypt gitconfig gnupg gnutls group group- grub.d gshadow gshadow- gss host.conf
hostid hostname hosts hosts.allow hosts.deny hosts.equiv ifplugd ima incus inetd.conf init init.d initramfs-tools initrd-release inittab
inputrc insserv insserv.conf integritytab ipe iproute2 iscsi issue issue.d issue.net k0s kernel kernel-img.conf krb5 krb5.conf krb5.conf.d
krb5.keytab krb5kdc kubernetes ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload ldap libaudit.conf libnss libpaper.d libuser.conf libvirt
locale.conf locale.gen localtime login.defs logrotate.conf logrotate.d lvm lxc lxd machine-id machine-info machines mdadm mime.types
mke2fs.conf ModemManager modprobe.conf modprobe.d modules modules-load.d motd motd.d mtab multipath multipath.conf nanorc needrestart
netconfig netgroup netid netns netplan network NetworkManager networks nftables.conf nologin nscd.conf nsswitch.conf nvpcr opt os-release
pam.conf pam.d passwd passwd- pcrlock.d perl pkcs11 pki polkit-1 portables ppp profile profile.d protocols publickey python3 python3.11
python3.13 python3.14 rancher rc rc.local rc0.d rc1.d rc2.d rc3.d rc4.d rc5.d rc6.d rcS.d repart.d request-key.conf request-key.d resolv.conf
resolvconf rmt rpc rsyslog.conf rsyslog.d salt screenrc securetty security selinux services sgml shadow shadow- shadow-maint shells skel
smack ssh ssl sssd subgid subgid- subuid subuid- sudo.conf sudo_logsrvd.conf sudoers sudoers.d suid-debug sv sysctl.conf sysctl.d sysstat
system-update systemd sysupdate.d sysusers.d termcap terminal-colors.d terminfo timezone tmpfiles.d tmux.conf ttys ucf.conf udev udisks2
update-motd.d userdb vconsole.conf verity.d veritytab vim watchdog.conf watchdog.d wgetrc wpa_supplicant X11 xattr.conf xdg xinetd.conf
xinetd.d zsh zshenv zshrc`
    .split(/\s+/)
    .map((name) => `/etc/${name}`);

/** The same elsewhere: programs, libraries, kernels, devices, people's homes, and the databases of the system's own services. */
const SYSTEM_PATHS = [
  ...'bin boot dev efi home lib lib32 lib64 libx32 lost+found proc root sbin sys usr'
    .split(' ')
    .map((name) => `/${name}`),
  ...`agetty.reload binfmt.d blkid boot-loader-entries capsules cloud-init confexts containerd credentials credstore credstore.encrypted
cryptsetup cryptsetup-keys.d dbus dbus-1 dnssec-trust-anchors.d docker environment.d extensions fsck host initctl initramfs ipe issue
issue.d k3s libvirt lock log lxc machine-id machines media modprobe.d modules-load.d motd motd.d motd.dynamic mount netns NetworkManager
nextroot nologin nscd nvpcr openrc pcrlock.d plymouth polkit-1 portables reboot-required reboot-required.pkgs repart.d resolvconf shutdown
ssh-unix-local sshd sshd-generated sudo sysctl.d systemd sysupdate.d sysusers.d tmpfiles.d udev udisks2 user userdb utmp uuidd varlink verity.d`
    .split(/\s+/)
    .map((name) => `/run/${name}`),
  ...`AccountsService alsa apt aspell capsules cloud confexts container containerd containers dbus dhcp dkms docker dpkg etcd extensions
extensions.mutable flatpak incus initramfs-tools iscsi k0s kubelet libvirt logrotate lxc lxd machines microk8s misc NetworkManager
os-prober pam pcrlock.d plymouth polkit-1 portables private python rancher salt selinux snapd ssl sss sudo systemd ubuntu-advantage ucf
udisks2 usbutils vim`
    .split(/\s+/)
    .map((name) => `/var/lib/${name}`),
  ...'apparmor apt dbconfig-common debconf dictionaries-common fontconfig ldconfig man private'
    .split(' ')
    .map((name) => `/var/cache/${name}`),
  ...'alternatives.log apt audit btmp dpkg.log faillog journal lastlog private wtmp'
    .split(' ')
    .map((name) => `/var/log/${name}`),
  '/opt/bin',
  '/opt/cni',
  '/opt/containerd',
  '/var/backups',
  '/var/lock',
  '/var/mail',
  '/var/run',
  '/var/snap',
  '/var/spool',
];

/** In lower case, for case-insensitive file systems. */
const known = new Set([...ETC, ...SYSTEM_PATHS].map((path) => path.toLowerCase()));
const ofTheAgent = AGENT_OWNED_PATHS.map((path) => path.toLowerCase());

/** Reports whether a path belongs to the agent, drop-ins of its units included. No package may name one, not even the platform's. */
export const isAgentPath = (written: string): boolean => {
  const path = debianPlace(written);
  const lower = path.toLowerCase();
  if (coversPath(SECRETS_IN_MEMORY, path) && path !== SECRETS_IN_MEMORY) return false;
  if (ofTheAgent.some((own) => coversPath(own, lower))) return true;
  return lower.includes('/systemd/') && lower.split('/').some(isAgentUnit);
};

/** 'fleet-agent.service', 'fleet-agent-secrets.service', 'fleet-agent.service.d'; also 'fleet-.service.d', which is for all of those. */
export const isAgentUnit = (name: string): boolean =>
  /^fleet-(?:agent(?![a-z0-9_])|\.[a-z]+\.d$)/.test(name.toLowerCase());

/** Whether programs of root read or run the content of a path. Only a grant at or below the reserved path allows it. */
export const isReserved = (path: string): boolean => {
  const parts = path.toLowerCase().split('/').slice(1);
  return parts.some((_, at) => known.has(`/${parts.slice(0, at + 1).join('/')}`)) || isAgentPath(path);
};
