import { cpSync, existsSync, readdirSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareBytes, digestOf, hexOf } from '#bundles/digest';
import { PARTS_FOLDER } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { prepare } from '../../../exporter/plan/prepare.ts';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { seeded } from '../../e2e/reliability/field.ts';
import { filesOf } from '../../exporter/files-of.ts';
import { agentDiary } from '../../exporter/reports/agent-diary.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../../exporter/world.ts';
import { type Run, runToKill } from '../../exporter/write/kill-at-random.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FaultyRegistry, startFaultyRegistry } from '../../harness/neighbours/faulty-registry.ts';
import { LONG } from '../../harness/run/long.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/** How often each command is killed; docs/reliability.md has a long run. */
const KILLS = Math.ceil(Number(process.env['FLEET_KILLS'] ?? (LONG ? 20 : 5)) / 5);
const SEED = Number(process.env['FLEET_SEED'] ?? 1);
const random = seeded(SEED);

let world: World;
let disk: TemporaryDirectory;
let root: string;
const path = (...names: readonly string[]): string => join(disk.path, ...names);

beforeAll(async () => {
  world = await makeKioskWorld();
  disk = await temporaryDirectory('export-kills');
  root = hexOf(digestOf(world.fleet.roots[0] ?? ''));
  await world.export('1', { sites: ['plant-7'] });
  await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
  await world.export('2', { sites: ['plant-7'] });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await disk[Symbol.asyncDispose]();
});

type Kills = {
  /** Makes what the n-th run works on, and says how it is run; undefined n: the run that may end. */
  readonly words: (name: string) => Promise<readonly string[]>;
  readonly begins?: () => Promise<unknown>;
  /** After each kill. */
  readonly judge: (name: string, moment: string) => Promise<void>;
};

const runThrough = async (words: readonly string[]): Promise<void> => {
  succeed(await runExporter(disk.path, [...words, '--now', NOW.toISOString()]));
};

/** Runs it once to its end to know how long it takes, then kills it at random moments. */
const killRandomly = async ({ words, begins, judge }: Kills): Promise<void> => {
  const run = async (name: string, killAfterMs?: number): Promise<Run> => {
    const line = [...(await words(name)), '--now', NOW.toISOString()];
    const started = begins?.();
    return runToKill({
      words: line,
      env: process.env,
      ...(started && { begins: started }),
      ...(killAfterMs !== undefined && { killAfterMs }),
    });
  };
  const calm = await run('calm');
  expect(calm.code, calm.said).toBe(0);
  // The first run compiles, and others may meet a busier machine: kills are drawn from the time of the fastest so far.
  let longest = calm.ms;
  for (let kills = 0, tries = 0; kills < KILLS; tries += 1) {
    expect(tries, 'it is hardly ever killed before its end').toBeLessThan(KILLS * 4 + 8);
    const killAfterMs = longest * random();
    const { killed, said, ms } = await run(`n${tries}`, killAfterMs);
    if (!killed) {
      longest = Math.min(longest, ms);
      continue;
    }
    kills += 1;
    await judge(`n${tries}`, `killed after ${killAfterMs.toFixed(1)} ms; ${said}`);
  }
};

describeWith(['dockerRegistry'], `a registry behind the air gap (seed ${SEED})`, ({ dockerRegistry }) => {
  let registry: Registry;
  let line: FaultyRegistry;
  beforeAll(async () => {
    registry = await startRegistry(dockerRegistry);
    line = await startFaultyRegistry(registry.host);
  });
  afterAll(async () => {
    await line?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
  });

  const to = (name: string): string => `oci://${line.host}/${name}`;

  const firstChange = (): Promise<unknown> =>
    new Promise((resolve) => {
      line.fault = (request) => {
        if (/^(?:POST|PUT|PATCH|DELETE)/.test(request)) resolve(undefined);
        return undefined;
      };
    });

  /** 'repository:tag' to digest, below a prefix. */
  const tagsBelow = async (prefix: string): Promise<ReadonlyMap<string, string>> => {
    const get = async (where: string): Promise<unknown> =>
      (await fetch(`${registry.url}/v2/${where}`)).json();
    const { repositories } = (await get(`_catalog?n=1000&last=${prefix}`)) as {
      repositories: readonly string[];
    };
    const tags = new Map<string, string>();
    for (const repository of repositories.filter((one) => one.startsWith(`${prefix}/`))) {
      const list = (await get(`${repository}/tags/list`)) as { tags?: readonly string[] | null };
      for (const tag of list.tags ?? []) {
        const head = await fetch(`${registry.url}/v2/${repository}/manifests/${tag}`, {
          method: 'HEAD',
          headers: {
            accept: 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json',
          },
        });
        expect(head.status, `${repository}:${tag}`).toBe(200);
        tags.set(
          `${repository.slice(prefix.length + 1)}:${tag}`,
          head.headers.get('docker-content-digest') ?? '',
        );
      }
    }
    return new Map([...tags].toSorted(([a], [b]) => compareBytes(a, b)));
  };

  /** The release that the registry points to, all of which must be there; undefined: none yet. */
  const releaseIn = async (prefix: string): Promise<number | undefined> => {
    const pointers = await tagsBelow(prefix);
    if (!pointers.has('prod/kiosk:release')) return undefined;
    await using prepared = await prepare({
      from: `oci://${registry.host}/${prefix}`,
      to: path('nowhere'),
      channels: [KIOSK],
      sites: [],
      bases: [],
      now: NOW,
    });
    const { plan } = prepared;
    const release = plan.medium.documents.find(({ role }) => role === 'release')?.version;
    const images = plan.index.flatMap(({ digest, annotations }) =>
      Object.values(annotations ?? {}).some((name) => name.includes(':i-')) ? [digest] : [],
    );
    expect(images.length).toBeGreaterThan(0);
    for (const image of images) expect(pointers.get(`registry.test/web:i-${hexOf(image)}`)).toBe(image);
    return release;
  };

  const push = (medium: string, name: string) => ['push', world.path(medium), '--to', to(name)];

  it('has no pointer to missing content when push is killed, and is complete after the next push', async () => {
    await killRandomly({
      words: async (name) => push('1', `new-${name}`),
      begins: firstChange,
      judge: async (name, moment) => {
        expect([undefined, 1], moment).toContain(await releaseIn(`new-${name}`));
        await runThrough(push('1', `new-${name}`));
        expect(await tagsBelow(`new-${name}`), moment).toEqual(await tagsBelow('new-calm'));
      },
    });
  }, 1_200_000);

  it('has the old or the new release when the push of the next release is killed', async () => {
    const first = async (name: string) => {
      await runThrough(push('1', `next-${name}`));
      return push('2', `next-${name}`);
    };
    await killRandomly({
      words: first,
      begins: firstChange,
      judge: async (name, moment) => {
        expect([1, 2], moment).toContain(await releaseIn(`next-${name}`));
        await runThrough(push('2', `next-${name}`));
        expect(await tagsBelow(`next-${name}`), moment).toEqual(await tagsBelow('next-calm'));
      },
    });
  }, 1_200_000);

  it('keeps everything that its pointers need when prune is killed, and the next prune removes the rest', async () => {
    const prune = (name: string) => ['prune', to(`old-${name}`), '--keep', '1', '--yes'];
    await killRandomly({
      words: async (name) => {
        for (const medium of ['1', '2']) {
          await runThrough(push(medium, `old-${name}`));
        }
        return prune(name);
      },
      begins: firstChange,
      judge: async (name, moment) => {
        expect(await releaseIn(`old-${name}`), moment).toBe(2);
        await runThrough(prune(name));
        expect(await releaseIn(`old-${name}`), moment).toBe(2);
        expect(await tagsBelow(`old-${name}`), moment).toEqual(await tagsBelow('old-calm'));
      },
    });
  }, 1_200_000);
});

