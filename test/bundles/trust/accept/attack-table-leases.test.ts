import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { addDays } from '#bundles/time';
import { publics } from '../root/new-key.ts';
import { names, row, signedRelease } from './attack-row.ts';
import {
  after,
  at,
  BUNDLE_B,
  CHANNEL,
  clock,
  enrolled,
  importMedium,
  type LeaseInput,
  lease,
  leasePayload,
  type Medium,
  nextRelease,
  release,
  releaseMedium,
  releasePayload,
  remember,
  root1,
  rootOf,
  sign,
  signedLease,
  siteAgent,
  sitePayload,
} from './signed-world.ts';

const SECOND = releasePayload({ version: 2, ...names(BUNDLE_B) });
const second: Medium = { release: await sign(SECOND, release) };

/** An order that wants word of the release not older than so many days. */
const siteWanting = (days: number, version = 1): Promise<readonly Buffer[]> =>
  sign(
    sitePayload({ version, agents: [siteAgent({ freshness: { mode: 'lease', seconds: days * 86_400 } })] }),
    release,
  );

const leased = async (change: LeaseInput = {}): Promise<Medium> => ({ leases: await signedLease(change) });
const onlyLease = async (change: LeaseInput = {}): Promise<Medium> => ({
  ...(await leased(change)),
  site: false,
  release: false,
});
/** In force past the end of the release, at day 179. */
const RENEWAL = { issuedAt: at(190), expires: at(204) };
const registry = { from: 'registry' } as const;

describe('renewal', () => {
  const late = { when: clock(195), state: () => after({}) };
  row('M17: renewal, expired release and its lease -> ACCEPT', () => leased(RENEWAL), { when: clock(195) });
  row('M17: renewal of a release that was accepted before -> ACCEPT', () => leased(RENEWAL), late);
  row('M17: renewal by the lease alone -> ACCEPT', () => onlyLease(RENEWAL), late);
  row('M17: renewal by a lease that came before -> ACCEPT', () => ({}), {
    when: clock(195),
    state: async () => {
      const state = await after({});
      return remember(state, await importMedium(state, await onlyLease(RENEWAL), clock(191)));
    },
  });
  row('M17: renewal from a registry -> ACCEPT', () => leased(RENEWAL), { ...late, how: registry });
  row('M15: freeze, the lease has ended too -> EXPIRED', () => leased(RENEWAL), { when: clock(204) });
  row('M15: freeze, a second before the end of the lease -> ACCEPT', () => leased(RENEWAL), {
    when: { ...clock(204), now: new Date(clock(204).now.getTime() - 1) },
  });
  row(
    'M16: clock set back before the end of the lease, which a newer order proves over -> EXPIRED',
    async () => ({
      ...(await leased(RENEWAL)),
      site: await sign(sitePayload({ issuedAt: at(210), expires: at(500) }), release),
    }),
    { when: clock(195, false) },
  );
  row('M17: a clock that died, a lease that says what day it is -> ACCEPT', () => leased(RENEWAL), {
    when: clock(-20_000, false),
  });

  it('M17: a lease alone changes nothing but the lease and the time', async () => {
    const state = await after({});
    const accepted = await importMedium(state, await onlyLease({ issuedAt: at(0), expires: at(14) }));
    expect(accepted).toMatchObject({ release: undefined, selected: false, relaxed: [], skippedLeases: 0 });
    expect(accepted.lease).toMatchObject({ news: 'newer', predicate: { version: 1 } });
    expect(accepted.site.statement).toEqual(state.siteStatement);
    expect(accepted.time).toEqual(clock().now);
    const again = await importMedium(
      remember(state, accepted),
      await onlyLease({ issuedAt: at(0), expires: at(14) }),
    );
    expect(again.lease).toMatchObject({ news: 'same' });
  });

  it('M16: a lease moves the time no further than the root lives', async () => {
    const far = await onlyLease({ issuedAt: at(900), expires: at(910) });
    const accepted = await importMedium(await after({}), far, clock(0, false));
    expect(accepted.time).toEqual(addDays(clock().now, 700));
  });

  it('M17: a lease outlives no release: a newer one needs its own', async () => {
    const state = remember(enrolled, await importMedium(enrolled, await leased()));
    const accepted = await importMedium(state, second);
    expect(accepted.lease).toBeUndefined();
    expect((await importMedium(state, {})).lease).toMatchObject({ news: 'kept' });
  });
});

