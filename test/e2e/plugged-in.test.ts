import { createReadStream } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { digestOf, hexOf } from '#bundles/digest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildDebs } from '../../bundling/debian/build-debs.ts';
import { asRoot } from '../harness/as-root.ts';
import { bundleAgent } from '../harness/bundle-agent.ts';
import { describeWith } from '../harness/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../harness/factory-host.ts';
import { LONG } from '../harness/long.ts';
import { loopDevices } from '../harness/loop-devices.ts';
import { PROGRAMS_VARIABLE } from '../harness/program-file.ts';
import { runCommand, runOrFail, succeed } from '../harness/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../harness/temporary-directory.ts';
import { type Office, openOffice } from './office.ts';

const SITE = 'plant-7';
const CSV = `site,name,channel,match\n${SITE},press-2,prod/factory-host,hostname=plugged-in\n`;
const CONFIG = 'plugIn: true\\nplugInFileSystems: [ext4]\\n';

const PLACE = '/var/lib/fleet-agent/upgrade';
const UPGRADED = `until test "$(systemctl is-active fleet-agent)" = active -a ! -e ${PLACE}/trial; do sleep 0.2; done`;

/** The steps of an upgrade of the agent by a stick, in their order: what is true when each has begun. */
const STEPS: readonly (readonly [title: string, sign: string])[] = [
  ['the stick is read', 'grep -q taking /run/fleet-agent-medium/*.json'],
  ['dpkg unpacks the new version', 'test -e /usr/lib/fleet-agent/node.dpkg-new'],
  ['apt is started', `systemctl list-units --state=activating 'fleet-agent-runner@*' | grep -q loaded`],
  ['the version before is kept', `test -e ${PLACE}/old`],
  ['the new version is on trial', `test -e ${PLACE}/trial`],
  ['dpkg configures the new version', 'tail -n 1 /var/log/dpkg.log | grep -q half-configured'],
  ['the database is copied', `test -e ${PLACE}/state.new -o -e ${PLACE}/state`],
  ['the new version is started', `test -e ${PLACE}/state && systemctl is-active --quiet fleet-agent`],
  ['the new version has completed a look', `test -e ${PLACE}/healthy`],
  ['the reports are written', 'grep -q reporting /run/fleet-agent-medium/*.json'],
];

/** The one step that a usual run tries. */
const USUAL = 'the new version is started';

/** The same of the way back from a version that does not come up. */
const STEPS_BACK: readonly (readonly [title: string, sign: string])[] = [
  ['the way back begins', `test -e ${PLACE}/back`],
  ['dpkg unpacks the old version', `test -e ${PLACE}/back -a -e /usr/lib/fleet-agent/node.dpkg-new`],
  ['the database is restored', `test -e ${PLACE}/restore`],
  ['the old version is started', `test ! -e ${PLACE}/trial && systemctl is-active --quiet fleet-agent`],
];

type HistoryEvent = {
  readonly seq: number;
  readonly type: string;
  readonly assignment?: string;
  readonly outcome?: string;
  readonly message?: string;
};

const root = async (...argv: readonly string[]): Promise<string> =>
  (await runOrFail(asRoot(argv))).stdout.trim();