describe(`a returned medium (seed ${SEED})`, () => {
  const LINE = 'plant-7/line-1';

  beforeAll(async () => {
    const stick = path('returned');
    cpSync(world.path('2'), stick, { recursive: true });
    const diary = agentDiary(LINE, world.agent, 60);
    for (let from = 1; from < 60; from += 10) await diary.report(stick, from, from + 9);
    await diary.receipt(stick, 40, world.fleet.keys.receipt);
    await mkdir(join(stick, PARTS_FOLDER), { recursive: true });
    for (const [at, text] of ['a', 'b', 'c'].entries()) {
      await writeFile(
        join(stick, PARTS_FOLDER, `${hexOf(digestOf(text)).slice(0, 16)}-000${at + 1}.tar`),
        'fleet/part.json\0',
      );
      await writeFile(join(stick, `.tmp-${hexOf(digestOf(text)).slice(0, 8)}`), text);
    }
    await writeFile(join(stick, 'holiday.jpg'), 'mine');
  });

  const stateOf = (name: string) =>
    [...filesOf(path(name))]
      .map(([file, bytes]) => `${file} ${digestOf(bytes)}`)
      .filter((file) => !file.startsWith('fleet/.lock '))
      .toSorted();

  it('is the same medium when clean is killed, and the next clean removes the rest', async () => {
    const clean = (name: string) => ['clean', path(name), '--root-sha256', root, '--yes'];
    const removed: number[] = [];
    const whole = filesOf(path('returned')).size;
    await killRandomly({
      words: async (name) => {
        cpSync(path('returned'), path(`clean-${name}`), { recursive: true });
        return clean(`clean-${name}`);
      },
      judge: async (name, moment) => {
        removed.push(whole - filesOf(path(`clean-${name}`)).size);
        await using open = await openMedium(path(`clean-${name}`));
        const { checks } = await verifyMedium(open, undefined, NOW);
        expect(
          checks.filter(({ ok }) => !ok),
          moment,
        ).toEqual([]);
        await runThrough(clean(`clean-${name}`));
        expect(stateOf(`clean-${name}`), moment).toEqual(stateOf('clean-calm'));
        await rm(path(`clean-${name}`), { recursive: true });
      },
    });
  }, 1_200_000);

  it('has no half-copied report when reports is killed, and the next run copies all', async () => {
    const reports = (name: string) => [
      'reports',
      path('returned'),
      '--root-sha256',
      root,
      '--to',
      path(name),
    ];
    const given = filesOf(path('returned'));
    await killRandomly({
      words: async (name) => reports(`home-${name}`),
      judge: async (name, moment) => {
        // Before it has made the folder, nothing is given.
        const home = path(`home-${name}`);
        const there = existsSync(home) ? filesOf(home) : [];
        for (const [file, bytes] of there)
          if (!file.includes('.tmp-'))
            expect(bytes.equals(given.get(file) ?? Buffer.alloc(0)), `${file}; ${moment}`).toBe(true);
        await runThrough(reports(`home-${name}`));
        expect(
          stateOf(`home-${name}`).filter((file) => !file.includes('.tmp-')),
          moment,
        ).toEqual(stateOf('home-calm'));
      },
    });
    expect(readdirSync(path('home-calm')).length).toBeGreaterThan(0);
  }, 1_200_000);
});
