import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, statfsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { seeded } from '../../e2e/reliability/field.ts';
import { filesOf } from '../../exporter/files-of.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../../exporter/world.ts';
import { type Form, fillForm } from '../../exporter/write/fill-form.ts';
import { PART } from '../../exporter/write/set-world.ts';
import { rootAccess } from '../../harness/hosts/as-root.ts';
import { SKIPPED } from '../../harness/run/count-results.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import {
  type FaultyRegistry,
  type RegistryFault,
  startFaultyRegistry,
} from '../../harness/neighbours/faulty-registry.ts';
import { LONG } from '../../harness/run/long.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { type Outcome, runCommand } from '../../harness/run/run-command.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/** Every moment; else some of them. */
const ALL = LONG || process.env['FLEET_MOMENTS'] === 'all';

let world: World;
let disk: TemporaryDirectory;
const path = (...names: readonly string[]): string => join(disk.path, ...names);

const FORMS: readonly Form[] = ['directory', 'tar', 'set'];
const nameOf = (form: Form): string => (form === 'tar' ? 'medium.tar' : 'stick');
const wordsOf = (form: Form): readonly string[] => (form === 'set' ? ['--part-size', String(PART)] : []);

beforeAll(async () => {
  world = await makeKioskWorld();
  disk = await temporaryDirectory('bad-places');
  for (const form of FORMS) await fillForm(world.path('layout'), path('old', form, nameOf(form)), form);
  await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
  for (const form of FORMS) {
    cpSync(path('old', form), path('new', form), { recursive: true });
    await fillForm(world.path('layout'), path('new', form, nameOf(form)), form);
  }
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await disk[Symbol.asyncDispose]();
});

