import { describe, expect, it } from 'vitest';
import { fingerprint } from '#bundles/trust/keys/key';
import { compareRoots } from '../../../../scheduler/keys/root/compare-roots.ts';
import { rootNotes } from '../../../../scheduler/keys/root/root-notes.ts';
import { newKey, publics } from '../../../bundles/trust/root/new-key.ts';
import { makeRoot, rootInputOf } from './officers.ts';

const [ada, ben, cleo, dora] = [newKey(), newKey(), newKey(), newKey()];
const one = await makeRoot([ada, ben, cleo], [ada, ben], { agentCertificates: [] });
const { keys } = rootInputOf([ada, ben, cleo]);
const same = { ...keys, bundle: one.roles.bundle.keys };
const print = (key: typeof ada): string => fingerprint(key.public);

describe('compareRoots', () => {
  it('returns nothing for two roots with the same content', async () => {
    const two = await makeRoot([ada, ben, cleo], [ada, ben], {
      version: 2,
      keys: same,
      agentCertificates: [],
    });
    expect(compareRoots(one, two)).toEqual([]);
    expect(rootNotes(two, one)).toEqual([]);
  });

  it('lists each changed key, threshold, authority and expiry', async () => {
    const two = await makeRoot([], [ben, cleo, dora], {
      version: 2,
      expires: new Date('2027-01-01T00:00:00Z'),
      keys: { ...same, root: publics([ben, cleo, dora]), lease: publics([dora]) },
      thresholds: { root: 3 },
    });
    const [oldLease] = one.roles.lease.keys;
    expect(compareRoots(one, two)).toEqual([
      `- officer's key ${print(ada)}`,
      `+ officer's key ${print(dora)}`,
      '~ root: 3 of them must sign, was 2',
      `- lease key ${oldLease ? fingerprint(oldLease) : ''}`,
      `+ lease key ${print(dora)}`,
      expect.stringMatching(/^\+ authority of agents [0-9a-f]{64}, until 2036-/),
      '~ valid until 2027-01-01T00:00:00Z, was 2028-11-21T08:00:00Z',
    ]);
    expect(rootNotes(two, one)).toEqual([
      expect.stringContaining("is officer's key and lease key"),
      expect.stringContaining('Every officer must sign each rotation'),
    ]);
  });

  it('lists a changed name of an officer', async () => {
    const more = { version: 2, keys: same, agentCertificates: [] };
    const named = await makeRoot([ada, ben, cleo], [ada, ben], {
      ...more,
      officers: { [print(ada)]: 'ada', [print(ben)]: 'Ben K' },
    });
    expect(compareRoots(one, named)).toEqual(
      [
        `~ officer ${print(ada)} is named ada, was without a name`,
        `~ officer ${print(ben)} is named Ben K, was without a name`,
      ].toSorted(),
    );
    const swapped = await makeRoot([ada, ben, cleo], [ada, ben], {
      ...more,
      version: 3,
      officers: { [print(ada)]: 'Ben K', [print(ben)]: 'Ben K' },
    });
    expect(compareRoots(named, swapped)).toEqual([`~ officer ${print(ada)} is named Ben K, was ada`]);
  });

  it('lists the end of a development root, and its unprotected keys that stay', async () => {
    const dev = await makeRoot([ada], [ada], {
      dev: true,
      thresholds: { root: 1 },
      keys: { ...same, root: publics([ada]) },
    });
    const two = await makeRoot([], [ben, cleo], {
      version: 2,
      keys: { ...same, root: publics([ben, cleo, dora]) },
    });
    expect(compareRoots(dev, two)[0]).toContain('no development root any more');
    const notes = rootNotes(two, dev);
    expect(notes).toHaveLength(5);
    expect(notes[0]).toMatch(/^bundle key [0-9a-f]{64} is of the development root/);
  });
});
