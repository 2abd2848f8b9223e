import { bundlesOf } from '../../../../scheduler/load/releases/read-release.ts';
import { expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { addDays } from '#bundles/time';
import { revocationsReference } from '../../../../scheduler/load/releases/references.ts';
import { recordChange } from '../../../../scheduler/release/audit/record-change.ts';
import { rollbackRelease } from '../../../../scheduler/release/reissue/rollback-release.ts';
import { readRevocations } from '../../../../scheduler/load/releases/revocation-list.ts';
import { renewRelease } from '../../../../scheduler/release/reissue/renew-release.ts';
import { findBundle } from '../../../../scheduler/release/revoke/find-bundle.ts';
import { type Revocation, revokeBundle } from '../../../../scheduler/release/revoke/revoke-bundle.ts';
import { KIOSK, NOW, openReleaseOffice, type ReleaseOffice } from '../reissue/release-office.ts';

const revoke = async (
  office: ReleaseOffice,
  bundle: Digest,
  instead?: Revocation['instead'],
  reason = 'sends prices twice',
) => {
  using releases = await office.releases();
  const revoked = await revokeBundle(await releases.open(), office.keys(), {
    channel: KIOSK,
    bundle,
    reason,
    instead,
    now: NOW,
  });
  await releases.point(revoked.references);
  return revoked;
};

const released = async (office: ReleaseOffice): Promise<readonly Digest[]> => {
  using releases = await office.releases();
  const list = await readRevocations(
    await releases.open(),
    office.keys().roots,
    KIOSK,
    await office.current(),
    'released',
  );
  return list.revoked.map(({ digest }) => digest);
};

it('releases the current bundle with the new revocation list at once', async () => {
  await using office = await openReleaseOffice();
  const bad = await office.release(1, 'one');
  const good = await office.release(2, 'two');
  expect(await revoke(office, bad)).toMatchObject({ news: 'revoked', version: 3 });
  expect([bundlesOf(await office.current()), await released(office)]).toEqual([[good], [bad]]);
  // Said again, no number is spent.
  expect(await revoke(office, bad)).toMatchObject({ news: 'known', version: 3 });
});

it('requires a replacement for the bundle of the current release', async () => {
  await using office = await openReleaseOffice();
  const good = await office.release(1, 'one');
  const bad = await office.release(2, 'two');
  await expect(revoke(office, bad)).rejects.toMatchObject({
    code: 'USAGE',
    hint: expect.stringContaining('--to'),
  });
  expect(await revoke(office, bad, { to: 1 })).toMatchObject({ version: 3 });
  expect([bundlesOf(await office.current()), await released(office)]).toEqual([[good], [bad]]);
});

it('with "next build" is stored until a build has another bundle, and the current release is not renewed', async () => {
  await using office = await openReleaseOffice();
  const bad = await office.release(1, 'one');
  expect(await revoke(office, bad, 'next build')).toMatchObject({ news: 'revoked', version: undefined });
  expect((await office.current()).predicate.version).toBe(1);
  using releases = await office.releases();
  const list = await readRevocations(
    await releases.open(),
    office.keys().roots,
    KIOSK,
    await office.current(),
  );
  expect(list.revoked).toEqual([{ digest: bad, reason: 'sends prices twice', at: '2026-11-21T08:00:00Z' }]);
  const renewal = { channel: KIOSK, previous: await office.current(), now: addDays(NOW, 170) };
  expect(await renewRelease(await releases.open(), office.keys(), renewal)).toMatchObject({
    outcome: 'revoked',
    version: 1,
  });
});

it('I2: is not undone by somebody who removes its note from the layout: the audit log has it', async () => {
  await using office = await openReleaseOffice();
  const bad = await office.release(1, 'one');
  await revoke(office, bad, 'next build');
  {
    using releases = await office.releases();
    const about = `prod/kiosk ${bad}`;
    const change = { change: 'revoke', about, person: 'ann', reason: 'bad', old: null, new: null };
    await recordChange(releases, office.keys(), change, NOW);
    await releases.point(new Map(), [revocationsReference(KIOSK)]);
    const layout = await releases.open();
    const list = await readRevocations(layout, office.keys().roots, KIOSK, await office.current());
    expect(list.revoked).toEqual([{ digest: bad, reason: 'bad', at: '2026-11-21T08:00:00Z' }]);
    const renewal = { channel: KIOSK, previous: await office.current(), now: addDays(NOW, 170) };
    const renewed = await renewRelease(layout, office.keys(), renewal);
    expect(renewed).toMatchObject({ outcome: 'revoked', version: 1 });
  }
  await office.release(2, 'two');
  using releases = await office.releases();
  const back = rollbackRelease(await releases.open(), office.keys(), { channel: KIOSK, to: 1, now: NOW });
  await expect(back).rejects.toMatchObject({ code: 'REVOKED' });
});

it('adds to the revocation list, and keeps earlier reasons', async () => {
  await using office = await openReleaseOffice();
  const [one, two] = [await office.release(1, 'one'), await office.release(2, 'two')];
  await office.release(3, 'three');
  await revoke(office, one, undefined, 'first');
  await revoke(office, two, undefined, 'second');
  await revoke(office, one, undefined, 'again');
  expect(await released(office)).toEqual([one, two].toSorted());
  using releases = await office.releases();
  const list = await readRevocations(
    await releases.open(),
    office.keys().roots,
    KIOSK,
    await office.current(),
  );
  expect(list.revoked.find(({ digest }) => digest === one)?.reason).toBe('first');
});

it('requires a reason', async () => {
  await using office = await openReleaseOffice();
  const bad = await office.release(1, 'one');
  await expect(revoke(office, bad, 'next build', ' ')).rejects.toMatchObject({ code: 'USAGE' });
});

it('finds a bundle by the first digits of its digest, and reports when there is none', async () => {
  await using office = await openReleaseOffice();
  const digest = await office.release(1, 'one');
  using releases = await office.releases();
  const layout = await releases.open();
  for (const text of [
    digest,
    digest.slice(7, 19),
    digest.slice(0, 19).toUpperCase().replace('SHA256', 'sha256'),
  ])
    expect(findBundle(layout, text, undefined)).toEqual({ digest, channel: KIOSK });
  expect(() => findBundle(layout, 'abc', undefined)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  expect(() => findBundle(layout, '0'.repeat(64), undefined)).toThrow(
    expect.objectContaining({ code: 'RELEASE_MISSING' }),
  );
  expect(() => findBundle(layout, digest, { environment: 'prod', clusterType: 'gate' })).toThrow(
    expect.objectContaining({ code: 'RELEASE_MISSING' }),
  );
});