const exporter = (words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
  runExporter(disk.path, [...words, '--now', NOW.toISOString()], { ...process.env, ...env });

const createWords = (form: Form, to: string): readonly string[] => [
  'create',
  '--from',
  world.path('layout'),
  '--all',
  '--to',
  to,
  ...wordsOf(form),
];

const create = (form: Form, to: string): Promise<Outcome> => exporter(createWords(form, to));

/** In a process of its own, beside others. */
const createApart = (form: Form, to: string): Promise<Outcome> => {
  const words = [...createWords(form, to), '--now', NOW.toISOString()];
  return runCommand([process.execPath, programFile('exporter'), ...words]);
};

const stateOf = (to: string): unknown => (to.endsWith('.tar') ? readFileSync(to) : filesOf(to));

/** The release on a medium that is right in every detail. */
const releaseOn = async (to: string): Promise<number | undefined> => {
  await using open = await openMedium(to);
  const { checks } = await verifyMedium(open, undefined, NOW);
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  return open.medium?.documents.find(({ role }) => role === 'release')?.version;
};

const succeed = ({ code, stderr }: Outcome): void => expect(code, stderr).toBe(0);

/** What the program says when it ends in vain: one line of the catalogue's form. */
const saidOf = ({ code, stderr }: Outcome): string => {
  expect(code, stderr).not.toBe(0);
  const said = stderr.split('\n').filter((line) => line.startsWith('fleet-export: '));
  expect(said, stderr).toHaveLength(1);
  expect(stderr).not.toMatch(/INTERNAL|^ +at /m);
  return said[0] ?? '';
};

const fullSticks = (): void => {
  const mount = async (options: string, use: (at: string) => Promise<void>): Promise<void> => {
    const at = await mkdtemp(path('small-'));
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', at]).status).toBe(0);
    try {
      await use(at);
    } finally {
      expect(spawnSync('umount', [at]).status).toBe(0);
    }
  };

  it.each(FORMS)('is reported before anything is written, with needed and free space: %s', async (form) => {
    await mount('size=1200k', async (at) => {
      cpSync(path('old', form), at, { recursive: true });
      // All but two pages: less than any change of the medium needs.
      const { bavail, bsize } = statfsSync(at);
      await writeFile(join(at, 'filler'), Buffer.alloc((bavail - 2) * bsize));
      const to = join(at, nameOf(form));
      const before = stateOf(to);
      expect(saidOf(await create(form, to))).toMatch(
        /DISK_FULL: \S+ has [\d.]+ [KM]iB free, [\d.]+ [KM]iB are needed/,
      );
      expect(stateOf(to)).toEqual(before);
      // Where nothing was, nothing is left; and plan says the same of it.
      const fresh = join(at, 'new', nameOf(form));
      const [lack] = /\S+ has .* are needed/.exec(saidOf(await create(form, fresh))) ?? [];
      expect(existsSync(join(at, 'new'))).toBe(false);
      const words = ['plan', '--from', world.path('layout'), '--to', fresh, ...wordsOf(form)];
      const planned = await exporter(words);
      expect(`${planned.stdout}${planned.stderr}`).toContain(lack);
      // With the room that it asked for it is written, however small the stick is.
      await rm(join(at, 'filler'));
      succeed(await create(form, to));
      expect(stateOf(to)).toEqual(stateOf(path('new', form, nameOf(form))));
    });
  });

  // A file system that has room and takes no more files: no look beforehand tells it.
  it.each(FORMS)(
    'is reported when files cannot be created; the old medium stays, and the run continues when there is room: %s',
    async (form) => {
      const files = Number(spawnSync('sh', ['-c', `find ${path('old', form)} | wc -l`]).stdout.toString());
      let failed = 0;
      for (let more = 1; more < 14; more += ALL ? 1 : 5) {
        await mount(`size=8m,nr_inodes=${files + more}`, async (at) => {
          cpSync(path('old', form), at, { recursive: true });
          const to = join(at, nameOf(form));
          const outcome = await create(form, to);
          if (outcome.code !== 0) {
            failed += 1;
            expect(saidOf(outcome)).toMatch(
              /DISK_FULL: .*no space left.*Free some space .* and run it again/,
            );
          }
          expect([1, 2]).toContain(await releaseOn(to));
          expect(spawnSync('mount', ['-o', 'remount,nr_inodes=500', at]).status).toBe(0);
          expect(await create(form, to)).toMatchObject({ code: 0 });
          expect(stateOf(to)).toEqual(stateOf(path('new', form, nameOf(form))));
        });
      }
      expect(failed).toBeGreaterThan(0);
    },
    300_000,
  );

  it.each(FORMS)('that is mounted read-only is refused in one message: %s', async (form) => {
    await mount('size=8m', async (at) => {
      cpSync(path('old', form), at, { recursive: true });
      expect(spawnSync('mount', ['-o', 'remount,ro', at]).status).toBe(0);
      expect(saidOf(await create(form, join(at, nameOf(form))))).toMatch(/PERMISSION: .*read-only/);
    });
  });
};

const TITLE = 'a medium without room';
if (rootAccess() === 'root' && spawnSync('unshare', ['-m', 'true'], { stdio: 'ignore' }).status === 0)
  describe(TITLE, fullSticks);
else describe.skip(`${TITLE}${SKIPPED}a small disk can be mounted by root only)`, fullSticks);

describe('several exports to one place at once', () => {
  it.each(FORMS)('write one after the other, or end as BUSY: %s', async (form) => {
    for (let round = 0; round < (ALL ? 3 : 1); round += 1) {
      const at = path('both', form, String(round));
      cpSync(path('old', form), at, { recursive: true });
      const to = join(at, nameOf(form));
      const both = await Promise.all([createApart(form, to), createApart(form, to), createApart(form, to)]);
      expect(both.filter(({ code }) => code === 0).length).toBeGreaterThan(0);
      for (const one of both.filter(({ code }) => code !== 0))
        expect(saidOf(one)).toMatch(/BUSY: another fleet-export writes to /);
      expect(stateOf(to)).toEqual(stateOf(path('new', form, nameOf(form))));
      expect(readdirSync(at)).toEqual([nameOf(form)]);
    }
  });
});

describe('a wrong clock', () => {
  it.each([
    ['1980-01-01T00:00:00Z', /FROM_FUTURE: .*ahead of this clock\. Set the clock/],
    ['2099-01-01T00:00:00Z', /ROOT_EXPIRED: .*if this clock is wrong, set it/],
  ])('is reported in one message, and nothing is changed: %s', async (time, said) => {
    for (const form of FORMS) {
      const at = path('clock', time, form);
      cpSync(path('old', form), at, { recursive: true });
      const to = join(at, nameOf(form));
      const outcome = await runExporter(disk.path, [...createWords(form, to), '--now', time]);
      expect(saidOf(outcome)).toMatch(said);
      expect(stateOf(to)).toEqual(stateOf(path('old', form, nameOf(form))));
    }
  });
});

describe('damaged parts of a set', () => {
  it('are never verified as correct, for any changed byte or missing end', async () => {
    const random = seeded(7);
    const stick = path('damaged');
    let named = 0;
    const tries = ALL ? 600 : 30;
    for (let n = 0; n < tries; n += 1) {
      await rm(stick, { recursive: true, force: true });
      cpSync(path('new', 'set', 'stick'), stick, { recursive: true });
      const parts = readdirSync(join(stick, 'fleet/parts'));
      const name = parts[Math.floor(random() * parts.length)] ?? '';
      const bytes = readFileSync(join(stick, 'fleet/parts', name));
      const at = Math.floor(random() * bytes.byteLength);
      const isCut = random() < 0.3;
      if (isCut) await writeFile(join(stick, 'fleet/parts', name), bytes.subarray(0, at));
      else {
        bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
        await writeFile(join(stick, 'fleet/parts', name), bytes);
      }
      const moment = `${name} ${isCut ? 'cut' : 'flipped'} at ${at}`;
      try {
        await using open = await openMedium(stick);
        const { checks } = await verifyMedium(open, undefined, NOW);
        const wrong = checks.filter(({ ok }) => !ok);
        expect(wrong.length, moment).toBeGreaterThan(0);
        if (JSON.stringify(wrong).includes(name)) named += 1;
      } catch (error) {
        if (!isFleetError(error) || error.code === 'INTERNAL') throw error;
        if (error.message.includes(name)) named += 1;
      }
      if (n % 10 === 0) {
        await fillForm(world.path('layout'), stick, 'set');
        expect(stateOf(stick), moment).toEqual(stateOf(path('new', 'set', 'stick')));
      }
    }
    expect(named).toBe(tries);
  }, 300_000);
});

describeWith(
  ['dockerRegistry'],
  'a registry that fails or sends wrong content during an export',
  ({ dockerRegistry }) => {
    type Lie = {
      readonly what: string;
      readonly fault: RegistryFault;
      readonly on: RegExp;
      readonly codes: RegExp;
    };
    const LIES: readonly Lie[] = [
      { what: 'gives other bytes', fault: { kind: 'flip' }, on: /^GET .*\/blobs\//, codes: /MISMATCH/ },
      { what: 'answers 500', fault: { kind: 'answer', status: 500 }, on: /\/blobs\//, codes: /REGISTRY/ },
      {
        what: 'has enough of it',
        fault: { kind: 'answer', status: 429 },
        on: /\/blobs\//,
        codes: /REGISTRY/,
      },
      {
        what: 'has lost a blob',
        fault: { kind: 'answer', status: 404 },
        on: /^GET .*\/blobs\//,
        codes: /MISSING_BLOB|REGISTRY/,
      },
      { what: 'cuts each answer', fault: { kind: 'cut', bytes: 0 }, on: /\/blobs\//, codes: /REGISTRY/ },
      { what: 'cuts a little later', fault: { kind: 'cut', bytes: 300 }, on: /\/blobs\//, codes: /REGISTRY/ },
    ];

    let registry: Registry;
    let line: FaultyRegistry;
    beforeAll(async () => {
      registry = await startRegistry(dockerRegistry);
      line = await startFaultyRegistry(registry.host);
      const to = `oci://${registry.host}/fleet`;
      succeed(await exporter(['push', path('new', 'directory', 'stick'), '--to', to]));
    });
    afterAll(async () => {
      await line?.[Symbol.asyncDispose]();
      await registry?.[Symbol.asyncDispose]();
    });

    it.each(LIES)(
      'is reported in one message, and the old medium stays: $what',
      async ({ what, fault, on, codes }) => {
        // Of the two forms, a usual run takes one for each lie.
        const forms = ['directory', 'set'] as const;
        for (const form of forms.filter(
          (_, index) => ALL || index === LIES.findIndex((lie) => lie.what === what) % 2,
        )) {
          line.fault = undefined;
          line.asked.length = 0;
          const counted = path('counted', form, nameOf(form));
          await rm(path('counted', form), { recursive: true, force: true });
          cpSync(path('old', form), path('counted', form), { recursive: true });
          const from = [
            'create',
            '--from',
            `oci://${line.host}/fleet`,
            '--channel',
            'prod/kiosk',
            ...wordsOf(form),
          ];
          succeed(await exporter([...from, '--to', counted]));
          const expected = stateOf(counted);
          const concerned = line.asked.filter((request) => on.test(request)).length;
          expect(concerned).toBeGreaterThan(0);
          for (const share of [0, 0.7]) {
            const at = path('lied', form);
            await rm(at, { recursive: true, force: true });
            cpSync(path('old', form), at, { recursive: true });
            await mkdir(path('lied', 'tmp'), { recursive: true });
            const to = join(at, nameOf(form));
            let seen = 0;
            line.fault = (request) => {
              if (!on.test(request)) return undefined;
              seen += 1;
              return seen > (concerned - 1) * share ? fault : undefined;
            };
            const outcome = await exporter([...from, '--to', to], {
              TMPDIR: path('lied', 'tmp'),
              FLEET_REGISTRY_DELAY: '2',
            });
            // What it kept of an earlier run it need not ask for, and not every answer is needed.
            if (outcome.code === 0) expect(await releaseOn(to)).toBe(2);
            else {
              expect(saidOf(outcome)).toMatch(codes);
              expect(await releaseOn(to)).toBe(1);
            }
            expect(readdirSync(path('lied', 'tmp'))).toEqual([]);
            const left = [...filesOf(at).keys()].filter((file) => file.includes('.tmp-'));
            expect(left).toEqual([]);
            line.fault = undefined;
            succeed(await exporter([...from, '--to', to]));
            expect(stateOf(to)).toEqual(expected);
            expect(existsSync(`${to}.partial`)).toBe(false);
          }
        }
      },
      600_000,
    );
  },
);
