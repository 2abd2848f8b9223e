import { createReadStream } from 'node:fs';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { buildDebs } from '../../bundling/debian/build-debs.ts';
import { asRoot } from '../harness/hosts/as-root.ts';
import { type FactoryHost, startFactoryHost } from '../harness/hosts/factory-host.ts';
import { loopDevices } from '../harness/hosts/loop-devices.ts';
import { THIN_NODE_BIND, thinNode } from '../harness/hosts/thin-node.ts';
import { ARCHITECTURE } from '../harness/kubernetes/busybox-image.ts';
import { bundleAgent } from '../harness/run/bundle-agent.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { LONG } from '../harness/run/long.ts';
import { PROGRAMS_VARIABLE } from '../harness/run/program-file.ts';
import { runCommand, runOrFail, succeed } from '../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { type Office, openOffice } from './office.ts';

const SITE = 'plant-7';
const CSV = `site,name,channel,match\n${SITE},press-2,prod/factory-host,hostname=plugged-in\n`;
const CONFIG = 'plugIn: true\\nplugInFileSystems: [ext4]\\n';

const PLACE = '/var/lib/fleet-agent/upgrade';
const TRIAL_UNIT = '/etc/systemd/system/fleet-agent-trial.service';
const UPGRADED = `until test "$(systemctl is-active fleet-agent)" = active -a ! -e ${PLACE}/trial; do sleep 0.2; done`;

/** The steps of an upgrade of the agent by a stick, in their order: what is true when each has begun. */
const STEPS: readonly (readonly [title: string, sign: string])[] = [
  ['the stick is read', 'grep -q taking /run/fleet-agent-medium/*.json'],
  ['dpkg unpacks the new version', 'test -e /usr/lib/fleet-agent/node.dpkg-new'],
  ['apt is started', `systemctl list-units --state=activating 'fleet-agent-runner@*' | grep -q loaded`],
  ['the version before is kept', `test -e ${PLACE}/old`],
  ['the new version is on trial', `test -e ${PLACE}/trial`],
  [
    'dpkg configures the new version',
    `test -e ${PLACE}/trial && tail -n 1 /var/log/dpkg.log | grep -q half-configured`,
  ],
  ['the database is copied', `test -e ${PLACE}/state.new -o -e ${PLACE}/state`],
  ['the new version is started', `test -e ${PLACE}/state && systemctl is-active --quiet fleet-agent`],
  ['the new version has completed a look', `test -e ${PLACE}/healthy`],
  ['the trial ends', `test -e ${PLACE}/healthy && test ! -e ${PLACE}/trial -o ! -e ${TRIAL_UNIT}`],
  ['the reports are written', 'grep -q report /run/fleet-agent-medium/*.json'],
];

/** The one step that a usual run tries. */
const USUAL = 'the new version is started';

/** The same of the way back from a version that does not come up. */
const STEPS_BACK: readonly (readonly [title: string, sign: string])[] = [
  ['the way back begins', `test -e ${PLACE}/back`],
  ['dpkg unpacks the old version', `test -e ${PLACE}/back -a -e /usr/lib/fleet-agent/node.dpkg-new`],
  ['the database is restored', `test -e ${PLACE}/restore`],
  [
    'the old version is started',
    `test -e ${PLACE}/refused/VERSION && test ! -e ${PLACE}/trial && systemctl is-active --quiet fleet-agent`,
  ],
];

type HistoryEvent = {
  readonly seq: number;
  readonly type: string;
  readonly assignment?: string;
  readonly outcome?: string;
  readonly message?: string;
};

/** A bad version of the agent. */
const MIGRATES_AND_ENDS = `#!/usr/lib/fleet-agent/node
import { DatabaseSync } from 'node:sqlite';
new DatabaseSync('/var/lib/fleet-agent/state.db').exec('PRAGMA user_version = 999');
process.exit(3);
`;

/** The pause of 10 seconds proves nothing more. */
const RESTARTS = '/etc/systemd/system/fleet-agent.service.d/restarts.conf';

const root = async (...argv: readonly string[]): Promise<string> =>
  (await runOrFail(asRoot(argv))).stdout.trim();

