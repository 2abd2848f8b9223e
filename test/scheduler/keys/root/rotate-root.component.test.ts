import { describe, expect, it } from 'vitest';
import { fingerprint } from '#bundles/trust/keys/key';
import { describeAuthority } from '../../../../scheduler/keys/root/describe-root.ts';
import { type Rotation, rotateRoot } from '../../../../scheduler/keys/root/rotate-root.ts';
import { refusal } from '../../../bundles/refusal.ts';
import { AGENT_CA } from '../../../bundles/trust/root/fixtures.ts';
import { newKey } from '../../../bundles/trust/root/new-key.ts';
import { EXPIRES, makeRoot } from './officers.ts';

const [ada, ben, cleo, dora] = [newKey(), newKey(), newKey(), newKey()];
const before = await makeRoot([ada, ben, cleo], [ada, ben]);
const dev = await makeRoot([ada], [ada], { dev: true, thresholds: { root: 1 } });

const NOTHING: Rotation = {
  add: [],
  remove: [],
  thresholds: {},
  expires: EXPIRES,
  addAuthorities: [],
  removeAuthorities: [],
};
const rotate = (change: Partial<Rotation>, root = before) => rotateRoot(root, { ...NOTHING, ...change });
const refused = (change: Partial<Rotation>, root = before) => refusal(() => rotate(change, root));
const officer = (key: typeof ada) => ({ role: 'root', key: key.public }) as const;
const without = (key: typeof ada) => ({ role: 'root', key: fingerprint(key.public) }) as const;

describe('rotateRoot', () => {
  it('without changes returns the same content with the next version', () => {
    const next = rotate({});
    expect(next).toMatchObject({
      fleet: 'acme',
      version: 2,
      dev: false,
      thresholds: before.roles.root && { root: 2, bundle: 1 },
    });
    expect(next.keys.release.map(fingerprint)).toEqual(before.roles.release.keys.map(fingerprint));
  });

  it('replaces an officer, and a key by the first digits of its fingerprint', () => {
    const next = rotate({ remove: [without(ada)], add: [officer(dora)] });
    expect(next.keys.root.map(fingerprint).toSorted()).toEqual(
      [ben, cleo, dora].map((key) => fingerprint(key.public)).toSorted(),
    );
    const [old] = before.roles.bundle.keys;
    const other = newKey().public;
    const swapped = rotate({
      remove: [{ role: 'bundle', key: old ? fingerprint(old).slice(0, 8) : '' }],
      add: [{ role: 'bundle', key: other }],
    });
    expect(swapped.keys.bundle).toEqual([other]);
  });

  it('removes an authority, and adds one only once', () => {
    const { sha256 } = describeAuthority(AGENT_CA);
    expect(rotate({ removeAuthorities: [sha256.slice(0, 8)] }).agentCertificates).toEqual([]);
    expect(rotate({ addAuthorities: before.agentCertificates }).agentCertificates).toHaveLength(1);
    expect(refused({ removeAuthorities: ['000000'] })).toBe('USAGE');
  });

  it.each([
    ['an officer twice', { add: [officer(ada)] }],
    ['a stranger away', { remove: [without(dora)] }],
    [
      'every release key away',
      {
        remove: before.roles.release.keys.map((key) => ({ role: 'release', key: fingerprint(key) }) as const),
      },
    ],
    ['officers away until one is left', { remove: [without(ada), without(ben)] }],
    ['more officers than there are', { thresholds: { root: 4 } }],
    ['one officer alone', { thresholds: { root: 1 } }],
    ['two bundle keys where there is one', { thresholds: { bundle: 2 } }],
  ] as const)('is not made with %s', (_what, change) => {
    expect(refused(change)).toBe('USAGE');
  });

  it("turns a development root into an officers' root with two officers, and keeps it otherwise", () => {
    const real = rotate({ add: [officer(ben), officer(cleo)] }, dev);
    expect(real).toMatchObject({ dev: false, thresholds: { root: 2 } });
    expect(rotate({}, dev)).toMatchObject({ dev: true, thresholds: { root: 1 } });
    expect(rotate({ add: [officer(ben)], thresholds: { root: 1 } }, dev)).toMatchObject({ dev: true });
  });
});
