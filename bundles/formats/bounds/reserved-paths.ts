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
  `NetworkManager X11 acpi adduser.conf adjtime alternatives anacrontab apparmor apparmor.d apt at.allow at.deny
audit auditd bash.bashrc bash_completion bash_completion.d binfmt.d ca-certificates ca-certificates.conf cloud cni containerd containers
cron.allow cron.d cron.daily cron.deny cron.hourly cron.monthly cron.weekly cron.yearly crontab crypttab csh.cshrc csh.login
dbus-1 debuginfod default deluser.conf depmod.d dhcp dhcpcd.conf dkms docker doas.conf dpkg dracut.conf dracut.conf.d environment
environment.d exports fstab fuse.conf gai.conf group group- grub.d gshadow gshadow- gss host.conf hostname hosts hosts.allow hosts.deny
ifplugd inetd.conf init init.d initramfs-tools inittab inputrc iproute2 issue kernel kernel-img.conf krb5.conf krb5.conf.d krb5.keytab
kubernetes ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload libnss ldap libaudit.conf locale.conf localtime login.defs logrotate.conf
logrotate.d lvm machine-id mdadm modprobe.conf modprobe.d modules modules-load.d motd mtab netgroup netplan network networks nftables.conf
nscd.conf nsswitch.conf opt os-release pam.conf pam.d passwd passwd- perl pki polkit-1 ppp profile profile.d protocols python3 rancher rc.local
rc0.d rc1.d rc2.d rc3.d rc4.d rc5.d rc6.d rcS.d resolv.conf resolvconf rpc rsyslog.conf rsyslog.d securetty security selinux services
sgml shadow shadow- shells skel ssh ssl subgid subgid- subuid subuid- sudo.conf sudo_logsrvd.conf sudoers sudoers.d sv sysctl.conf sysctl.d
sysusers.d systemd terminfo timezone tmpfiles.d ucf.conf udev udisks2 update-motd.d vconsole.conf wpa_supplicant xattr.conf xdg xinetd.conf
xinetd.d zsh zshenv zshrc`
    .split(/\s+/)
    .map((name) => `/etc/${name}`);

/** The same elsewhere: programs, libraries, kernels, devices, people's homes, and the databases of the system's own services. */
const SYSTEM_PATHS = [
  ...'bin boot dev efi home lib lib32 lib64 libx32 lost+found proc root sbin sys usr'
    .split(' ')
    .map((name) => `/${name}`),
  ...'credentials cloud-init containerd cryptsetup dbus docker initctl initramfs k3s lock log mount nologin reboot-required reboot-required.pkgs resolvconf sshd sudo systemd udev user utmp'
    .split(' ')
    .map((name) => `/run/${name}`),
  ...'AccountsService alsa apt aspell cloud containerd containers dbus dhcp docker dpkg etcd initramfs-tools k0s kubelet logrotate microk8s misc NetworkManager os-prober pam plymouth polkit-1 private python rancher snapd ssl sudo systemd ubuntu-advantage ucf usbutils vim'
    .split(' ')
    .map((name) => `/var/lib/${name}`),
  ...'apt apparmor debconf dbconfig-common dictionaries-common fontconfig ldconfig man private'
    .split(' ')
    .map((name) => `/var/cache/${name}`),
  ...'apt audit dpkg.log journal lastlog private wtmp'.split(' ').map((name) => `/var/log/${name}`),
  '/opt/bin',
  '/opt/cni',
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
