import { expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { addDays } from '#bundles/time';
import { followWithLeases } from '../../../../scheduler/release/lease/follow-with-leases.ts';
import { readLease } from '../../../../scheduler/release/lease/read-lease.ts';
import {
  type LeaseRenewal,
  type RenewedLease,
  renewLease,
} from '../../../../scheduler/release/lease/renew-lease.ts';
import { KIOSK, NOW, openReleaseOffice, type ReleaseOffice } from '../reissue/release-office.ts';

const renew = async (
  office: ReleaseOffice,
  now = NOW,
  more: Partial<LeaseRenewal> = {},
): Promise<RenewedLease> => {
  using releases = await office.releases(now);
  const renewed = await renewLease(await releases.open(), office.keys(), {
    channel: KIOSK,
    release: await office.current(),
    now,
    ...more,
  });
  if (renewed.references.size > 0) await releases.point(renewed.references);
  return renewed;
};

const read = async (office: ReleaseOffice) => {
  using releases = await office.releases();
  return await readLease(await releases.open(), KIOSK, office.keys().roots);
};

it('issues a lease on the current release for the given days, with every root', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  await renew(office, NOW, { days: 14 });
  const lease = await read(office);
  expect(lease).toMatchObject({
    release: (await office.current()).digest,
    predicate: {
      audience: { fleet: 'acme', ...KIOSK },
      version: 1,
      issuedAt: '2026-11-21T08:00:00Z',
      expires: '2026-12-05T08:00:00Z',
    },
  });
  expect(lease?.documents.map(({ role, about }) => [role, about])).toEqual([
    ['lease', lease?.release],
    ['root', undefined],
  ]);
});

it('is due after a third of its validity, or of the shortest freshness that an agent requires', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  await renew(office);
  expect(await renew(office, addDays(NOW, 9))).toMatchObject({ outcome: 'good', predicate: { version: 1 } });
  const freshness = 14 * 86_400;
  expect(await renew(office, addDays(NOW, 4), { freshness })).toMatchObject({ outcome: 'good' });
  expect(await renew(office, addDays(NOW, 5), { freshness })).toMatchObject({
    outcome: 'renewed',
    predicate: { version: 2 },
  });
  expect(await renew(office, addDays(NOW, 16))).toMatchObject({
    outcome: 'renewed',
    predicate: { version: 3 },
  });
});

it('issues a lease on a new release at once, in a channel that has leases', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  const follow = async () => {
    using releases = await office.releases();
    return await followWithLeases(releases, office.keys(), [KIOSK], NOW);
  };
  expect([await follow(), await read(office)]).toEqual([new Map(), undefined]);
  await renew(office);
  await office.release(2, 'two');
  expect((await read(office))?.release).not.toBe((await office.current()).digest);
  expect(await follow()).toEqual(new Map());
  expect(await read(office)).toMatchObject({
    release: (await office.current()).digest,
    predicate: { version: 2 },
  });
});

it('reports that the lease is void when its key is elsewhere, and the release stays valid', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  await renew(office);
  await office.release(2, 'two');
  using releases = await office.releases();
  const keys = {
    ...office.keys(),
    key: () => Promise.reject(new FleetError('KEY_MISSING', 'there is no lease key')),
  };
  const failed = await followWithLeases(releases, keys, [KIOSK], NOW);
  expect(failed.get('prod/kiosk')).toMatchObject({ code: 'KEY_MISSING' });
});

it('continues its numbers after a key rotation, and refuses a release that the newest root does not verify', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  await renew(office);
  await office.rotate('lease');
  expect(await renew(office)).toMatchObject({ outcome: 'renewed', predicate: { version: 2 } });
  expect((await read(office))?.root.version).toBe(2);
  await office.rotate('release');
  await expect(renew(office)).rejects.toMatchObject({
    code: 'UNKNOWN_KEY',
    hint: expect.stringContaining('releases renew'),
  });
});

it('issues no lease that agents would refuse: with an unnamed key, or with a clock that went back', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  await using stranger = await openReleaseOffice();
  using releases = await office.releases();
  const keys = { ...office.keys(), key: stranger.keys().key };
  const renewal = { channel: KIOSK, release: await office.current(), now: NOW };
  await expect(renewLease(await releases.open(), keys, renewal)).rejects.toMatchObject({
    code: 'UNKNOWN_KEY',
  });
  releases[Symbol.dispose]();
  await renew(office, addDays(NOW, 40));
  await expect(renew(office)).rejects.toMatchObject({ code: 'FROM_FUTURE' });
});
