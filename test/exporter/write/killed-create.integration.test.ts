import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import { openAge } from '#bundles/trust/age/open-age';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { filesOf } from '../files-of.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../world.ts';
import { type Form, fillForm } from './fill-form.ts';
import { LONG } from '../../harness/run/long.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';

const CRASH = testProgramFile('test/exporter/write/crash-create.ts');

const identity = await generateIdentity();
const recipient = await identityToRecipient(identity);

/** A stranger's files, which are there from the beginning and at the end. */
const THEIRS = ['holiday.jpg', 'fleet/requests/a.json', 'fleet/parts/notes.txt'];

const stateOf = (path: string): unknown => {
  if (existsSync(path)) {
    return path.endsWith('.tar') ? readFileSync(path) : filesOf(path);
  }
  return undefined;
};

/** The release on a medium that is right in every detail; undefined: not filled. */
const releaseOn = async (path: string): Promise<number | undefined> => {
  if (!existsSync(path)) return undefined;
  await using open = await openMedium(path, { unseal: (bytes) => openAge(bytes, [identity]) });
  if (!open.medium) return undefined;
  const { checks } = await verifyMedium(open, undefined, NOW);
  expect(checks.filter((check) => !check.ok)).toEqual([]);
  return open.medium.documents.find(({ role }) => role === 'release')?.version;
};

type Scenario = { readonly from: Form | undefined; readonly to: Form; readonly every: number };

const SCENARIOS: readonly Scenario[] = [
  { from: 'set', to: 'set', every: 23 },
  { from: 'tar', to: 'tar', every: 3 },
  { from: 'directory', to: 'directory', every: 19 },
];

/** Kills at random moments meet all of these each time (integration/media/export-kills). */
const MORE: readonly Scenario[] = [
  { from: undefined, to: 'set', every: 1 },
  { from: 'directory', to: 'set', every: 1 },
  { from: 'set', to: 'directory', every: 1 },
  { from: 'sealed', to: 'sealed', every: 1 },
];

const nameOf = (scenario: Scenario, name: string): string => (scenario.to === 'tar' ? `${name}.tar` : name);

const prepareWorld = async (world: World, scenario: Scenario): Promise<void> => {
  const path = world.path(nameOf(scenario, 'before'));
  if (scenario.from) await fillForm(world.path('layout'), path, scenario.from, recipient);
  for (const file of scenario.to === 'tar' ? [] : THEIRS) {
    await mkdir(world.path('before', file, '..'), { recursive: true });
    await writeFile(world.path('before', file), file);
  }
  await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
  if (existsSync(path)) cpSync(path, world.path(nameOf(scenario, 'calm')), { recursive: true });
  // By the program itself: only a run that ends keeps what Node compiled of it for those that are killed.
  expect(killAt(world, world.path(nameOf(scenario, 'calm')), scenario.to, 0)).toBe(false);
};

/** True when it was killed. */
const killAt = (world: World, to: string, form: Form, n: number): boolean => {
  const { status, signal, stderr } = spawnSync(
    process.execPath,
    [CRASH, world.path('layout'), to, form, String(n)],
    {
      env: { ...process.env, TEST_RECIPIENT: recipient },
      encoding: 'utf8',
    },
  );
  expect({ stderr, ended: signal === 'SIGKILL' || status === 0 }).toEqual({ stderr: '', ended: true });
  return signal === 'SIGKILL';
};

describe('create that is killed before any of its changes', () => {
  it.each([...SCENARIOS, ...(LONG ? MORE : [])])(
    'leaves the old or the new medium, and completes it when repeated: $from to $to',
    async (scenario) => {
      await using world = await makeKioskWorld();
      await prepareWorld(world, scenario);
      const old = scenario.from ? 1 : undefined;
      const calm = stateOf(world.path(nameOf(scenario, 'calm')));
      let tried = 0;
      for (let n = 1; ; n += LONG ? 1 : scenario.every) {
        const path = world.path(nameOf(scenario, 'stick'));
        const before = world.path(nameOf(scenario, 'before'));
        if (existsSync(before)) cpSync(before, path, { recursive: true });
        const killed = killAt(world, path, scenario.to, n);
        const found = await releaseOn(path);
        expect([old, 2], `before change ${n}`).toContain(found);
        await fillForm(world.path('layout'), path, scenario.to, recipient);
        if (scenario.to === 'sealed') expect(await releaseOn(path)).toBe(2);
        // A lock that nobody held any more is taken and goes.
        else expect(stateOf(path), `before change ${n}`).toEqual(calm);
        await rm(path, { recursive: true });
        if (!killed) break;
        tried += 1;
      }
      expect(tried).toBeGreaterThan(3);
    },
    600_000,
  );
});
