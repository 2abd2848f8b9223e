import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import type { Event } from '#bundles/formats/events/event';
import { addDays } from '#bundles/time';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { readPackages } from '../../agent/store/applied/packages.ts';
import { openState } from '../../agent/store/state.ts';
import { startFactoryHost } from '../harness/hosts/factory-host.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestPackage,
  writeTestMedium,
} from '../harness/fleets/signed-medium.ts';
import { copyBuiltAgent } from '../harness/run/built-programs.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { runOrFail } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { debsPackage } from '../integration/hosts/debs-host/test-deb.ts';
import { below, seeded } from './reliability/field.ts';
import { expectWholeHistory } from './reliability/whole-history.ts';

const MINUTES = Number(process.env['FLEET_SOAK_MINUTES'] ?? 20);
const SEED = Number(process.env['FLEET_SOAK_SEED'] ?? 1);
const REPOSITORY = resolve(import.meta.dirname, '../..');
const STATE = '/var/lib/fleet-agent';
/** Of the file system that the state lies on: what would grow without end has no room. */
const STATE_BYTES = 12 << 20;
const PACKAGES = ['soak-0', 'soak-1'] as const;
const FILES = 8;
/** The clock of everything that the agent runs, which can be changed while it runs. */
const CLOCK = [
  'LD_PRELOAD=/opt/faketime.so',
  'FAKETIME_TIMESTAMP_FILE=/run/clock',
  'FAKETIME_CACHE_DURATION=1',
  'FAKETIME_DONT_FAKE_MONOTONIC=1',
  'NO_FAKE_STAT=1',
  'FLEET_AGENT_INTERVAL=10s',
];

type Files = Readonly<Record<string, string>>;

/** Two packages with some of their files and a service, one with a Debian package, and one that every third release breaks. */
const makeRelease = async (version: number, folder: string, random: (limit: number) => number) => {
  const wanted = new Map<string, string>();
  const packages: TestPackage[] = PACKAGES.map((id) => {
    const files: Record<string, string> = {
      [`/etc/${id}/always`]: `release ${version}\n`,
      [`/etc/systemd/system/${id}.service`]: `[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n`,
    };
    for (let number = 0; number < FILES; number++)
      if (random(3) > 0) files[`/etc/${id}/file-${number}`] = `text ${random(4)} of ${id}\n`;
    for (const [path, text] of Object.entries(files)) wanted.set(path, text);
    const unit = { name: `${id}.service`, enabled: true, active: true, restartOn: [`/etc/${id}/always`] };
    return { id, files, units: [unit] };
  });
  const tool = `${1 + (version % 3)}.0`;
  wanted.set('/usr/share/soak-tool/version', `${tool}\n`);
  packages.push(
    await debsPackage(folder, 'soak-debs', [
      { name: 'soak-tool', version: tool, files: { '/usr/share/soak-tool/version': `${tool}\n` } },
    ]),
  );
  const isBad = version % 3 === 2;
  const bad: Files = { '/etc/soak-bad/is': isBad ? 'bad\n' : `good in ${version}\n` };
  if (!isBad) for (const [path, text] of Object.entries(bad)) wanted.set(path, text);
  packages.push({
    id: 'soak-bad',
    files: bad,
    checks: [
      {
        type: 'exec',
        name: 'good',
        argv: ['/bin/grep', '-q', 'good', '/etc/soak-bad/is'],
        timeoutSeconds: 2,
      },
    ],
  });
  return { wanted, packages };
};