describeWith(
  ['factoryBase'],
  'a host with the Debian package, no network and no keyboard',
  ({ factoryBase }) => {
    let office: Office;
    let folder: TemporaryDirectory;
    let media: TemporaryDirectory;
    let host: FactoryHost;
    let stick: string;
    let loop: string;
    let number: string;
    let server: Server;
    let unit: string;
    let buildAgent: (out: string, version?: string) => Promise<string>;

    const sh = async (script: string): Promise<string> => {
      const { code, stdout, stderr } = await host.exec(['/bin/sh', '-c', script]);
      if (code !== 0) throw new Error(`'${script}' ended with ${code}: ${stdout}${stderr}`);
      return stdout.trim();
    };

    beforeAll(async () => {
      folder = await temporaryDirectory('office');
      media = await temporaryDirectory('media');
      stick = join(media.path, 'stick');
      await mkdir(stick);
      office = await openOffice(folder.path);
      await office.build();
      const programs = process.env[PROGRAMS_VARIABLE] ?? join(media.path, 'programs');
      if (process.env[PROGRAMS_VARIABLE] === undefined) await bundleAgent(join(programs, 'agent'));
      buildAgent = async (out, version) => {
        const [file = ''] = await buildDebs({
          programs,
          out: join(media.path, out),
          epoch: 1_795_478_400,
          compression: 'none',
          names: ['fleet-agent'],
          ...(version !== undefined && { version }),
        });
        return file;
      };
      await buildAgent('debs');
      const [device] = await loopDevices(1);
      loop = device?.path ?? '';
      number = device?.number ?? '';
      unit = `fleet-agent-medium@${basename(loop)}.service`;
      host = await startFactoryHost('plugged-in', {
        base: factoryBase,
        node: false,
        blockDevices: [number],
        binds: [{ from: media.path, to: '/media' }],
      });
      await afterBoot();
    });
    afterAll(async () => {
      server?.close();
      await host?.remove();
      if (loop) await runCommand(asRoot(['losetup', '-d', loop]));
      await media?.[Symbol.asyncDispose]();
      await folder?.[Symbol.asyncDispose]();
    });

    const afterBoot = () =>
      // As systemd does on a machine, but not in namespaces: else services that start meanwhile keep the medium mounted.
      sh(`mount --make-rshared /
        mknod ${loop} b ${number.replace(':', ' ')}; mkdir -p /run/udev/data
        printf 'E:ID_FS_TYPE=ext4\\n' > /run/udev/data/b${number}`);

    /** Everything that the hub has of this host, without a gap. */
    const history = async (): Promise<readonly HistoryEvent[]> => {
      const words = ['--site', SITE, '--limit', '1000', '--json'];
      const { stdout } = succeed(await office.scheduler('events', ...words));
      const { events } = JSON.parse(stdout) as {
        readonly events: readonly { readonly event: HistoryEvent }[];
      };
      const ordered = events.map(({ event }) => event).toSorted((a, b) => a.seq - b.seq);
      expect(ordered.map(({ seq }) => seq)).toEqual(ordered.map((_, index) => index + 1));
      return ordered;
    };

    /** Plugs the folder in, and cuts the power as soon as the command succeeds. */
    const cutPower = async (sign: string): Promise<void> => {
      await plug();
      await sh(
        `systemctl start --no-block ${unit}; timeout 120 sh -c 'until ${sign.replaceAll("'", `'\\''`)}; do sleep 0.01; done'`,
      );
      await host.crash();
      await root('losetup', '-d', loop);
      await host.start();
      await afterBoot();
    };

    /** Makes the folder a stick that is plugged in. */
    const plug = async (): Promise<string> => {
      const image = join(media.path, 'stick.img');
      await rm(image, { force: true });
      await runOrFail(['mkfs.ext4', '-q', '-m', '0', '-d', stick, image, '512M']);
      await root('losetup', loop, image);
      return image;
    };

    /** Carries the folder to the host as a stick, starts the unit that udev would start, and carries what is on it back. */
    const plugIn = async (): Promise<string> => {
      const image = await plug();
      const { code } = await host.exec(['systemctl', 'start', unit]);
      const said = await sh(
        `journalctl --sync; journalctl -o cat -u ${unit} | grep -o 'DONE.*' | tail -n 1 || true`,
      );
      await root('losetup', '-d', loop);
      if (code !== 0 && !said.startsWith('DONE, BUT'))
        throw new Error(await sh(`journalctl -o cat -u ${unit} | tail -n 20`));
      await rm(stick, { recursive: true });
      await mkdir(stick);
      await root('debugfs', '-R', `rdump / ${stick}`, image);
      await rm(join(stick, 'lost+found'), { recursive: true, force: true });
      return said;
    };

    it('is enrolled by a stick, runs what the next one brings, and its whole history comes home', async () => {
      expect((await host.exec(['/bin/sh', '-c', 'command -v node'])).code).not.toBe(0);
      expect(await sh('ip -o link | grep -vc " lo:" || true')).toBe('0');
      await sh('dpkg -i /media/debs/*.deb');
      await sh(`printf '${CONFIG}' > /etc/fleet-agent/agent.yaml`);

      await writeFile(join(folder.path, 'hosts.csv'), CSV);
      succeed(await office.scheduler('tokens', 'hosts', 'hosts.csv', '--out', join(stick, 'hosts.json')));
      await sh(
        `fleet-agent enroll --hosts /media/stick/hosts.json --root-sha256 ${office.rootSha256} --force-path /media/stick`,
      );
      succeed(await office.scheduler('sites', 'enroll', stick));
      await rm(join(stick, 'hosts.json'));
      succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=7'));
      await office.fill(stick, SITE);

      expect(await plugIn()).toMatch(
        /^DONE: Release \d+ is installed\. \d+ events .* You can unplug the stick\.$/,
      );
      expect(await sh('systemctl is-active scale-reader label-printer')).toBe('active\nactive');
      succeed(await office.scheduler('reports', 'import', stick));

      // Somebody helps, and the next release comes.
      await sh('systemctl start fleet-agent; echo x > /etc/label-printer/label.zpl');
      await sh('timeout 120 sh -c "until grep -q Halden /etc/label-printer/label.zpl; do sleep 0.5; done"');
      await office.edit('apps/scale-reader/host/scale.json', (text) =>
        text.replace('"decimals": 3', '"decimals": 2'),
      );
      await office.build();
      await office.fill(stick, SITE, '--for', stick);
      expect(await plugIn()).toMatch(/^DONE: Release \d+ is installed\./);
      expect(await sh('cat /etc/scale-reader/scale.json')).toMatch(/"decimals": ?2/);
      succeed(await office.scheduler('reports', 'import', stick));

      // A third visit carries receipts out and the last events home.
      await office.fill(stick, SITE, '--for', stick);
      await plugIn();
      succeed(await office.scheduler('reports', 'import', stick));
      const types = (await history()).map(({ type }) => type);
      expect(types).toEqual(
        expect.arrayContaining(['enrolled', 'imported', 'package', 'check', 'drift', 'corrected', 'receipt']),
      );
      const { rows } = (await office.status()) as {
        readonly rows: readonly { readonly assignment: string; readonly verdict: string }[];
      };
      expect(rows.map(({ assignment, verdict }) => `${assignment} ${verdict}`)).toEqual([
        'label-printer-host complies',
        'scale-reader-host complies',
      ]);
    });

    /** A release that brings this Debian package of the agent, on the stick. */
    const releaseAgent = async (file: string): Promise<void> => {
      await writeFile(join(folder.path, 'apps/line-agent/host/package.yaml'), agentPackage(file));
      await office.build();
      await office.fill(stick, SITE, '--for', stick);
    };
    const agentPackage = (file: string): string => {
      const { port } = server.address() as AddressInfo;
      return `apiVersion: fleet-ferry/v1alpha1
kind: HostPackage
metadata: {name: line-agent}
spec:
  debs:
    - url: http://127.0.0.1:${port}/${file}
      sha256: ${digests.get(file)}
  install:
    packages: [{name: fleet-agent, adopt: true}]
`;
    };
    const digests = new Map<string, string>();
    const agentVersion = () => sh('dpkg-query --show fleet-agent | cut -f 2; dpkg --audit');
    const historyOf = async (assignment: string): Promise<readonly string[]> => {
      const own = (await history()).filter((event) => event.assignment === assignment);
      return own.map(({ type, outcome, message }) =>
        [type, outcome, message].filter((it) => it !== undefined).join(' '),
      );
    };

    it('upgrades its agent from the release, and goes back without help from one that does not come up', async () => {
      server = createServer((request, response) => {
        createReadStream(join(media.path, 'published', basename(request.url ?? ''))).pipe(response);
      }).listen(0, '127.0.0.1');
      const publish = async (
        version: string,
        change?: (unpacked: string) => Promise<void>,
      ): Promise<string> => {
        const made = await buildAgent('published', version);
        if (change) {
          const unpacked = join(media.path, `unpacked-${version}`);
          await runOrFail(['dpkg-deb', '-R', made, unpacked]);
          await change(unpacked);
          await runOrFail(['dpkg-deb', '-Znone', '--root-owner-group', '-b', unpacked, made]);
        }
        digests.set(basename(made), hexOf(digestOf(await readFile(made))));
        return basename(made);
      };
      const [one, two] = [await publish('99.0.0'), await publish('99.1.0')];
      /** Migrates the database and ends. */
      const publishBad = (version: string): Promise<string> =>
        publish(version, (unpacked) =>
          writeFile(
            join(unpacked, 'usr/lib/fleet-agent/fleet-agent.mjs'),
            `#!/usr/lib/fleet-agent/node
            import { DatabaseSync } from 'node:sqlite';
            new DatabaseSync('/var/lib/fleet-agent/state.db').exec('PRAGMA user_version = 999');
            process.exit(3);`,
          ),
        );
      await mkdir(join(folder.path, 'apps/line-agent/host'), { recursive: true });
      for (const file of ['apps/ID/workload/workload.yaml', 'platform/base/workloads/ID.yaml']) {
        const like = await readFile(join(folder.path, file.replace('ID', 'scale-reader')), 'utf8');
        const path = join(folder.path, file.replace('ID', 'line-agent'));
        await mkdir(join(path, '..'), { recursive: true });
        await writeFile(
          path,
          like.replaceAll('scale-reader', 'line-agent').replaceAll(/ +critical: true\n/g, ''),
        );
      }

      await releaseAgent(one);
      expect(await plugIn()).toMatch(/^DONE: Release \d+ is installed\./);
      expect(await agentVersion()).toBe('99.0.0');

      await releaseAgent(await publishBad('99.2.0'));
      expect(await plugIn()).toMatch(/^DONE, BUT CALL THE OFFICE: These packages failed: line-agent-host\./);
      expect(await agentVersion()).toBe('99.0.0');
      expect(await sh('systemctl is-active fleet-agent scale-reader')).toBe('active\nactive');
      succeed(await office.scheduler('reports', 'import', stick));
      expect(await historyOf('line-agent-host')).toEqual([
        'package created',
        expect.stringMatching(
          /^package failed .*fleet-agent 99\.2\.0 did not come up on this host: it ended 3 times .*with status 3/,
        ),
        expect.stringMatching(/^rolled-back configured /),
      ]);

      let [next, other] = [two, one];
      for (const [title, sign] of LONG ? STEPS : STEPS.filter(([title]) => title === USUAL)) {
        await releaseAgent(next);
        await cutPower(sign);
        // Of a release that was accepted the rest comes without the stick.
        await sh(`timeout 300 sh -c '${UPGRADED}'`);
        expect(await plugIn(), title).toMatch(/^DONE: /);
        expect(await agentVersion(), title).toBe(next.split('_')[1]);
        succeed(await office.scheduler('reports', 'import', stick));
        [next, other] = [other, next];
      }
      for (const [index, [title, sign]] of (LONG ? STEPS_BACK : []).entries()) {
        await releaseAgent(await publishBad(`99.3.${index}`));
        await cutPower(sign);
        await sh(`timeout 300 sh -c '${UPGRADED}'`);
        expect(await plugIn(), title).toMatch(
          /^DONE, BUT CALL THE OFFICE: These packages failed: line-agent-host\./,
        );
        expect(await agentVersion(), title).toBe(other.split('_')[1]);
        succeed(await office.scheduler('reports', 'import', stick));
      }
      await office.fill(stick, SITE, '--for', stick);
      await plugIn();
      succeed(await office.scheduler('reports', 'import', stick));
      await history();
    });
  },
);
