import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { addDays } from '#bundles/time';
import { newKey, publics } from '../root/new-key.ts';
import { edited, names, rotated, row, signedRelease } from './attack-row.ts';
import {
  after,
  at,
  BUNDLE_A,
  BUNDLE_B,
  clock,
  enrolled,
  importMedium,
  NOW,
  nextRelease,
  officers,
  type ReleaseInput,
  release,
  releaseMedium,
  remember,
  root1,
  rootOf,
  sign,
  siteAgent,
  sitePayload,
  stranger,
} from './signed-world.ts';

describe('back and forth in time', () => {
  const version = (number: number, change: ReleaseInput = {}) =>
    releaseMedium({ version: number, ...change });
  const afterTwo = async () => after(await version(2));

  row('M12: rollback -> ROLLBACK', () => version(1), { state: afterTwo });
  row(
    'M12: rollback of the site statement -> ROLLBACK',
    async () => ({ site: await sign(sitePayload(), release) }),
    {
      state: async () => after({ site: await sign(sitePayload({ version: 2 }), release) }),
    },
  );
  row('M13: operator rollback -> ACCEPT', () => version(3, names(BUNDLE_A)), {
    state: async () => after(await version(1, names(BUNDLE_A)), await version(2, names(BUNDLE_B))),
  });
  row('M14: equivocation -> EQUIVOCATION', () => version(2, names(BUNDLE_B)), { state: afterTwo });
  row(
    'M14: equivocation of the site statement -> EQUIVOCATION',
    async () => ({
      site: await sign(sitePayload({ agents: [siteAgent({ labels: { ring: 'late' } })] }), release),
    }),
    { state: () => after({}) },
  );
  row('M15: freeze -> EXPIRED', () => ({}), { when: clock(180) });
  row('M15: freeze, a second before the end -> ACCEPT', () => ({}), {
    when: { ...clock(179), now: new Date(clock(179).now.getTime() - 1) },
  });
  row('M15: freeze, at the very end -> EXPIRED', () => ({}), { when: clock(179) });
  row('M15: freeze of the site statement -> EXPIRED', () => version(2, { expires: at(398) }), {
    when: clock(366),
    state: () => after({}),
  });

  const inSummer = async () => {
    const state = await after({});
    const site = await sign(sitePayload({ version: 2, issuedAt: at(200), expires: at(500) }), release);
    return remember(state, await importMedium(state, { site, release: false }, clock(201)));
  };
  row('M16: clock set back -> EXPIRED', async () => ({ ...(await version(2)), site: false }), {
    state: inSummer,
    when: clock(-99, false),
  });
  row(
    'M16: dead clock, but the site statement beside it proves the release old -> EXPIRED',
    async () => ({
      ...(await version(2)),
      site: await sign(sitePayload({ issuedAt: at(200), expires: at(500) }), release),
    }),
    { when: clock(-2000, false) },
  );
  it('M16: a dead clock moves forward by signed evidence alone', async () => {
    const accepted = await importMedium(enrolled, await version(1), clock(-2000, false));
    expect(accepted.time).toEqual(addDays(NOW, -1));
    const again = await importMedium(remember(enrolled, accepted), {}, clock(-2000, false));
    expect(again.time).toEqual(addDays(NOW, -1));
  });

  row('M19: far-future release -> FROM_FUTURE', () => version(1, { issuedAt: at(30), expires: at(60) }));
  row(
    'M19: far-future release for a clock that nobody trusts -> ACCEPT',
    () => version(1, { issuedAt: at(30), expires: at(60) }),
    { when: clock(0, false) },
  );
  row('M19: issued within a day of the clock -> ACCEPT', () => version(1, { issuedAt: at(1) }));
  it('M19: no statement moves the time beyond the end of the root', async () => {
    const far = await version(1, { issuedAt: at(900), expires: at(1000) });
    expect((await importMedium(enrolled, far, clock(0, false))).time).toEqual(addDays(NOW, 700));
  });
});

const root2 = await rootOf(2);