describe('leases that are no good', () => {
  const other = digestOf(SECOND);
  const withLease = (version: number) => async () => {
    const state = await after({});
    return remember(state, await importMedium(state, await onlyLease({ version })));
  };
  row('M18: foreign lease, of another release -> LEASE_MISMATCH', () => leased({ about: other }));
  row('M18: foreign lease, alone -> LEASE_MISMATCH', () => onlyLease({ about: other }), {
    state: () => after({}),
  });
  row('M18: foreign lease, where no release was accepted yet -> LEASE_MISMATCH', async () => ({
    ...(await leased()),
    release: false,
  }));
  row(
    'M18: foreign lease, of the release before -> LEASE_MISMATCH',
    async () => ({ ...second, ...(await leased({ version: 2 })) }),
    {
      state: withLease(1),
    },
  );
  row(
    'M18: foreign lease to renew an expired release -> LEASE_MISMATCH',
    () => leased({ ...RENEWAL, about: other }),
    {
      when: clock(195),
    },
  );
  row('M18: old lease -> ROLLBACK', () => onlyLease({ version: 1 }), { state: withLease(2) });
  row(
    'M18: old lease beside a newer release -> ROLLBACK',
    async () => ({ ...second, ...(await leased({ about: other })) }),
    {
      state: withLease(2),
    },
  );
  row('M18: the same lease again -> ACCEPT', () => onlyLease({ version: 2 }), { state: withLease(2) });
  row(
    'M18: another lease under the same number -> EQUIVOCATION',
    () => onlyLease({ version: 2, expires: at(20) }),
    {
      state: withLease(2),
    },
  );
  row('M18: a lease that names no release -> SCHEMA', () => leased({ subject: 'bundle/host' }));
  row('M18: a lease of another channel under a false claim -> WRONG_ENVIRONMENT', () =>
    leased({ audience: { fleet: 'acme', ...CHANNEL, environment: 'dev' } }),
  );
  row('M18: a lease of another fleet -> WRONG_FLEET', () =>
    leased({ audience: { fleet: 'other', ...CHANNEL } }),
  );
  row(
    'M18: leases of another channel only -> WRONG_CHANNEL',
    async () => ({
      ...(await onlyLease()),
      leasedChannel: { environment: 'dev', clusterType: 'kiosk' },
    }),
    { state: () => after({}) },
  );
  row('M18: leases of another channel beside what is for this agent -> ACCEPT', async () => ({
    ...(await leased({ about: other })),
    leasedChannel: { environment: 'dev', clusterType: 'kiosk' },
  }));
  row('M6: role confusion, the release key signs a lease -> UNKNOWN_KEY', async () => ({
    leases: await signedLease({}, release),
  }));
  row('M10: predicate confusion, a release as lease -> PREDICATE_TYPE', async () => ({
    leases: await sign(releasePayload(), lease),
  }));
  row('M10: predicate confusion, a lease as release -> PREDICATE_TYPE', async () => ({
    release: await sign(leasePayload(), release),
  }));
  row('M19: far-future lease -> FROM_FUTURE', () => leased({ issuedAt: at(2), expires: at(16) }));
  row('M38: endless data, a lease of 10 MB -> TOO_LARGE', () => ({
    leases: [Buffer.alloc(10_000_000, ' ')],
  }));
  row('M38: endless data, 4,096 leases -> TOO_MANY', async () => ({
    leases: Array<Buffer>(4096).fill((await signedLease())[0] as Buffer),
  }));
  row('M39: parser games, a lease for five years -> SCHEMA', () => leased({ expires: at(5 * 365) }));
  row('M18: a lease that has ended beside a good release -> ACCEPT', () =>
    leased({ issuedAt: at(-20), expires: at(-6) }),
  );

  const junk = async (): Promise<readonly Buffer[]> => [
    Buffer.from('no lease at all'),
    ...(await signedLease({ version: 99 }, release)),
    ...(await signedLease({ version: 98, about: other })),
    ...(await signedLease({ version: 97, expires: at(5 * 365) })),
    ...(await sign(releasePayload(), lease)),
    Buffer.alloc(100_000, ' '),
  ];
  it('M18: junk in a registry is left aside and counted, and the good lease among it is found -> ACCEPT', async () => {
    const leases = [
      ...(await junk()),
      ...(await signedLease({ version: 3 })),
      ...(await signedLease({ version: 2 })),
    ];
    const accepted = await importMedium(enrolled, { leases }, clock(), registry);
    expect(accepted.lease).toMatchObject({ news: 'newer', predicate: { version: 3 } });
    expect(accepted.skippedLeases).toBe(6);
  });
  row(
    'M18: a registry full of junk leases, and a good release -> ACCEPT',
    async () => ({ leases: await junk() }),
    { how: registry },
  );
  row(
    'M18: ten thousand junk leases in a registry -> ACCEPT',
    async () => ({
      leases: Array.from({ length: 10_000 }, (_, index) => Buffer.from(`junk ${index}`)),
    }),
    { how: registry },
  );
  row('M18: old lease in a registry -> ACCEPT', () => leased({ version: 1 }), {
    how: registry,
    state: withLease(2),
  });
  it('M18: an old lease in a registry does not take the place of the newer one -> ACCEPT', async () => {
    const state = await withLease(2)();
    const accepted = await importMedium(state, await leased({ version: 1 }), clock(), registry);
    expect(accepted).toMatchObject({ skippedLeases: 1, lease: { news: 'kept', predicate: { version: 2 } } });
  });
  row(
    'M18: foreign lease in a registry, expired release -> EXPIRED',
    () => leased({ ...RENEWAL, about: other }),
    {
      when: clock(195),
      how: registry,
    },
  );
  it('M18: a refusal says what was wrong with the leases that were left aside', async () => {
    const refused = importMedium(enrolled, await leased({ ...RENEWAL, about: other }), clock(195), registry);
    await expect(refused).rejects.toMatchObject({
      message: expect.stringContaining('skipped (LEASE_MISMATCH: '),
    });
  });
});

