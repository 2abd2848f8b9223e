/**
 * `npm run bench plug-in`: a stick of one large release on a booted Debian, from the start of the unit that udev starts to its end:
 * mounted, verified, applied, reports written, unmounted. Beside it, in turn, `cp -r` and `sync` of the same stick. FLEET_BENCH_MB
 * (1024), FLEET_BENCH_ROUNDS (3), FLEET_BENCH_DISK (ext4, btrfs, xfs): the file system of the agent's store and of the files, on a
 * loop device that the agent and `cp` share.
 */
import { randomFillSync } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { getPriority, loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { sum } from '../bundles/sum.ts';
import { asRoot } from '../test/harness/hosts/as-root.ts';
import { bundleAgent } from '../test/harness/run/bundle-agent.ts';
import { loopDevices } from '../test/harness/hosts/loop-devices.ts';
import { runCommand, runOrFail } from '../test/harness/run/run-command.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { startSiteHost } from '../test/integration/hosts/debs-host/site-host.ts';
import { gatherPart } from './gather-part.ts';
import { median } from './measure.ts';
import { figure, formatTable } from './table.ts';

const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 3);
const MEGABYTES = Number(process.env['FLEET_BENCH_MB'] ?? 1024);
const DISK = process.env['FLEET_BENCH_DISK'] ?? 'ext4';
const FILES = 16;

await using folder = await temporaryDirectory('bench-plug-in');
await bundleAgent(join(folder.path, 'agent'));
const [device, disk] = await loopDevices(2);
if (!device || !disk) throw new Error('no loop device');
const unit = `fleet-agent-medium@${basename(device.path)}.service`;
await using site = await startSiteHost(
  'bench-plug-in',
  await gatherPart('factoryBase'),
  [{ from: folder.path, to: '/opt/programs', readOnly: true }],
  { blockDevices: [device.number, disk.number] },
);
await site.sh(
  `printf '#!/bin/bash\\n/usr/local/bin/node /opt/programs/agent/fleet-agent.mjs "$@"; code=$?; times >> /run/times; exit $code\\n' > /usr/bin/fleet-agent
   mkdir -p /etc/fleet-agent /run/udev/data /mnt
   printf 'plugIn: true\\nplugInFileSystems: [ext4]\\n' > /etc/fleet-agent/agent.yaml
   echo FLEET_NOW=2026-11-21T08:00:00Z > /etc/default/fleet-agent
   mkdir -p /etc/systemd/system/fleet-agent-medium@.service.d
   printf '[Service]\\nNice=${getPriority()}\\n' > /etc/systemd/system/fleet-agent-medium@.service.d/nice.conf
   systemctl daemon-reload
   mount --make-rshared /
   mknod ${device.path} b ${device.number.replace(':', ' ')}
   printf 'E:ID_FS_TYPE=ext4\\n' > /run/udev/data/b${device.number}`,
);

const diskImage = join(folder.path, 'disk.img');
await runOrFail(['truncate', '-s', `${4 * MEGABYTES + 2048}M`, diskImage]);
await runOrFail([`mkfs.${DISK}`, '-q', diskImage]);
await runOrFail(asRoot(['losetup', disk.path, diskImage]));
await using _disk = {
  [Symbol.asyncDispose]: async () => void (await runCommand(asRoot(['losetup', '-d', disk.path]))),
};
await site.sh(
  `mknod ${disk.path} b ${disk.number.replace(':', ' ')} && mkdir -p /disk && mount ${disk.path} /disk
   mkdir -m 700 /disk/agent && mkdir /disk/srv && cp -a /var/lib/fleet-agent/. /disk/agent
   mount --bind /disk/agent /var/lib/fleet-agent && mount --bind /disk/srv /srv`,
);

/** CPU seconds that `times` of Bash said in these lines. */
const cpuOf = (said: string): number =>
  sum(
    [...said.matchAll(/(\d+)m([\d.]+)s/g)].map(
      ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
    ),
  );

/** Wall seconds. */
const timed = async (script: string): Promise<number> => {
  const said = await site.sh(
    `begin=$(date +%s%N); { ${script}; } > /tmp/said 2>&1 || { cat /tmp/said; journalctl -o cat -u ${unit} | tail -n 20; exit 1; }; end=$(date +%s%N); echo $((end - begin))`,
  );
  return Number(said) / 1e9;
};

const copies: number[] = [];
const plugged: number[] = [];
const copyCpu: number[] = [];
const pluggedCpu: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const size = Math.floor((MEGABYTES * 1_000_000) / FILES);
  const blobs = Object.fromEntries(
    Array.from({ length: FILES }, (_, index) => [
      `/srv/model/${index}.bin`,
      randomFillSync(Buffer.alloc(size)),
    ]),
  );
  const words = await site.release({ id: 'model', files: { '/etc/model.conf': `${round}\n` }, blobs });
  const medium = join(site.media, basename(words.split(' ').at(-1) ?? ''));
  const image = join(folder.path, 'stick.img');
  await rm(image, { force: true });
  await runOrFail(['mkfs.ext4', '-q', '-m', '0', '-d', medium, image, `${MEGABYTES + 256}M`]);
  await rm(medium, { recursive: true });
  await runOrFail(asRoot(['losetup', device.path, image]));
  try {
    const mount = `mount -o ro ${device.path} /mnt`;
    const copy = "bash -c 'cp -r /mnt /srv/copy && sync -f /srv/copy && times > /run/times'";
    copies.push(await timed(`${mount} && ${copy} && umount /mnt`));
    copyCpu.push(cpuOf(await site.sh('cat /run/times; rm -r /run/times /srv/copy; sync')));
    plugged.push(await timed(`systemctl start ${unit}`));
    pluggedCpu.push(cpuOf(await site.sh('cat /run/times; rm /run/times')));
    await site.sh(`grep -qx ${round} /etc/model.conf && test -s /srv/model/${FILES - 1}.bin`);
  } finally {
    await runCommand(asRoot(['losetup', '-d', device.path]));
  }
}
const row = (what: string, wall: readonly number[], cpu: readonly number[]): string[] => [
  what,
  figure(median(wall)),
  figure(median(wall) / median(copies)),
  figure(median(cpu)),
  figure(median(cpu) / median(copyCpu)),
];
process.stdout.write(
  `\nA stick of ${MEGABYTES} MB onto ${DISK}, median of ${ROUNDS}; load ${loadavg()[0]?.toFixed(1)}.\n\n`,
);
process.stdout.write(
  `${formatTable(
    ['what', 'wall s', 'x', 'cpu s', 'x'],
    [
      row('cp -r, sync', copies, copyCpu),
      row('plugged in to applied, reported and unmounted', plugged, pluggedCpu),
    ],
  )}\n`,
);