describe('roots', () => {
  const [fourth, fifth, sixth] = [newKey(), newKey(), newKey()];
  const newOfficers = { keys: { root: publics([fourth, fifth, sixth]) } };

  row('M29: rotation -> ACCEPT', async () => rotated({ release: await signedRelease({}, nextRelease) }));
  row('M29: rotation of the officers -> ACCEPT', async () => ({
    roots: [root1, await rootOf(2, newOfficers, [officers[0], officers[2], fourth, sixth])],
  }));
  row('M29: chain 1-2-3 with an expired middle -> ACCEPT', async () => ({
    roots: [await rootOf(3), root1, await rootOf(2, { expires: addDays(NOW, -30) })],
  }));
  row('M29: enrolled by hand, every root on the medium -> ACCEPT', () => ({ roots: [root1, root2] }), {
    state: () => ({ ...enrolled, root: undefined }),
  });
  row('M29: enrolled with another SHA-256 -> ROOT_UNKNOWN', () => ({ roots: [root1, root2] }), {
    state: () => ({ ...enrolled, root: undefined, pinnedRoot: digestOf('another') }),
  });
  row('M29: enrolled for another fleet -> ROOT_FLEET', () => ({}), {
    state: () => ({ ...enrolled, root: undefined, fleet: 'other' }),
  });
  row('M30: weak root, one of two old officers -> ROOT_THRESHOLD_OLD', async () => ({
    roots: [root1, await rootOf(2, newOfficers, [officers[0], fourth, fifth])],
  }));
  row('M30: weak root, not signed by its own -> ROOT_THRESHOLD_NEW', async () => ({
    roots: [root1, await rootOf(2, newOfficers, [officers[0], officers[1], fourth])],
  }));
  row('M31: root jump -> ROOT_VERSION', async () => ({ roots: [root1, await rootOf(3)] }));
  row('M31: foreign root -> ROOT_FLEET', async () => ({
    roots: [root1, await rootOf(2, { fleet: 'other' })],
  }));
  row('M31: expired last root -> ROOT_EXPIRED', async () => ({
    roots: [root1, await rootOf(2, { expires: addDays(NOW, -1) })],
  }));
  row('M31: stored root expired and no newer one -> ROOT_EXPIRED', () => ({}), { when: clock(700) });
  row('M31: another root 1 signed by the same officers -> EQUIVOCATION', async () => ({
    roots: [await rootOf(1, { keys: { release: publics([stranger]) } })],
  }));
  row('M32: duplicated root key -> ROOT_FORMAT', () => ({
    roots: [
      root1,
      edited(root2, ({ signed }) => {
        const [id] = signed.roles.root.keyids;
        const other = 'f'.repeat(64);
        signed.keys[other] = signed.keys[id];
        signed.roles.root.keyids = [id, other];
      }),
    ],
  }));
  row('M33: hidden root -> ROOT_BEHIND', () => releaseMedium({ rootVersion: 2 }));
  row('M33: the root that the release needs -> ACCEPT', async () => ({
    ...(await releaseMedium({ rootVersion: 2 })),
    roots: [root1, root2],
  }));

  const afterRotation = async () => after(await rotated({ release: await signedRelease({}, nextRelease) }));
  row(
    'M34: stolen release key after rotation -> UNKNOWN_KEY',
    async () => ({
      ...(await releaseMedium({ version: 99 })),
      site: false,
    }),
    { state: afterRotation },
  );
  row(
    'M34: stolen release key after rotation, root 1 only -> UNKNOWN_KEY',
    async () => ({
      ...(await releaseMedium({ version: 99 })),
      roots: [root1],
    }),
    { state: afterRotation },
  );

  const farAhead = async () =>
    after({
      ...(await releaseMedium({ version: Number.MAX_SAFE_INTEGER })),
      site: await sign(sitePayload({ version: Number.MAX_SAFE_INTEGER }), release),
    });
  row(
    'M35: fast-forward without rotation -> ROLLBACK',
    () => releaseMedium({ version: 2 }, { site: false }),
    {
      state: farAhead,
    },
  );
  row(
    'M35: fast-forward, then rotation -> ACCEPT',
    async () => rotated({ release: await signedRelease({ version: 2 }, nextRelease) }),
    { state: farAhead },
  );

  /** A stolen release key dates a statement years ahead, for an agent whose clock is dead. */
  const ahead = async () => {
    const far = { issuedAt: at(690), expires: at(1000) };
    const medium = { ...(await releaseMedium(far)), site: await sign(sitePayload(far), release) };
    return remember(enrolled, await importMedium(enrolled, medium, clock(0, false)));
  };
  row(
    'M35: fast-forward of time without rotation -> EXPIRED',
    () => releaseMedium({ version: 2 }, { site: false }),
    { state: ahead, when: clock(0, false) },
  );
  row(
    'M35: fast-forward of time, then rotation -> ACCEPT',
    async () => rotated({ release: await signedRelease({}, nextRelease) }),
    { state: ahead },
  );
  row(
    'M35: fast-forward of time, then a root that lives shorter than that -> ACCEPT',
    async () => {
      const keys = { release: publics([nextRelease]) };
      const roots = [root1, await rootOf(2, { keys, expires: addDays(NOW, 300) })];
      return rotated({ roots, release: await signedRelease({}, nextRelease) });
    },
    { state: ahead },
  );
  row(
    'M35: fast-forward of time, then a key added only -> EXPIRED',
    async () => ({
      roots: [root1, await rootOf(2, { keys: { release: publics([release, nextRelease]) } })],
      site: await sign(sitePayload({ version: 2 }), nextRelease),
      release: await signedRelease({ version: 2 }, nextRelease),
    }),
    { state: ahead },
  );

  const added = async () => [root1, await rootOf(2, { keys: { release: publics([release, nextRelease]) } })];
  row(
    'M36: key added, not rotated -> ROLLBACK',
    async () => ({ ...(await releaseMedium({ version: 4 })), roots: await added() }),
    { state: async () => after(await releaseMedium({ version: 5 })) },
  );
  const cosigned = async () => ({
    roots: await added(),
    release: await signedRelease({ version: 5 }, release, nextRelease),
    site: await sign(sitePayload(), release, nextRelease),
  });
  const dropped = async () => [...(await added()), await rootOf(3)];
  row(
    'M36: one of two signers rotated away -> ROLLBACK',
    async () => ({ ...(await releaseMedium({ version: 4 })), roots: await dropped() }),
    { state: async () => after(await cosigned()) },
  );
  row(
    'M36: one of two signers rotated away, after a re-import with its signature alone -> ROLLBACK',
    async () => ({ ...(await releaseMedium({ version: 4 })), roots: await dropped() }),
    {
      state: async () =>
        after(await cosigned(), {
          site: await sign(sitePayload(), nextRelease),
          release: await signedRelease({ version: 5 }, nextRelease),
        }),
    },
  );
  row(
    'M36: one of two signers of the site statement rotated away, after a re-import with its signature alone -> ROLLBACK',
    async () => ({ site: await sign(sitePayload(), release), roots: await dropped() }),
    {
      state: async () => {
        const newer = sitePayload({ version: 2 });
        const roots = await added();
        return after(
          { roots, site: await sign(newer, release, nextRelease) },
          { roots, site: await sign(newer, nextRelease) },
        );
      },
    },
  );
});