/** Error codes that events and the log of the service name. */
const codesIn = (events: readonly Event[], log: string): readonly string[] => [
  ...events.flatMap(({ code }) => (code === undefined ? [] : [code])),
  ...(log.match(/(?<="code":")[A-Z_]+/g) ?? []),
];

describeWith(
  ['factoryBase', 'faketime'],
  'a factory host in trouble for a long time',
  ({ factoryBase, faketime }) => {
    it(
      `has the last release in the end, nothing more, and each event once (seed ${SEED}, ${MINUTES} minutes)`,
      async () => {
        await using media = await temporaryDirectory('host-soak');
        await copyBuiltAgent(join(media.path, 'agent'));
        await mkdir(join(media.path, 'stick'));
        const fleet = await createTestFleet('halden', addDays(new Date(), -20));
        await using host = await startFactoryHost('host-soak', {
          base: factoryBase,
          binds: [
            { from: join(REPOSITORY, 'deploy'), to: '/opt/deploy', readOnly: true },
            { from: media.path, to: '/media' },
            { from: faketime, to: '/opt/faketime.so', readOnly: true },
          ],
        });
        const sh = (script: string) => host.sh(script);
        const agent = (words: string) =>
          host.look(['/bin/sh', '-c', `fleet-agent ${words}`]).then(({ code, stdout, stderr }) => {
            expect(stdout + stderr, 'an error of the program itself').not.toMatch(
              /INTERNAL|TypeError|STORE_CORRUPT/,
            );
            return { code, said: stdout + stderr };
          });
        await sh(`cp /opt/deploy/systemd/fleet-agent*.service /etc/systemd/system
        echo '${CLOCK.join('\n')}' > /etc/default/fleet-agent; echo +0 > /run/clock
        printf '#!/bin/sh\\nset -a; . /etc/default/fleet-agent\\nexec /usr/local/bin/node /media/agent/fleet-agent.mjs "$@"\\n' > /usr/bin/fleet-agent
        chmod 755 /usr/bin/fleet-agent; mkdir -p -m 700 ${STATE}
        mount -t tmpfs -o size=${STATE_BYTES},mode=700 tmpfs ${STATE}
        systemctl daemon-reload`);
        const root = hexOf(digestOf(fleet.roots[0] ?? ''));
        const who = `--fleet ${fleet.name} --site plant-7 --name kiosk-1 --channel prod/factory-host`;
        expect((await agent(`enroll ${who} --root-sha256 ${root} /media/stick`)).code).toBe(0);
        const { request } = JSON.parse(await sh('cat /media/stick/fleet/requests/*.json')) as {
          readonly request: string;
        };
        const key = parseCertificateRequest(request).key.pem;
        await sh('systemctl start fleet-agent');

        const random = below(seeded(SEED));
        const until = performance.now() + MINUTES * 60_000;
        const goesOn = (): boolean => performance.now() < until;
        const counts = { releases: 0, imports: 0, kills: 0, edits: 0, jumps: 0, full: 0, lacks: 0 };
        let medium = '';
        let release = await makeRelease(0, join(media.path, 'debs'), random);
        const publish = async (): Promise<void> => {
          counts.releases += 1;
          const version = counts.releases;
          const before = medium;
          release = await makeRelease(version, join(media.path, 'debs', String(version)), random);
          medium = `medium-${version}`;
          const issuedAt = new Date();
          await writeTestMedium(join(media.path, medium), fleet, {
            site: { site: 'plant-7', version, agents: [{ name: 'kiosk-1', key }], issuedAt },
            release: { version, bundle: packTestBundle(fleet, release.packages), issuedAt },
          });
          if (before) await rm(join(media.path, before), { recursive: true });
        };
        const deliver = async (): Promise<void> => {
          while (goesOn()) {
            const begun = performance.now();
            await publish();
            for (let tries = 1 + random(2); tries > 0; tries--) {
              counts.imports += 1;
              const killed = random(3) === 0;
              if (killed) counts.kills += 1;
              const limit = killed ? `timeout -s KILL ${(random(50) / 10).toFixed(1)} ` : '';
              const imported = await host.look([
                '/bin/sh',
                '-c',
                `${limit}fleet-agent import --prune /media/${medium}`,
              ]);
              if (imported.stderr.includes('DISK_FULL')) counts.lacks += 1;
            }
            await sleep(Math.max(0, 30_000 + random(30_000) - (performance.now() - begun)));
          }
        };
        const spoil = (): string => {
          const id = PACKAGES[random(PACKAGES.length)] ?? '';
          const path = `/etc/${id}/${random(3) === 0 ? 'always' : `file-${random(FILES)}`}`;
          const ways = [
            `echo by hand > ${path}`,
            `rm -f ${path}`,
            `test ! -f ${path} || chmod 600 ${path}`,
            `test ! -f ${path} || chown nobody ${path}`,
            `test ! -f ${path} || { rm ${path}; ln -s /etc/hostname ${path}; }`,
            `rm -rf /etc/${id}`,
            `systemctl stop ${id}`,
            `systemctl disable ${id}`,
            `rm -f /usr/share/soak-tool/version`,
            `dpkg --purge soak-tool`,
          ];
          return ways[random(ways.length)] ?? '';
        };
        const disturb = async (): Promise<void> => {
          while (goesOn()) {
            await sleep(4000 + random(20_000));
            if (random(4) === 0) {
              counts.kills += 1;
              await sh('systemctl kill --signal=KILL fleet-agent || true');
            } else {
              counts.edits += 1;
              await sh(`{ ${spoil()}; } > /dev/null 2>&1 || true`);
            }
          }
        };
        const jump = async (): Promise<void> => {
          while (goesOn()) {
            await sleep(30_000 + random(60_000));
            counts.jumps += 1;
            await sh(`echo ${['+1d', '-1d', '+0'][random(3)]} > /run/clock`);
          }
        };
        const fill = async (): Promise<void> => {
          while (goesOn()) {
            await sleep(90_000 + random(60_000));
            counts.full += 1;
            await sh(`dd if=/dev/zero of=${STATE}/filler bs=4k 2> /dev/null || true`);
            await sleep(random(60_000));
            await sh(`rm -f ${STATE}/filler`);
          }
        };
        await Promise.all([deliver(), disturb(), jump(), fill()]);

        await sh('echo +0 > /run/clock');
        if (counts.releases % 3 === 2) await publish();
        const last = await agent(`import --prune /media/${medium}`);
        await expect
          .poll(
            async () => {
              const { code, said } = await agent('run --once');
              return code === 0 ? 'in sync' : `${last.said}\n${said}\n${(await agent('status')).said}`;
            },
            { timeout: 900_000, interval: 5000 },
          )
          .toBe('in sync');
        const folders = [...PACKAGES, 'soak-bad'].map((id) => `/etc/${id}`).join(' ');
        const found = await sh(
          `find ${folders} /usr/share/soak-tool /etc/systemd/system/soak-*.service ! -type d -exec sh -c 'for one; do printf "%s\\t%s\\n" "$one" "$(stat -c %a:%U "$one") $(cat "$one" | base64 -w 0)"; done' sh {} +`,
        );
        expect(new Map(found.split('\n').map((line) => line.split('\t') as [string, string]))).toEqual(
          new Map(
            [...release.wanted].map(([path, text]) => [
              path,
              `644:root ${Buffer.from(text).toString('base64')}`,
            ]),
          ),
        );
        expect(await sh('systemctl is-active fleet-agent soak-0 soak-1')).toBe('active\nactive\nactive');
        expect(await sh('systemctl is-enabled soak-0 soak-1')).toBe('enabled\nenabled');
        const log = await sh('journalctl --no-pager --output=cat --unit=fleet-agent');
        expect(log).not.toMatch(/INTERNAL|TypeError|STORE_CORRUPT/);

        await sh(`systemctl stop fleet-agent; cp -a ${STATE} /media/state`);
        const kib = Number(await sh(`du -sk ${STATE} | cut -f 1`));
        await runOrFail(['chmod', '-R', 'u+rwX', join(media.path, 'state')]);
        using state = openState(join(media.path, 'state'));
        expect(readPackages(state).map(({ assignment, status }) => `${assignment} ${status}`)).toEqual(
          ['soak-0', 'soak-1', 'soak-bad', 'soak-debs'].map((id) => `${id} healthy`),
        );
        const events = expectWholeHistory(state);
        const times = events.map(({ at }) => Date.parse(at));
        const hours = Math.round((Math.max(...times) - Math.min(...times)) / 3_600_000);
        const codes = Object.fromEntries(
          [...Map.groupBy(codesIn(events, log), (code) => code)].map(([code, all]) => [code, all.length]),
        );
        process.stdout.write(
          `soak: ${JSON.stringify({ ...counts, events: events.length, kib, hours, codes })}\n`,
        );
      },
      (MINUTES + 30) * 60_000,
    );
  },
);