describe('an order that wants a lease', () => {
  const wants = async (days: number): Promise<Medium> => ({ site: await siteWanting(days) });
  const withBoth = async (days: number, change: LeaseInput = {}): Promise<Medium> => ({
    ...(await leased(change)),
    ...(await wants(days)),
  });
  const fresh = { version: 2, issuedAt: at(18), expires: at(40) };
  row('M15: freeze, an old release without a lease -> LEASE_MISSING', () => wants(14), { when: clock(20) });
  row('M15: freeze, an old release with a fresh lease -> ACCEPT', () => withBoth(14, fresh), {
    when: clock(20),
  });
  row('M15: freeze, a release as young as a lease would have to be -> ACCEPT', () => wants(14), {
    when: clock(13),
  });
  row('M15: freeze, a second later -> LEASE_MISSING', () => wants(14), {
    when: { ...clock(13), now: new Date(clock(13).now.getTime() + 1000) },
  });
  row('M15: freeze, a lease older than the order allows -> LEASE_MISSING', () => withBoth(14, fresh), {
    when: clock(33),
  });
  row('M15: freeze, a lease as old as the order allows -> ACCEPT', () => withBoth(14, fresh), {
    when: clock(32),
  });
  row(
    'M15: freeze, a lease that has ended -> LEASE_MISSING',
    () => withBoth(14, { ...fresh, expires: at(19) }),
    {
      when: clock(20),
    },
  );
  const before = { state: async () => after(await withBoth(14)), when: clock(20) };
  row(
    'M15: freeze, the release that runs already needs no lease to be read again -> ACCEPT',
    () => wants(14),
    before,
  );
  row(
    'M15: freeze, a lease of the release before -> LEASE_MISSING',
    async () => ({ ...second, site: false }),
    before,
  );
  row(
    'M18: foreign lease in a registry, old release -> LEASE_MISSING',
    () => withBoth(14, { ...fresh, about: digestOf(SECOND) }),
    { how: registry, when: clock(20) },
  );
  row(
    'M16: clock set back, the lease as old as the site has proven -> LEASE_MISSING',
    async () => ({
      ...(await leased()),
      site: await sign(
        sitePayload({
          issuedAt: at(10),
          agents: [siteAgent({ freshness: { mode: 'lease', seconds: 5 * 86_400 } })],
        }),
        release,
      ),
    }),
    { when: clock(-300, false) },
  );
});

