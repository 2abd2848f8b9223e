import { cpSync, existsSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAge } from '#bundles/trust/age/open-age';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { seeded } from '../../e2e/reliability/field.ts';
import { filesOf } from '../../exporter/files-of.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../../exporter/world.ts';
import { type Form, fillForm } from '../../exporter/write/fill-form.ts';
import { runToKill } from '../../exporter/write/kill-at-random.ts';
import { PART } from '../../exporter/write/set-world.ts';
import { LONG } from '../../harness/run/long.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/** How many kills in all; docs/reliability.md has those of a long run. */
const KILLS = Number(process.env['FLEET_KILLS'] ?? (LONG ? 200 : 10));
const SEED = Number(process.env['FLEET_SEED'] ?? 1);
const random = seeded(SEED);

type Case = {
  readonly what: string;
  readonly from?: Form;
  readonly to: Form;
  /** Of the medium of release 1. */
  readonly delta?: true;
};

const CASES: readonly Case[] = [
  { what: 'a new folder', to: 'directory' },
  { what: 'a folder over a folder', from: 'directory', to: 'directory' },
  { what: 'a delta over a full folder', from: 'directory', to: 'directory', delta: true },
  { what: 'a tar over a tar', from: 'tar', to: 'tar' },
  { what: 'a delta tar over a full tar', from: 'tar', to: 'tar', delta: true },
  { what: 'a set over a set', from: 'set', to: 'set' },
  { what: 'a sealed set over a sealed set', from: 'sealed', to: 'sealed' },
  { what: 'a set over a folder', from: 'directory', to: 'set' },
  { what: 'a folder over a set', from: 'set', to: 'directory' },
  { what: 'a delta set over a full set', from: 'set', to: 'set', delta: true },
];
const EACH = Math.ceil(KILLS / CASES.length);

const identity = await generateIdentity();
const recipient = await identityToRecipient(identity);

/** A stranger's files, which are there from the beginning and at the end. */
const THEIRS = ['holiday.jpg', 'fleet/requests/a.json', 'fleet/parts/notes.txt', 'blobs/notes.txt'];

let world: World;
let disk: TemporaryDirectory;
const { env } = process;

/** Media lie on a disk here, where a sync takes its time. */
const path = (...names: readonly string[]): string => join(disk.path, ...names);

beforeAll(async () => {
  world = await makeKioskWorld();
  disk = await temporaryDirectory('export-kills');
  for (const form of ['directory', 'set', 'sealed'] as const) {
    await fillForm(world.path('layout'), path(form), form, recipient);
    await addTheirs(path(form));
  }
  await fillForm(world.path('layout'), path('tar.tar'), 'tar');
  await addTheirs(path('none'));
  await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await disk[Symbol.asyncDispose]();
});

const addTheirs = async (folder: string): Promise<void> => {
  for (const file of THEIRS) {
    await mkdir(join(folder, file, '..'), { recursive: true });
    await writeFile(join(folder, file), file);
  }
};

const beforeOf = ({ from, to }: Case): string | undefined => {
  if (from === 'tar') return path('tar.tar');
  if (from) return path(from);
  return to === 'tar' ? undefined : path('none');
};

const place = (one: Case, name: string): string => {
  const to = path(one.to === 'tar' ? `${name}.tar` : name);
  const before = beforeOf(one);
  if (before !== undefined) cpSync(before, to, { recursive: true });
  return to;
};

const base = (one: Case): string | undefined => (one.delta ? beforeOf(one) : undefined);

const wordsOf = (one: Case, to: string): readonly string[] => {
  const since = base(one);
  return [
    'create',
    '--from',
    world.path('layout'),
    '--all',
    '--to',
    to,
    '--now',
    NOW.toISOString(),
    ...(one.to === 'set' || one.to === 'sealed' ? ['--part-size', String(PART)] : []),
    ...(one.to === 'sealed' ? ['--encrypt', '--recipient', recipient] : []),
    ...(since === undefined ? [] : ['--for', since]),
  ];
};

const fill = async (one: Case, to: string): Promise<void> => {
  const since = base(one);
  await fillForm(world.path('layout'), to, one.to, recipient, { bases: since === undefined ? [] : [since] });
};

/** The release on a medium that is right in every detail; undefined: not filled. */
const releaseOn = async (to: string): Promise<number | undefined> => {
  if (!existsSync(to)) return undefined;
  await using open = await openMedium(to, { unseal: (bytes) => openAge(bytes, [identity]) });
  if (!open.medium) return undefined;
  const { checks } = await verifyMedium(open, undefined, NOW);
  expect(checks.filter((check) => !check.ok)).toEqual([]);
  return open.medium.documents.find(({ role }) => role === 'release')?.version;
};

/** Milliseconds of the fastest run so far, of all cases: kills are drawn from it. The first run may be a slow one. */
let longest = 0;

const stateOf = (to: string): unknown => (to.endsWith('.tar') ? readFileSync(to) : filesOf(to));

describe(`create, killed ${KILLS} times at random moments (seed ${SEED})`, () => {
  it.each(CASES)(
    'leaves the old or the new medium, and completes it to the same bytes: $what',
    async (one) => {
      const calm = place(one, 'calm');
      if (longest === 0) {
        const timed = place(one, 'timed');
        const run = await runToKill({ words: wordsOf(one, timed), env });
        expect(run.code, run.said).toBe(0);
        longest = run.ms;
        await rm(timed, { recursive: true });
      }
      await fill(one, calm);
      const expected = stateOf(calm);
      await rm(calm, { recursive: true });
      const found = { old: 0, new: 0 };
      for (let tries = 0; found.old + found.new < EACH; tries += 1) {
        expect(tries, 'it is hardly ever killed before its end').toBeLessThan(EACH * 4 + 20);
        const to = place(one, 'stick');
        const killAfterMs = longest * random();
        const { killed, said, ms } = await runToKill({ words: wordsOf(one, to), env, killAfterMs });
        if (!killed) longest = Math.min(longest, ms);
        if (killed) {
          const moment = `killed after ${killAfterMs.toFixed(1)} ms; ${said}`;
          const release = await releaseOn(to);
          expect([one.from ? 1 : undefined, 2], moment).toContain(release);
          found[release === 2 ? 'new' : 'old'] += 1;
          await fill(one, to);
          if (one.to === 'sealed') expect(await releaseOn(to), moment).toBe(2);
          else expect(stateOf(to), moment).toEqual(expected);
          if (one.to !== 'tar')
            for (const file of THEIRS) expect(readFileSync(join(to, file), 'utf8')).toBe(file);
        }
        await rm(to, { recursive: true, force: true });
      }
      process.stdout.write(`${one.what}: ${EACH} kills, ${found.old} old, ${found.new} new\n`);
    },
    1_200_000,
  );
});