describeWith(
  ['factoryBase'],
  'a host with the Debian package, without network and keyboard',
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
    let deb: string;

    const sh = (script: string): Promise<string> => host.sh(script);

    beforeAll(async () => {
      folder = await temporaryDirectory('office');
      media = await temporaryDirectory('media');
      stick = join(media.path, 'stick');
      await mkdir(stick);
      const [device] = await loopDevices(1);
      loop = device?.path ?? '';
      number = device?.number ?? '';
      unit = `fleet-agent-medium@${basename(loop)}.service`;
      await Promise.all([openAndBuild(), buildDeb(), startHost()]);
      await enrol();
    });
    const openAndBuild = async (): Promise<void> => {
      office = await openOffice(folder.path);
      await office.build();
    };
    const buildDeb = async (): Promise<void> => {
      const programs = process.env[PROGRAMS_VARIABLE] ?? join(media.path, 'programs');
      if (process.env[PROGRAMS_VARIABLE] === undefined) await bundleAgent(join(programs, 'agent'));
      const out = join(media.path, 'debs');
      const names = ['fleet-agent'];
      [deb = ''] = await buildDebs({ programs, out, epoch: 1_795_478_400, compression: 'none', names });
    };
    const startHost = async (): Promise<void> => {
      host = await startFactoryHost('plugged-in', {
        base: factoryBase,
        node: false,
        blockDevices: [number],
        binds: [{ from: media.path, to: '/media' }, THIN_NODE_BIND],
      });
      await afterBoot();
    };
    /** Installs the package on the host and enrols it by a stick. */
    const enrol = async (): Promise<void> => {
      expect((await host.exec(['/bin/sh', '-c', 'command -v node'])).code).not.toBe(0);
      expect(await sh('ip -o link | grep -vc " lo:" || true')).toBe('0');
      await sh(`dpkg -i /media/debs/*.deb; printf '${CONFIG}' > /etc/fleet-agent/agent.yaml`);
      await writeFile(join(folder.path, 'hosts.csv'), CSV);
      succeed(await office.scheduler('tokens', 'hosts', 'hosts.csv', '--out', join(stick, 'hosts.json')));
      await sh(
        `fleet-agent enroll --hosts /media/stick/hosts.json --root-sha256 ${office.rootSha256} --force-path /media/stick`,
      );
      succeed(await office.scheduler('sites', 'enroll', stick));
      await rm(join(stick, 'hosts.json'));
      succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=7'));
    };
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
        // Some signs of the long run are there for milliseconds.
        `systemctl start --no-block ${unit}
        timeout 300 nice -n -20 sh -c 'until ${sign.replaceAll("'", `'\\''`)}; do sleep ${LONG ? 0.01 : 0.1}; done'`,
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
      const { code } = await host.look(['systemctl', 'start', unit]);
      const said = await sh(
        `journalctl --sync; journalctl -o cat -u ${unit} | grep -o 'DONE.*' | tail -n 1 || true`,
      );
      await root('losetup', '-d', loop);
      if (code !== 0 && !said.startsWith('DONE, BUT'))
        throw new Error(await sh(`journalctl -o cat -u ${unit} | tail -n 20`));
      // All that the agent writes there, but for its status file.
      await rm(join(stick, 'fleet/reports'), { recursive: true, force: true });
      await root('debugfs', '-R', `rdump /fleet/reports ${join(stick, 'fleet')}`, image);
      return said;
    };

    it('runs the release of a medium, and its history reaches the office', async () => {
      await office.fill(stick, SITE);
      expect(await plugIn()).toMatch(
        /^DONE: Release \d+ is installed\. \d+ events .* You can unplug the stick\.$/,
      );
      expect(await sh('systemctl is-active scale-reader label-printer')).toBe('active\nactive');
      succeed(await office.scheduler('reports', 'import', stick));

      // Somebody helps, and the next release comes.
      expect(await sh('systemctl is-active fleet-agent')).toBe('active');
      await sh('echo x > /etc/label-printer/label.zpl; systemctl restart fleet-agent');
      await sh('timeout 120 sh -c "until grep -q Halden /etc/label-printer/label.zpl; do sleep 0.1; done"');
      await office.edit('apps/scale-reader/host/scale.json', (text) =>
        text.replace('"decimals": 3', '"decimals": 2'),
      );
      await office.build();
      await office.fill(stick, SITE, '--for', stick);
      expect(await plugIn()).toMatch(/^DONE: Release \d+ is installed\./);
      expect(await sh('cat /etc/scale-reader/scale.json')).toMatch(/"decimals": ?2/);
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
    const versionOf = (file: string): string => /_(.+)\.deb$/.exec(file)?.[1] ?? '';
    const agentVersion = () => sh('dpkg-query --show fleet-agent | cut -f 2; dpkg --audit');
    const historyOf = async (assignment: string): Promise<readonly string[]> => {
      const own = (await history()).filter((event) => event.assignment === assignment);
      return own.map(({ type, outcome, message }) =>
        [type, outcome, message].filter((it) => it !== undefined).join(' '),
      );
    };

    describe('whose agent is upgraded by the release', () => {
      const versions: string[] = [];
      let unpacked: string;

      /** The built package at another version, with another program in it. */
      const publish = async (version: string, program?: string): Promise<string> => {
        const [control, main] = ['DEBIAN/control', 'usr/lib/fleet-agent/fleet-agent.mjs'].map((path) =>
          join(unpacked, path),
        ) as [string, string];
        await writeFile(
          control,
          (await readFile(control, 'utf8')).replace(/^Version: .*$/m, `Version: ${version}`),
        );
        const file = `fleet-agent_${version}.deb`;
        const made = join(media.path, 'published', file);
        const pack = () => runOrFail(['dpkg-deb', '-Znone', '--root-owner-group', '-b', unpacked, made]);
        if (program === undefined) await pack();
        else {
          const node = join(unpacked, 'usr/lib/fleet-agent/node');
          const own = await readFile(main);
          await rename(node, join(media.path, 'node'));
          await cp((await thinNode(media.path)).program, node);
          await writeFile(main, program);
          await pack();
          await writeFile(main, own);
          await rename(join(media.path, 'node'), node);
        }
        digests.set(file, hexOf(digestOf(await readFile(made))));
        return file;
      };
      const publishBad = (version: string): Promise<string> => publish(version, MIGRATES_AND_ENDS);

      beforeAll(async () => {
        server = createServer((request, response) => {
          createReadStream(join(media.path, 'published', basename(request.url ?? ''))).pipe(response);
        }).listen(0, '127.0.0.1');
        await mkdir(join(media.path, 'published'));
        unpacked = join(media.path, 'unpacked');
        await runOrFail(['dpkg-deb', '-R', deb, unpacked]);
        for (const version of LONG ? ['99.0.0', '99.1.0'] : ['99.0.0']) versions.push(await publish(version));
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
        // The package is built for this machine alone.
        const hosts = join(folder.path, 'platform/base/cluster-types/factory-host.yaml');
        const both = await readFile(hosts, 'utf8');
        await writeFile(hosts, both.replace(/platforms: .*/, `platforms: [linux/${ARCHITECTURE}]`));
        await sh(`mkdir -p $(dirname ${RESTARTS}); printf '[Service]\\nRestartSec=1s\\n' > ${RESTARTS}
          systemctl daemon-reload; systemctl start fleet-agent`);
      });

      it.each(LONG ? STEPS : STEPS.filter(([title]) => title === USUAL))(
        'has the new version after a power cut when %s',
        async (_title, sign) => {
          const before = await agentVersion();
          const next = versions.find((file) => versionOf(file) !== before) ?? '';
          await releaseAgent(next);
          await cutPower(sign);
          // Of a release that was accepted the rest comes without the stick.
          await sh(`timeout 300 sh -c '${UPGRADED}'`);
          expect(await plugIn()).toMatch(/^DONE: /);
          expect(await agentVersion()).toBe(versionOf(next));
          succeed(await office.scheduler('reports', 'import', stick));
          await history();
        },
      );

      it('returns automatically from a version that does not start', async () => {
        const before = await agentVersion();
        await releaseAgent(await publishBad('99.2.0'));
        expect(await plugIn()).toMatch(
          /^DONE, BUT CALL THE OFFICE: These packages failed: line-agent-host\./,
        );
        expect(await agentVersion()).toBe(before);
        expect(await sh('systemctl is-active fleet-agent')).toBe('active');
        const why =
          'fleet-agent 99\\.2\\.0 did not come up: it ended 3 times .* The version before it runs again';
        expect(await sh('fleet-agent status || true')).toMatch(new RegExp(`^Upgrade +${why}`, 'm'));
        expect(await sh('fleet-agent doctor || true')).toMatch(new RegExp(`^upgrade +warning +${why}`, 'm'));
        succeed(await office.scheduler('reports', 'import', stick));
        expect((await historyOf('line-agent-host')).slice(-2)).toEqual([
          expect.stringMatching(
            /^package failed .*fleet-agent 99\.2\.0 did not come up on this host: it ended 3 times .*with status 3/,
          ),
          expect.stringMatching(/^rolled-back configured /),
        ]);
      });

      it.each((LONG ? STEPS_BACK : []).map(([title, sign], index) => ({ title, sign, index })))(
        'returns to the former version after a power cut when $title',
        async ({ sign, index }) => {
          const before = await agentVersion();
          const version = `99.3.${index}`;
          await releaseAgent(await publishBad(version));
          await cutPower(sign.replace('VERSION', version));
          await sh(`timeout 300 sh -c '${UPGRADED}'`);
          expect(await plugIn()).toMatch(
            /^DONE, BUT CALL THE OFFICE: These packages failed: line-agent-host\./,
          );
          expect(await agentVersion()).toBe(before);
          succeed(await office.scheduler('reports', 'import', stick));
          await history();
        },
      );
    });
  },
);
