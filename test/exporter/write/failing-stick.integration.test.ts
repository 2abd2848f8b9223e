import { cpSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAge } from '#bundles/trust/age/open-age';
import { formatError, toFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { LONG } from '../../harness/run/long.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { filesOf } from '../files-of.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../world.ts';
import { type Form, fillForm } from './fill-form.ts';
import { type Touch, watchChanges } from './watch-changes.ts';

const FORMS: readonly Form[] = ['directory', 'tar', 'set', 'sealed'];

const identity = await generateIdentity();
const recipient = await identityToRecipient(identity);

/** Every call costs minutes: a long run (or FLEET_MOMENTS=all) makes them, others four of them. */
const ALL = LONG || process.env['FLEET_MOMENTS'] === 'all';

const stepOf = (calls: number): number => (ALL ? 1 : Math.ceil(calls / 4));

/** How a stick fails, from its n-th call on. */
type Failure = {
  readonly what: string;
  readonly concerns: (touch: Touch) => boolean;
  readonly errno: string;
  /** What a message may say to a person. */
  readonly codes: readonly string[];
  /** Forms of a usual run; by default all. */
  readonly usual?: readonly Form[];
};

const FAILURES: readonly Failure[] = [
  { what: 'does not answer any more', concerns: () => true, errno: 'EIO', codes: ['IO'] },
  // This failure and the next one come at the same calls: each form meets one of them.
  {
    what: 'writes no more',
    concerns: ({ reads }) => !reads,
    errno: 'EIO',
    codes: ['IO'],
    usual: ['directory', 'sealed'],
  },
  {
    what: 'is read-only all at once',
    concerns: ({ reads }) => !reads,
    errno: 'EROFS',
    codes: ['PERMISSION'],
    usual: ['tar', 'set'],
  },
  {
    what: 'is full',
    concerns: ({ call }) => ['open', 'mkdir', 'write', 'writev', 'writeFile', 'sync'].includes(call),
    errno: 'ENOSPC',
    codes: ['DISK_FULL'],
  },
];

let fault: ((touch: Touch) => void) | undefined;
await watchChanges((touch) => fault?.(touch));

let world: World;
beforeAll(async () => {
  world = await makeKioskWorld();
  for (const form of FORMS)
    await fillForm(world.path('layout'), world.path(nameOf(form, form)), form, recipient);
  await mkdir(world.path('empty'), { recursive: true });
  await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
});
afterAll(() => world[Symbol.asyncDispose]());

const nameOf = (form: Form, name: string): string => join(name, form === 'tar' ? 'medium.tar' : 'stick');

const stateOf = (path: string): unknown => (path.endsWith('.tar') ? readFileSync(path) : filesOf(path));

/** The release on a medium that is right in every detail. */
const releaseOn = async (path: string): Promise<number | undefined> => {
  await using open = await openMedium(path, { unseal: (bytes) => openAge(bytes, [identity]) });
  const { checks } = await verifyMedium(open, undefined, NOW);
  expect(checks.filter((check) => !check.ok)).toEqual([]);
  return open.medium?.documents.find(({ role }) => role === 'release')?.version;
};

const fill = (path: string, form: Form) => fillForm(world.path('layout'), path, form, recipient);

/** The old medium again at the place where it is filled. */
const plugIn = async (form: Form): Promise<string> => {
  const path = world.path(nameOf(form, 'place'));
  rmSync(dirname(path), { recursive: true, force: true });
  cpSync(world.path(dirname(nameOf(form, form))), dirname(path), { recursive: true });
  return path;
};

/** Fills the stick, and fails from its n-th call on that concerns the failure; Infinity: it only counts them. */
const fillWhileFailing = async (
  path: string,
  form: Form,
  n: number,
  onReached: (touch: Touch) => void,
  concerns: Failure['concerns'] = () => true,
) => {
  let count = 0;
  fault = (touch) => {
    if (!touch.path.startsWith(dirname(path)) || !concerns(touch)) return;
    count += 1;
    if (count >= n) onReached(touch);
  };
  try {
    const exported = await fill(path, form);
    return { exported, calls: count, reached: count >= n };
  } catch (error) {
    return { error: toFleetError(error), calls: count, reached: true };
  } finally {
    fault = undefined;
  }
};

describe.each(FAILURES)('a medium that $what', ({ concerns, errno, codes, usual = FORMS }) => {
  it.each(ALL ? FORMS : usual)(
    'at any call of an export is the old medium or the new one: %s',
    async (form) => {
      const calm = await plugIn(form);
      const { calls } = await fillWhileFailing(calm, form, Infinity, () => {}, concerns);
      const expected = stateOf(calm);
      let tried = 0;
      for (let n = 1; ; n += stepOf(calls)) {
        const path = await plugIn(form);
        const fail = ({ call, path: at, isOpen }: Touch): void => {
          // The system does not say which of the open files it was.
          throw Object.assign(new Error(`${errno}: ${call}${isOpen ? '' : ` '${at}'`}`), { code: errno });
        };
        const { error, reached } = await fillWhileFailing(path, form, n, fail, concerns);
        if (!reached) break;
        tried += 1;
        const moment = `call ${n}: ${error?.code} ${error?.message}`;
        if (error) {
          expect(codes, moment).toContain(error.code);
          expect(formatError(error), moment).toContain(dirname(path));
          expect(formatError(error).split('\n'), moment).toHaveLength(1);
        }
        expect([1, 2], moment).toContain(await releaseOn(path));
        await fill(path, form);
        if (form === 'sealed') expect(await releaseOn(path), moment).toBe(2);
        else expect(stateOf(path), moment).toEqual(expected);
      }
      process.stdout.write(`${form}, ${errno}: ${tried} moments\n`);
      expect(tried).toBeGreaterThan(2);
    },
    600_000,
  );
});

describe.each([
  { what: 'nothing', leaves: false, usual: ['directory', 'sealed'] as const },
  { what: 'an empty folder', leaves: true, usual: ['tar', 'set'] as const },
])('a medium that is pulled out, which leaves $what where it was mounted', ({ leaves, usual }) => {
  it.each(ALL ? FORMS : usual)(
    'is the old medium or the new one, and is not called filled: %s',
    async (form) => {
      const { calls } = await fillWhileFailing(await plugIn(form), form, Infinity, () => {});
      let tried = 0;
      for (let n = 1; ; n += stepOf(calls)) {
        const path = await plugIn(form);
        const mount = form === 'tar' ? dirname(path) : path;
        const away = world.path('away');
        rmSync(away, { recursive: true, force: true });
        let pulled = false;
        const pull = (): void => {
          if (pulled) return;
          pulled = true;
          renameSync(mount, away);
        };
        const { exported, error, reached } = await fillWhileFailing(path, form, n, (touch) => {
          pull();
          if (leaves && !existsSync(mount)) cpSync(world.path('empty'), mount, { recursive: true });
          return touch;
        });
        if (!reached) break;
        tried += 1;
        const moment = `call ${n}: ${error?.code} ${error?.message}`;
        const there = form === 'tar' ? join(away, 'medium.tar') : away;
        const release = await releaseOn(there);
        expect([1, 2], moment).toContain(release);
        // Pulled before anybody looked at it, the folder that is left there is filled; pulled at the very end, the stick is.
        if (exported && release !== 2) expect(await releaseOn(path), moment).toBe(2);
        if (error) expect(['IO', 'MEDIUM_MISSING'], moment).toContain(error.code);
      }
      process.stdout.write(`${form}, pulled: ${tried} moments\n`);
      expect(tried).toBeGreaterThan(2);
    },
    600_000,
  );
});
