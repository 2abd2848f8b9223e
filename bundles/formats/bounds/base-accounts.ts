/** Users and groups of Debian's base system, and of packages that hosts of its kind have: the build does not know the others of a host. */
const ACCOUNTS = new Set(
  `_apt _chrony _flatpak _rpc _ssh adm audio avahi backup bin bluetooth cdrom clock colord crontab daemon dialout dip disk dnsmasq docker
fax floppy fwupd-refresh games gdm geoclue gnats input irc kmem kvm libvirt libvirt-qemu lightdm list lp lpadmin lxd mail man messagebus mysql netdev
news nobody nogroup ntp ntpsec operator plugdev polkitd postfix postgres proxy pulse rdma render root rtkit sasl saned sgx shadow src ssl-cert sshd staff
statd sudo sync sys systemd-coredump systemd-journal systemd-network systemd-oom systemd-resolve systemd-timesync tape tcpdump tss tty usbmux users utmp
uucp uuidd video voice wheel www-data`.split(/\s+/),
);

/** Whether a host surely or probably has a user or group of this name that no package brought. */
export const isBaseAccount = (name: string): boolean => ACCOUNTS.has(name);
