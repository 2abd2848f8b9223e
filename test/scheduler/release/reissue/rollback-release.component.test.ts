import { bundlesOf } from '../../../../scheduler/load/releases/read-release.ts';
import { expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import { readRevocations } from '../../../../scheduler/load/releases/revocation-list.ts';
import { reissueRelease } from '../../../../scheduler/release/reissue/reissue-release.ts';
import { listReleases } from '../../../../scheduler/release/reissue/list-releases.ts';
import { rollbackRelease } from '../../../../scheduler/release/reissue/rollback-release.ts';
import { revokeBundle } from '../../../../scheduler/release/revoke/revoke-bundle.ts';
import { KIOSK, NOW, openReleaseOffice, type ReleaseOffice } from './release-office.ts';

const goBack = async (office: ReleaseOffice, to: number): Promise<number> => {
  using releases = await office.releases();
  const back = await rollbackRelease(await releases.open(), office.keys(), { channel: KIOSK, to, now: NOW });
  await releases.point(back.references);
  return back.version;
};

it('releases the bundles of an older release under the next number', async () => {
  await using office = await openReleaseOffice();
  const first = await office.release(1, 'one');
  const second = await office.release(2, 'two');
  expect(await goBack(office, 1)).toBe(3);
  const current = await office.current();
  expect([current.predicate.version, bundlesOf(current)]).toEqual([3, [first]]);
  // And forward again: the one that was left is an older release like any.
  expect(await goBack(office, 2)).toBe(4);
  expect(bundlesOf(await office.current())).toEqual([second]);
});

it('copies a candidate document of 17 MB', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  using releases = await office.releases();
  const layout = await releases.open();
  const previous = await office.current();
  const bytes = Buffer.alloc(17 << 20, ' ');
  const candidate = {
    role: 'candidate',
    digest: digestOf(bytes),
    size: bytes.byteLength,
    mediaType: 'application/json',
  };
  await layout.blobs.write(candidate.digest, candidate.size, bytes);
  const from = { ...previous, documents: [...previous.documents, candidate] };
  const revocations = await readRevocations(layout, office.keys().roots, KIOSK, previous);
  const { version } = await reissueRelease(layout, office.keys(), {
    channel: KIOSK,
    from,
    previous,
    revocations,
    now: NOW,
  });
  expect(version).toBe(2);
});

it('rolls back across a key rotation: a release signed under root 1 is signed again with the keys of root 3', async () => {
  await using office = await openReleaseOffice();
  const first = await office.release(1, 'one');
  await office.release(2, 'two');
  await office.rotate('release');
  await office.rotate('bundle');
  expect(await goBack(office, 1)).toBe(3);
  const { root, ...current } = await office.current();
  expect([root.version, bundlesOf(current)]).toEqual([3, [first]]);
});

it('lists the releases that a rollback can choose, and refuses the current and withdrawn releases', async () => {
  await using office = await openReleaseOffice();
  const bad = await office.release(1, 'one');
  await office.release(2, 'two');
  await office.release(3, 'three');
  const refused = async (to: number): Promise<FleetError> =>
    (await goBack(office, to).catch((error: unknown) => error)) as FleetError;
  expect(await refused(3)).toMatchObject({ code: 'USAGE' });
  expect(await refused(9)).toMatchObject({ code: 'RELEASE_MISSING', hint: 'A rollback is possible to 2, 1' });
  using releases = await office.releases();
  const revoked = await revokeBundle(await releases.open(), office.keys(), {
    channel: KIOSK,
    bundle: bad,
    reason: 'sends prices twice',
    instead: undefined,
    now: NOW,
  });
  await releases.point(revoked.references);
  releases[Symbol.dispose]();
  expect(await refused(1)).toMatchObject({ code: 'REVOKED', subject: bad });
  expect(await refused(9)).toMatchObject({ hint: 'A rollback is possible to 3, 2' });
});

it('lists all releases, newest first, and marks withdrawn ones', async () => {
  await using office = await openReleaseOffice();
  const first = await office.release(1, 'one');
  const second = await office.release(2, 'two');
  using releases = await office.releases();
  const revoked = await revokeBundle(await releases.open(), office.keys(), {
    channel: KIOSK,
    bundle: second,
    reason: 'sends prices twice',
    instead: { to: 1 },
    now: NOW,
  });
  await releases.point(revoked.references);
  const listed = await listReleases(await releases.open(), KIOSK, office.keys().roots);
  expect(
    listed.map(({ release, bundles, current, revoked: why }) => [
      release.predicate.version,
      bundles,
      current,
      why,
    ]),
  ).toEqual([
    [3, [first], true, undefined],
    [2, [second], false, '2026-11-21T08:00:00Z: sends prices twice'],
    [1, [first], false, undefined],
  ]);
});
