import { describe, expect, it } from 'vitest';
import type { SigningKey } from '#bundles/trust/keys/key';
import {
  advanceRoot,
  checkRootExpiry,
  createRoot,
  parseRoot,
  signRoot,
  type TrustRoot,
} from '#bundles/trust/root/root';
import { refusal } from '../../refusal.ts';
import { newKey, publics } from './new-key.ts';

const [ada, ben, cleo, dora, eve] = [newKey(), newKey(), newKey(), newKey(), newKey()];
const online = publics([newKey()]);

type Options = { readonly fleet?: string; readonly expires?: Date; readonly lease?: SigningKey };

const make = async (
  version: number,
  officers: readonly SigningKey[],
  signers: readonly SigningKey[],
  options: Options = {},
): Promise<TrustRoot> => {
  const { fleet = 'acme', expires = new Date('2028-01-01T00:00:00Z'), lease } = options;
  const keys = { bundle: online, release: online, receipt: online, audit: online };
  const input = {
    fleet,
    version,
    expires,
    keys: { ...keys, root: publics(officers), lease: lease ? [lease.public] : online },
  };
  return parseRoot(await createRoot(input, signers));
};

const first = [ada, ben, cleo];
const second = [ben, cleo, dora];
const third = [cleo, dora, eve];
const one = await make(1, first, [ada, ben]);
const two = await make(2, second, [ada, ben, dora]);
const three = await make(3, third, [ben, dora, eve]);

const refusalOf = (...candidates: readonly TrustRoot[]) => refusal(() => advanceRoot(one, candidates));

describe('advanceRoot', () => {
  it('M29 follows a rotation', () => {
    expect(advanceRoot(one, [two])).toBe(two);
  });

  it('M29 follows a chain through an expired root to a valid one', async () => {
    const old = await make(2, second, [ada, ben, dora], { expires: new Date('2020-01-01T00:00:00Z') });
    const now = new Date('2026-11-21T08:00:00Z');
    expect(refusal(() => checkRootExpiry(old, now))).toBe('ROOT_EXPIRED');
    expect(advanceRoot(one, [old, three])).toBe(three);
    expect(() => checkRootExpiry(three, now)).not.toThrow();
  });

  it('accepts the candidates in any order, including older ones and the current one', () => {
    expect(advanceRoot(one, [three, one, two])).toBe(three);
    expect(advanceRoot(two, [three, one, two])).toBe(three);
    expect(advanceRoot(three, [one, two])).toBe(three);
    expect(advanceRoot(one, [])).toBe(one);
  });

  it('accepts a second file of the current root with more signatures', async () => {
    const more = parseRoot(await signRoot(two.bytes, [cleo]));
    expect(more.digest).not.toBe(two.digest);
    expect(advanceRoot(two, [more])).toBe(two);
  });

  it('M30 refuses a root that one of two old officers signed', async () => {
    expect(refusalOf(await make(2, second, [ben, dora]))).toBe('ROOT_THRESHOLD_OLD');
  });

  it('M30 refuses a root that its own new officers did not sign', async () => {
    const keys = { root: publics([cleo, dora, eve]), bundle: online, release: online, lease: online };
    const draft = await createRoot(
      { fleet: 'acme', version: 2, expires: two.expires, keys: { ...keys, receipt: online, audit: online } },
      [ada, ben],
    );
    expect(refusal(() => parseRoot(draft))).toBe('ROOT_THRESHOLD_NEW');
    // Even if somebody hands it over as if it had been parsed.
    expect(refusalOf({ ...two, bytes: draft })).toBe('ROOT_THRESHOLD_NEW');
  });

  it('M31 refuses a jump from 1 to 3', () => {
    expect(refusalOf(three)).toBe('ROOT_VERSION');
  });

  it('M31 refuses a root of another fleet, even an older one by the same officers', async () => {
    expect(refusalOf(await make(2, second, [ada, ben, dora], { fleet: 'other' }))).toBe('ROOT_FLEET');
    const older = await make(1, second, [ben, dora], { fleet: 'other' });
    expect(refusal(() => advanceRoot(two, [older]))).toBe('ROOT_FLEET');
  });

  it('refuses a second content of the current or next version: EQUIVOCATION', async () => {
    expect(refusalOf(await make(1, first, [ada, ben], { lease: newKey() }))).toBe('EQUIVOCATION');
    const other = await make(2, second, [ada, ben, dora], { lease: newKey() });
    expect(refusalOf(two, other)).toBe('EQUIVOCATION');
  });

  it('refuses more than 64 rotations at once', async () => {
    const many = await Promise.all(
      Array.from({ length: 65 }, (_, index) => make(index + 2, first, [ada, ben])),
    );
    expect(refusalOf(one, ...many)).toBe('TOO_MANY');
    expect(advanceRoot(one, [one, ...many.slice(0, 64)]).version).toBe(65);
  });
});
