import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestPackage } from '../../../harness/fleets/signed-medium.ts';
import { type SiteHost, startSiteHost } from '../debs-host/site-host.ts';

/** Where RAUC calls the boot loader of the test, and its record of these calls. */
const LOADER = '/var/lib/loader';

/**
 * The part of a boot loader that RAUC talks to (its `custom` backend), with the variables of U-Boot: an order of slots, and how often each may
 * still be tried. A call waits a moment before it has an effect and after, so that a test can cut the power there.
 */
const BACKEND = `#!/bin/sh
set -eu
cd ${LOADER}
. ./env
save() { printf 'ORDER="%s"\\nA=%s\\nB=%s\\n' "$ORDER" "$A" "$B" > env.new && sync env.new && mv env.new env && sync .; }
note() { echo "$1" >> calls; sleep 0.3; }
other() { if [ "$1" = A ]; then echo B; else echo A; fi; }
case $1 in
  get-primary)
    for slot in $ORDER; do if [ "$(eval echo "\\$$slot")" -gt 0 ]; then echo "$slot" && exit; fi; done
    exit 1 ;;
  get-state) if [ "$(eval echo "\\$$2")" -gt 0 ]; then echo good; else echo bad; fi ;;
  get-current) . /run/slot && echo "$SLOT" ;;
  set-primary) note "begin $*"; ORDER="$2 $(other "$2")"; eval "$2=3"; save; note "done $*" ;;
  set-state) note "begin $*"; if [ "$3" = good ]; then eval "$2=3"; else eval "$2=0"; fi; save; note "done $*" ;;
esac
`;

/** What a boot loader and an initramfs do: it counts the boot, and mounts the first slot that has a system. */
const BOOT = `#!/bin/sh
set -eu
cd ${LOADER}
for minor in $(seq 0 31); do [ -e /dev/loop$minor ] || mknod /dev/loop$minor b 7 $minor; done
[ -e /dev/loop-control ] || mknod /dev/loop-control c 10 237
. ./env
for slot in $ORDER; do
  left=$(eval echo "\\$$slot")
  [ "$left" -gt 0 ] || continue
  eval "$slot=$((left - 1))"
  printf 'ORDER="%s"\\nA=%s\\nB=%s\\n' "$ORDER" "$A" "$B" > env.new && sync env.new && mv env.new env
  mount -o ro,loop -t squashfs /var/lib/slots/$slot.img /opt/system || continue
  echo "SLOT=$slot" > /run/slot
  echo "$slot $(cat /opt/system/version)" >> boots
  exit
done
exit 1
`;

const BOOT_UNIT = `[Unit]
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=${LOADER}/boot
[Install]
WantedBy=sysinit.target
`;

const SERVICE = `[Service]
EnvironmentFile=/run/slot
ExecStart=
ExecStart=/usr/bin/rauc --mount=/run/rauc service --override-boot-slot=\${SLOT}
`;

const SYSTEM = `[system]
compatible=press
bootloader=custom
statusfile=/var/lib/slots/status
mountprefix=/run/rauc
[keyring]
path=/etc/rauc/keyring.pem
[handlers]
bootloader-custom-backend=${LOADER}/backend
[slot.rootfs.0]
device=/var/lib/slots/A.img
type=raw
bootname=A
[slot.rootfs.1]
device=/var/lib/slots/B.img
type=raw
bootname=B
`;

/** Makes /media/bundles/VERSION.raucb. HOW: good, sick (its self-test fails), empty (no system), foreign (signed by an unknown key). */
const MAKE = `#!/bin/sh
set -eu
version=$1 how=$2
work=$(mktemp -d /var/tmp/bundle.XXXXXX)
mkdir -p "$work/system" "$work/content" /media/bundles
echo "$version" > "$work/system/version"
printf '#!/bin/sh\\necho "%s" >> ${LOADER}/tests\\nsleep 1\\necho "the press does not answer"\\n%s\\n' "$version" "$([ "$how" = sick ] && echo 'exit 1' || echo 'exit 0')" > "$work/system/selftest"
chmod 755 "$work/system/selftest"
mksquashfs "$work/system" "$work/content/rootfs.img" -quiet -no-progress > /dev/null
if [ "$how" = empty ]; then head -c 65536 /dev/zero > "$work/content/rootfs.img"; fi
truncate -s 1M "$work/content/rootfs.img"
if [ "$how" != factory ]; then
  printf '[update]\\ncompatible=press\\nversion=%s\\n[bundle]\\nformat=plain\\n[image.rootfs]\\nfilename=rootfs.img\\n' "$version" > "$work/content/manifest.raucm"
  key=/media/keys/key; if [ "$how" = foreign ]; then key=/media/keys/foreign; fi
  rauc --cert $key.crt --key $key.pem bundle "$work/content" "/media/bundles/$version.raucb" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
else
  cp "$work/content/rootfs.img" /var/lib/slots/A.img
  cp "$work/content/rootfs.img" /var/lib/slots/B.img
fi
rm -rf "$work"
`;

