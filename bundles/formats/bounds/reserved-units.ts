/** Names of units, without instance and suffix, that come with Debian's base system or that hosts of its kind need to boot, log in or be reached. */
const RESERVED = new Set(
  `acpid anacron apparmor apt-daily apt-daily-upgrade atd auditd autovt avahi-daemon basic blockdev bluetooth boot-complete breakpoint-pre-basic
breakpoint-pre-mount breakpoint-pre-switch-root breakpoint-pre-udev capsule chrony chronyd cloud-config cloud-final cloud-init console-getty
container-getty containerd cron crond cronie cryptdisks cryptdisks-early cryptsetup cryptsetup-pre ctrl-alt-del dbus dbus-broker debug-shell default
dev-hugepages dev-mqueue dhclient dhcpcd dm-event docker dpkg-db-backup e2scrub e2scrub-all emergency exit factory-reset factory-reset-now final
firewalld first-boot-complete fstrim getty getty-pre getty-static graphical grub-common halt hibernate hwclock hybrid-sleep ifup ifupdown-pre imports
imports-pre init initrd initrd-cleanup initrd-fs initrd-parse-etc initrd-root-device initrd-root-fs initrd-switch-root initrd-udevadm-cleanup-db
initrd-usr-fs integritysetup integritysetup-pre iptables irqbalance iscsid k3s k3s-agent kexec keyboard-setup kmod kmod-static-nodes kubelet ldconfig
local-fs local-fs-pre logrotate lvm2-lvmpolld lvm2-monitor machine machines man-db mdmonitor modprobe multi-user multipathd netplan network
network-online network-pre networking nftables nss-lookup nss-user-lookup ntp ntpd ntpsec open-iscsi paths plymouth podman polkit polkitd poweroff
printer procps quotaon quotaon-root rc rc-local reboot remote-cryptsetup remote-fs remote-fs-pre remote-veritysetup rescue resolvconf rpcbind rsyslog
run-lock runlevel0 runlevel1 runlevel2 runlevel3 runlevel4 runlevel5 runlevel6 serial-getty session shutdown sigpwr sleep slices smartcard snapd
sockets soft-reboot sound ssh ssh-access sshd storage-target-mode sudo suspend suspend-then-hibernate swap sysinit syslog sysstat system
system-install system-update system-update-cleanup system-update-pre time-set time-sync timers tmp tpm2 udev udisks2 ufw umount unattended-upgrades
usb-gadget user user-runtime-dir veritysetup veritysetup-pre vgauth x11-common zram-swap`.split(/\s+/),
);

/** Whether the units `name.*` and `name@*` are the system's, so that the name alone does not give them to a team. */
export const isReservedUnit = (name: string): boolean =>
  RESERVED.has(name) || /^(?:systemd|dbus-org|dev|sys|proc|init)-/.test(name);
