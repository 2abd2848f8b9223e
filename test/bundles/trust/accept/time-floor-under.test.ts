import { describe, expect, it } from 'vitest';
import { timeFloorUnder } from '#bundles/trust/accept/time-floor-under';
import type { KeptStatement, TrustState } from '#bundles/trust/accept/trust-state';
import { digestOf } from '#bundles/digest';
import { addDays } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { parseRoot } from '#bundles/trust/root/root';
import { publics } from '../root/new-key.ts';
import {
  at,
  enrolled,
  NOW,
  nextRelease,
  release,
  releasePayload,
  rootOf,
  sign,
  sitePayload,
} from './signed-world.ts';

const kept = async (payload: Buffer, ...keys: readonly SigningKey[]): Promise<KeptStatement> => ({
  envelopes: await sign(payload, ...keys),
  version: 1,
  digest: digestOf(payload),
});

/** Both keys count under the first root, only the next one under the second. */
const before = parseRoot(await rootOf(1, { keys: { release: publics([release, nextRelease]) } }));
const afterwards = parseRoot(await rootOf(2, { keys: { release: publics([nextRelease]) } }));

const state = async (
  time: number,
  site: readonly [number, SigningKey],
  released: readonly [number, SigningKey],
): Promise<TrustState> => ({
  ...enrolled,
  root: before,
  time: addDays(NOW, time),
  siteStatement: await kept(sitePayload({ issuedAt: at(site[0]), expires: at(999) }), site[1]),
  release: await kept(releasePayload({ issuedAt: at(released[0]), expires: at(999) }), released[1]),
});

describe('timeFloorUnder, the time floor under a new root', () => {
  it('stays when the statement that set it is still valid', async () => {
    const known = await state(20, [20, release], [10, nextRelease]);
    expect(timeFloorUnder(known, before)).toEqual(addDays(NOW, 20));
    const later = await state(20, [10, release], [20, nextRelease]);
    expect(timeFloorUnder(later, afterwards)).toEqual(addDays(NOW, 20));
  });

  it('falls to the newest statement that is still valid', async () => {
    const known = await state(20, [20, release], [10, nextRelease]);
    expect(timeFloorUnder(known, afterwards)).toEqual(addDays(NOW, 10));
    const both = await state(20, [20, release], [20, nextRelease]);
    expect(timeFloorUnder(both, afterwards)).toEqual(addDays(NOW, 20));
  });

  it('is undefined when no statement is valid any longer', async () => {
    expect(timeFloorUnder(await state(20, [20, release], [10, release]), afterwards)).toBeUndefined();
    // Held back at the root's end, when it was set.
    expect(timeFloorUnder(await state(20, [30, release], [10, release]), afterwards)).toBeUndefined();
  });

  it('stays when the statement that set it is no longer stored', async () => {
    const known = await state(25, [20, release], [10, release]);
    expect(timeFloorUnder(known, afterwards)).toEqual(addDays(NOW, 25));
  });

  it('is never raised by a statement above it', async () => {
    const known = await state(20, [20, release], [30, nextRelease]);
    expect(timeFloorUnder(known, afterwards)).toEqual(addDays(NOW, 20));
  });

  it('is undefined when there was no floor', () => {
    expect(timeFloorUnder(enrolled, before)).toBeUndefined();
  });
});
