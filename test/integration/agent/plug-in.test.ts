import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { asRoot } from '../../harness/hosts/as-root.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { LONG } from '../../harness/run/long.ts';
import { loopDevices } from '../../harness/hosts/loop-devices.ts';
import { agentOnHost } from '../../harness/run/program-file.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestFleet,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const repository = resolve(import.meta.dirname, '../../..');
const UNITS = '/opt/deploy';
const agentHere = agentOnHost();
const STATUS = 'FLEET-STATUS.txt';

const CONFIG = 'services: none\\nplugIn: true\\nplugInFileSystems: [ext4]\\nlanguage: de\\n';

/**
 * With the name of a phase in /run/kill, kills the phase as soon as its progress file says that it began. With one in /run/pull, waits
 * before or after the phase until the test has pulled the stick out.
 */
const PROGRAM = `#!/bin/sh
begun() { grep -q "\\"$1ing\\"\\|\\"\${1%e}ing\\"" "/run/fleet-agent-medium/$2.json"; }
pull() {
  touch /media/pull
  until test ! -e /media/pull; do sleep 0.01; done
}
case "$1 $2" in
"plug-in $(cat /run/kill 2> /dev/null)")
  /usr/local/bin/node ${agentHere.file} "$@" &
  until begun "$2" "$3"; do kill -0 $! || break; done
  kill -9 $! $$ ;;
"plug-in $(cat /run/pull 2> /dev/null)")
  if [ "$(cat /run/pull-when)" = before ]; then pull; fi
  /usr/local/bin/node ${agentHere.file} "$@"
  code=$?
  if [ "$(cat /run/pull-when)" = after ]; then pull; fi
  exit $code ;;
esac
exec /usr/local/bin/node ${agentHere.file} "$@"
`;

type Stick = { readonly image: string; readonly device: string };

const TOO_EARLY = /^stopped NICHT ERLEDIGT: Der Stick wurde zu früh abgezogen/;
const TOO_EARLY_AFTERWARDS = /^attention .* ist installiert\. Der Stick wurde zu früh abgezogen/;

const root = async (...argv: readonly string[]): Promise<string> =>
  (await runOrFail(asRoot(argv))).stdout.trim();