describe('floors of leases', () => {
  const nextLease = nextRelease;
  const rotatedLease = async (more: readonly (typeof lease)[] = []) => [
    root1,
    await rootOf(2, { keys: { lease: publics([nextLease, ...more]) } }),
  ];
  const farAhead = async () => {
    const state = await after({});
    return remember(state, await importMedium(state, await onlyLease({ version: Number.MAX_SAFE_INTEGER })));
  };
  row('M35: fast-forward of leases without rotation -> ROLLBACK', () => onlyLease({ version: 2 }), {
    state: farAhead,
  });
  row(
    'M35: fast-forward of leases, then rotation -> ACCEPT',
    async () => ({
      ...(await onlyLease()),
      leases: await signedLease({ version: 2 }, nextLease),
      roots: await rotatedLease(),
    }),
    { state: farAhead },
  );
  row(
    'M36: lease key added, not rotated -> ROLLBACK',
    async () => ({
      ...(await onlyLease()),
      leases: await signedLease({ version: 2 }, nextLease),
      roots: await rotatedLease([lease]),
    }),
    { state: farAhead },
  );
  row(
    'M34: stolen lease key after rotation -> UNKNOWN_KEY',
    async () => ({
      ...(await onlyLease({ version: 99 })),
      roots: await rotatedLease(),
    }),
    { state: () => after({}) },
  );

  it('M35: fast-forward of time by a stolen lease key falls with that key', async () => {
    const state = await after({});
    const far = await importMedium(
      state,
      await onlyLease({ issuedAt: at(690), expires: at(699) }),
      clock(0, false),
    );
    expect(far.time).toEqual(addDays(clock().now, 690));
    const ahead = remember(state, far);
    const recovered = await importMedium(
      ahead,
      { roots: await rotatedLease(), site: false, release: false },
      clock(0, false),
    );
    expect(recovered.time).toEqual(addDays(clock().now, -1));
    expect(recovered.lease).toBeUndefined();
    const added = await importMedium(
      ahead,
      { roots: await rotatedLease([lease]), site: false, release: false },
      clock(0, false),
    ).catch((error: unknown) => error);
    expect(added).toMatchObject({ code: 'EXPIRED' });
  });
});

describe('breaking the glass', () => {
  const how = { acceptExpired: true } as const;
  it('takes what has ended, and says what it was', async () => {
    expect(await importMedium(enrolled, {}, clock(), how)).toMatchObject({ relaxed: [] });
    const late = await importMedium(enrolled, {}, clock(195), how);
    expect(late).toMatchObject({ relaxed: ['release'], release: { news: 'newer' } });
    expect(await importMedium(enrolled, {}, clock(370), how)).toMatchObject({ relaxed: ['site', 'release'] });
    const wanting = { site: await siteWanting(14) };
    expect(await importMedium(enrolled, wanting, clock(20), how)).toMatchObject({ relaxed: ['lease'] });
  });
  row('M12: rollback, with the glass broken -> ROLLBACK', () => ({}), {
    how,
    when: clock(195),
    state: async () => after(await releaseMedium({ version: 2 })),
  });
  row('M31: expired last root, with the glass broken -> ROOT_EXPIRED', () => ({}), { how, when: clock(700) });
  row(
    'M18: foreign lease, with the glass broken -> LEASE_MISMATCH',
    () => leased({ about: digestOf(SECOND) }),
    { how },
  );
  row(
    'M3: unknown key, with the glass broken -> UNKNOWN_KEY',
    async () => ({
      release: await signedRelease({}, lease),
    }),
    { how, when: clock(195) },
  );
});