const FILES: Readonly<Record<string, string>> = {
  [`${LOADER}/backend`]: BACKEND,
  [`${LOADER}/boot`]: BOOT,
  [`${LOADER}/make`]: MAKE,
  [`${LOADER}/env`]: 'ORDER="A B"\nA=3\nB=0\n',
  '/etc/rauc/system.conf': SYSTEM,
  // As docs/content.md has it.
  '/etc/dbus-1/system.d/rauc-root-only.conf': `<busconfig>
  <policy context="default"><deny send_destination="de.pengutronix.rauc"/></policy>
  <policy user="root"><allow send_destination="de.pengutronix.rauc"/></policy>
</busconfig>
`,
  '/etc/systemd/system/boot-loader.service': BOOT_UNIT,
  '/etc/systemd/system/rauc.service.d/slot.conf': SERVICE,
  '/etc/systemd/system/fleet-agent.service.d/soon.conf': '[Service]\nRestartSec=1s\n',
  '/etc/fleet-agent/agent.yaml': 'interval: 2s\n',
  '/etc/default/fleet-agent': 'FLEET_NOW=2026-11-21T08:00:00Z\n',
};

export type HowMade = 'good' | 'sick' | 'empty' | 'foreign';

/** A host that boots from slot A, as the factory made it, with RAUC and two slots that are files. */
export const startSlotsHost = async (name: string, base: string, packages: string) => {
  const site = await startSiteHost(name, base, [{ from: packages, to: '/debs', readOnly: true }], {
    loops: true,
  });
  const { host, sh } = site;
  const write = async (path: string, text: string): Promise<void> => {
    const mode = text.startsWith('#!') ? '755' : '644';
    const { code, stderr } = await host.look(
      ['/bin/sh', '-c', `mkdir -p "$(dirname ${path})" && cat > ${path} && chmod ${mode} ${path}`],
      { input: text },
    );
    if (code !== 0) throw new Error(stderr);
  };
  await sh('dpkg -i /debs/*.deb > /run/installed 2>&1 || { cat /run/installed; exit 1; }');
  for (const [path, text] of Object.entries(FILES)) await write(path, text);
  await sh(`mkdir -p /opt/system /var/lib/slots /media/keys
    cd /media/keys
    for name in key foreign; do
      openssl req -x509 -newkey rsa:2048 -nodes -keyout $name.pem -out $name.crt -days 3650 -subj /CN=$name 2> /dev/null
    done
    cp key.crt /etc/rauc/keyring.pem
    ${LOADER}/make 1 factory
    systemctl daemon-reload
    systemctl enable boot-loader.service fleet-agent.service 2> /dev/null`);
  await host.stop();
  await host.start();

  const onDisk = (file: string): Promise<string> =>
    readFile(join(host.diskDir, LOADER, file), 'utf8').catch(() => '');
  return {
    ...site,
    /** Whether the host has written a file. Also while it is down. */
    isThere: async (path: string): Promise<boolean> => existsSync(join(host.diskDir, path)),
    /** A package with the system of a version, whose self-test is its check. */
    system: async (version: string, how: HowMade = 'good'): Promise<TestPackage> => {
      await sh(`${LOADER}/make ${version} ${how}`);
      return {
        id: 'system',
        files: {},
        rauc: { version, bytes: await readFile(join(site.media, 'bundles', `${version}.raucb`)) },
        checks: [{ type: 'exec', name: 'selftest', argv: ['/opt/system/selftest'], timeoutSeconds: 20 }],
      };
    },
    /** 'A 1', 'B 2': what was booted, the oldest first. Also while the host is down. */
    boots: async (): Promise<readonly string[]> => (await onDisk('boots')).trim().split('\n'),
    /** What RAUC asked of the boot loader, as 'begin set-primary B'. Also while the host is down. */
    calls: async (): Promise<readonly string[]> => (await onDisk('calls')).trim().split('\n'),
    /** Versions whose self-test was run. Also while the host is down. */
    tests: async (): Promise<readonly string[]> => (await onDisk('tests')).trim().split('\n'),
  };
};

export type SlotsHost = SiteHost & Awaited<ReturnType<typeof startSlotsHost>>;