describeWith(['factoryBase'], 'a medium that is plugged into a booted host', ({ factoryBase }) => {
  let host: FactoryHost;
  let media: TemporaryDirectory;
  let fleet: TestFleet;
  let key: string;
  const loops: string[] = [];
  let version = 0;

  const sh = (script: string): Promise<string> => host.sh(script);

  /** Writes a folder into the file system of a loop device that the host has; a device each, as on a machine. */
  const plug = async (loop: string, folder: string, { mib = 24, readOnly = false } = {}): Promise<Stick> => {
    const image = join(media.path, `${loop.slice(5)}.img`);
    await rm(image, { force: true });
    await runOrFail(['mkfs.ext4', '-q', '-m', '0', '-d', folder, image, `${mib}M`]);
    await root('losetup', ...(readOnly ? ['-r'] : []), loop, image);
    return { image, device: loop.slice(5) };
  };
  const unplug = async ({ device }: Stick): Promise<void> => {
    await root('losetup', '-d', `/dev/${device}`);
  };
  /** What udev knows, and the unit that it starts. */
  const start = async ({ device }: Stick, fileSystem = 'ext4'): Promise<number> => {
    const number = await sh(`cat /sys/class/block/${device}/dev`);
    await sh(`mkdir -p /run/udev/data; printf 'E:ID_FS_TYPE=${fileSystem}\\n' > /run/udev/data/b${number}`);
    return (await host.look(['systemctl', 'start', `fleet-agent-medium@${device}.service`])).code;
  };
  const journal = ({ device }: Stick): Promise<string> =>
    sh(`journalctl --sync; journalctl -o cat -u fleet-agent-medium@${device}.service`);
  const sign = (): Promise<string> => sh('cat /run/sign; rm -f /run/sign');
  const statusOn = ({ image }: Stick): Promise<string> => root('debugfs', '-R', `cat ${STATUS}`, image);

  /** A folder with the next release for a site. */
  const medium = async (site = 'plant-7'): Promise<string> => {
    version += 1;
    const files = {
      '/etc/line/version': `${version}\n`,
      // So that the file with it is the largest one of the medium, which the import reads last.
      '/etc/line/data': randomBytes(1 << 16).toString('base64'),
    };
    return writeTestMedium(join(media.path, `medium-${version}`), fleet, {
      site: { site, version, agents: [{ name: 'kiosk-1', key }] },
      release: { version, bundle: packTestBundle(fleet, [{ id: 'line', files }]) },
    });
  };
  /** Takes the largest file out of a medium: written into the file system later, it lies behind all others. */
  const takeLargest = async (folder: string): Promise<{ readonly name: string; readonly bytes: string }> => {
    const blobs = 'blobs/sha256';
    const names = await readdir(join(folder, blobs));
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, blobs, name))).size));
    const name = join(blobs, names[sizes.indexOf(Math.max(...sizes))] ?? '');
    const bytes = join(media.path, 'largest');
    await rename(join(folder, name), bytes);
    return { name, bytes };
  };
  /** Where the content of a file begins on the stick, which has nothing behind it. */
  const startOf = async ({ image }: Stick, name: string): Promise<number> => {
    const blocks = await root('debugfs', '-R', `blocks /${name}`, image);
    const [, size] = /^Block size: +(\d+)$/m.exec(await root('dumpe2fs', '-h', image)) ?? [];
    return Number(blocks.split(' ')[0]) * Number(size);
  };
  /** Pulls the stick out when the host waits for it: from there on its device reads so many bytes and writes nothing. */
  const pull = async ({ image, device }: Stick, readable: number): Promise<void> => {
    const asked = join(media.path, 'pull');
    await expect.poll(() => existsSync(asked), { interval: 20 }).toBe(true);
    await truncate(image, readable);
    await root('losetup', '--set-capacity', `/dev/${device}`);
    await root('rm', asked);
  };
  const blobs = async (): Promise<number> => Number(await sh('ls /var/lib/fleet-agent/blobs/sha256 | wc -l'));
  const installed = (): Promise<string> => sh('cat /etc/line/version 2> /dev/null || true');
  const mounts = (): Promise<string> => sh('grep -c fleet-agent-media/ /proc/self/mountinfo || true');
  const config = (text: string): Promise<string> => sh(`printf '${text}' > /etc/fleet-agent/agent.yaml`);

  beforeAll(async () => {
    media = await temporaryDirectory('plug-in');
    await mkdir(join(media.path, 'stick'));
    await writeFile(join(media.path, 'fleet-agent'), PROGRAM);
    fleet = await createTestFleet();
    const devices = await loopDevices(2);
    loops.push(...devices.map(({ path }) => path));
    const numbers = devices.map(({ number }) => number);
    host = await startFactoryHost('plug-in', {
      base: factoryBase,
      blockDevices: numbers,
      binds: [
        agentHere.bind,
        { from: join(repository, 'deploy'), to: UNITS, readOnly: true },
        { from: media.path, to: '/media' },
      ],
    });
    await sh(`cp '${UNITS}/systemd/fleet-agent-medium@.service' /etc/systemd/system
      cp /media/fleet-agent /usr/bin/fleet-agent
      mkdir -p /etc/fleet-agent /etc/default
      echo FLEET_NOW=2026-11-21T08:00:00Z > /etc/default/fleet-agent
      printf '#!/bin/sh\\necho "$FLEET_MEDIUM_OUTCOME $FLEET_MEDIUM_MESSAGE" > /run/sign\\n' > /etc/fleet-agent/medium-hook
      chmod 755 /usr/bin/fleet-agent /etc/fleet-agent/medium-hook
      systemctl daemon-reload`);
    for (const [index, loop] of loops.entries())
      await sh(`mknod ${loop} b ${numbers[index]?.replace(':', ' ')}`);
    const who = `--fleet ${fleet.name} --site plant-7 --name kiosk-1 --channel prod/factory-host`;
    const fingerprint = hexOf(digestOf(fleet.roots[0] ?? ''));
    await sh(
      `FLEET_NOW=2026-11-21T08:00:00Z fleet-agent enroll ${who} --root-sha256 ${fingerprint} /media/stick`,
    );
    const { request } = JSON.parse(await sh('cat /media/stick/fleet/requests/*.json')) as { request: string };
    key = parseCertificateRequest(request).key.pem;
    await config(CONFIG);
  });
  afterEach(async () => {
    for (const loop of loops) await runCommand(asRoot(['losetup', '-d', loop]));
  });
  afterAll(async () => {
    await host?.remove();
    await media?.[Symbol.asyncDispose]();
  });

  it('is imported and applied, receives the reports, is unmounted and signed off', async () => {
    const stick = await plug(loops[0] ?? '', await medium());
    expect(await start(stick), await journal(stick)).toBe(0);
    const said = await sign();
    expect(said).toContain('done FERTIG: Version 1 ist installiert.');
    expect(said).toContain('Der Stick kann abgezogen werden.');
    expect(await journal(stick)).toContain('FERTIG: Version 1 ist installiert.');
    expect(await installed()).toBe('1');
    expect(await mounts()).toBe('0');
    await unplug(stick);
    expect(await statusOn(stick)).toMatch(
      /^2026-11-21T08:00:00\.000Z plant-7\/kiosk-1\s+FERTIG: Version 1 ist installiert\./,
    );
    expect(await root('debugfs', '-R', 'ls -p fleet/reports', stick.image)).toMatch(/[0-9a-f]{32}/);
  });

  it('of another site is refused without being written to', async () => {
    const before = await installed();
    const stick = await plug(loops[0] ?? '', await medium('plant-8'));
    expect(await start(stick)).not.toBe(0);
    expect(await sign()).toContain('stopped NICHT ERLEDIGT: Der Stick ist für einen anderen Standort.');
    await unplug(stick);
    expect(await statusOn(stick)).toBe('');
    expect([await installed(), await mounts()]).toEqual([before, '0']);
  });

  it('is ignored when it is not a medium of Fleet Ferry', async () => {
    await mkdir(join(media.path, 'photos'), { recursive: true });
    await writeFile(join(media.path, 'photos', 'holiday.jpg'), 'JFIF');
    const stick = await plug(loops[0] ?? '', join(media.path, 'photos'));
    expect(await start(stick)).toBe(0);
    expect(await sign()).toBe('left-alone not a medium of Fleet Ferry: ignored');
    await unplug(stick);
    expect(await statusOn(stick)).toBe('');
  });

  it('is not mounted when its file system is not allowed, plugIn is off, or the configuration is invalid', async () => {
    const stick = await plug(loops[0] ?? '', join(media.path, 'photos'));
    await start(stick, 'ntfs');
    expect(await sign()).toContain('Der Stick ist mit ntfs formatiert.');
    await start(stick, 'crypto_LUKS');
    expect(await sign()).toContain('verschlüsselt');
    await config('services: none\\n');
    await start(stick);
    expect(await sign()).toBe('left-alone');
    await config('plugin: true\\n');
    await start(stick);
    expect(await sign()).toMatch(
      /^stopped NOT DONE: The settings of this machine are invalid.*agent\.yaml:1:1: there is no key "plugin"/,
    );
    await config(CONFIG);
    await unplug(stick);
  });

  it('is installed when it is write-protected, and the sign states that no reports are on it', async () => {
    const stick = await plug(loops[0] ?? '', await medium(), { readOnly: true });
    await start(stick);
    expect(await sign()).toMatch(/^attention .* ist installiert\. Der Stick ist schreibgeschützt/);
    expect(await installed()).toBe(String(version));
    await unplug(stick);
  });

  it('is installed when it is full, and the sign states that no reports are on it', async () => {
    const stick = await plug(loops[0] ?? '', await medium());
    const filled = `mkdir -p /mnt/full; mount /dev/${stick.device} /mnt/full
      dd if=/dev/zero of=/mnt/full/ballast bs=1k 2> /dev/null; umount /mnt/full`;
    await sh(filled);
    await start(stick);
    expect(await sign()).toMatch(/^attention .* ist installiert\. Der Stick ist voll/);
    expect(await installed()).toBe(String(version));
    await unplug(stick);
  });

  it('that a desktop has mounted is named as such, and may not be unplugged', async () => {
    const before = await installed();
    const stick = await plug(loops[0] ?? '', await medium());
    await sh(`mkdir -p /media-of-anna/STICK; mount /dev/${stick.device} /media-of-anna/STICK`);
    const exit = await start(stick);
    const said = await sign();
    await sh('umount /media-of-anna/STICK');
    expect(exit, await journal(stick)).not.toBe(0);
    expect(said).toBe(
      'stopped NICHT ERLEDIGT: Ein anderes Programm dieser Maschine hat den Stick geöffnet (/media-of-anna/STICK). Bitte dort auswerfen und noch einmal einstecken; wenn das nicht hilft, die Zentrale anrufen. Der Stick ist noch in Gebrauch: bitte die Maschine ausschalten, bevor er abgezogen wird.',
    );
    expect([await installed(), await mounts()]).toEqual([before, '0']);
    expect(await start(stick), await journal(stick)).toBe(0);
    expect(await sign()).toContain('Der Stick kann abgezogen werden.');
    expect(await installed()).toBe(String(version));
    await unplug(stick);
  });

  it('waits for another one that is being imported', async () => {
    const [first, second] = [await medium(), await medium()];
    const sticks = [await plug(loops[0] ?? '', first), await plug(loops[1] ?? '', second)];
    await Promise.all(sticks.map((stick) => start(stick)));
    expect(await installed()).toBe(String(version));
    expect(await mounts()).toBe('0');
    for (const stick of sticks) await unplug(stick);
  });

  const pulled = [
    ['when the import reads its last file', 'take', 'before', 'files', TOO_EARLY],
    ['before the reports', 'report', 'before', 'whole', TOO_EARLY_AFTERWARDS],
    ['before the import', 'take', 'before', 'whole', TOO_EARLY],
    ['after the import', 'take', 'after', 'whole', TOO_EARLY_AFTERWARDS],
  ] as const;
  it.each(LONG ? pulled : pulled.slice(0, 2))(
    'is reported with its message when it is pulled out %s',
    async (_title, phase, moment, part, sentence) => {
      const before = await installed();
      const stored = await blobs();
      const folder = await medium();
      const { name, bytes } = await takeLargest(folder);
      const stick = await plug(loops[0] ?? '', folder);
      await root('debugfs', '-w', '-R', `write ${bytes} /${name}`, stick.image);
      await rename(bytes, join(folder, name));
      const readable = part === 'whole' ? 0 : await startOf(stick, name);
      await sh(`echo ${moment} > /run/pull-when; echo ${phase} > /run/pull`);
      const [exit] = await Promise.all([start(stick), pull(stick, readable)]);
      expect(exit).not.toBe(0);
      await sh('rm /run/pull');
      expect(await sign()).toMatch(sentence);
      expect(await mounts()).toBe('0');
      await unplug(stick);
      expect(await installed()).toBe(sentence === TOO_EARLY ? before : String(version));
      if (part === 'files') expect(await blobs()).toBeGreaterThan(stored);

      const again = await plug(loops[0] ?? '', folder);
      expect(await start(again), await journal(again)).toBe(0);
      expect(await sign()).toContain('done FERTIG');
      expect(await installed()).toBe(String(version));
      await unplug(again);
    },
  );

  it.each(LONG ? ['take', 'report'] : ['take'])(
    'is unmounted and can be plugged in again after kill -9 in %s',
    async (phase) => {
      const stick = await plug(loops[0] ?? '', await medium());
      await sh(`echo ${phase} > /run/kill`);
      expect(await start(stick)).not.toBe(0);
      expect(await sign()).toContain('Der Vorgang wurde unterbrochen.');
      expect(await mounts()).toBe('0');
      await sh('rm /run/kill');
      expect(await start(stick), await journal(stick)).toBe(0);
      expect(await sign()).toContain('done FERTIG');
      expect(await installed()).toBe(String(version));
      await unplug(stick);
    },
  );
});
