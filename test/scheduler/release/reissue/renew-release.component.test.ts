import { expect, it } from 'vitest';
import { addDays } from '#bundles/time';
import { bundlesOf, readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { readBundleStatements } from '../../../../scheduler/release/reissue/bundle-statements.ts';
import { rollbackRelease } from '../../../../scheduler/release/reissue/rollback-release.ts';
import {
  isDueForRenewal,
  type Renewed,
  renewRelease,
} from '../../../../scheduler/release/reissue/renew-release.ts';
import { KIOSK, NOW, openReleaseOffice, type ReleaseOffice } from './release-office.ts';

const renew = async (office: ReleaseOffice, now = NOW, anyway = false): Promise<Renewed> => {
  using releases = await office.releases(now);
  const renewed = await renewRelease(await releases.open(), office.keys(), {
    channel: KIOSK,
    previous: await office.current(),
    now,
    anyway,
  });
  if (renewed.references.size > 0) await releases.point(renewed.references);
  return renewed;
};

it('renews a release only in the last third of its lifetime, with the next number and new dates', async () => {
  await using office = await openReleaseOffice();
  const bundle = await office.release(1, 'one');
  expect(await renew(office, addDays(NOW, 119))).toMatchObject({ outcome: 'good', version: 1 });
  const later = addDays(NOW, 121);
  expect(await renew(office, later)).toMatchObject({ outcome: 'renewed', due: 'ending', version: 2 });
  const { predicate, ...renewed } = await office.current();
  expect(bundlesOf(renewed)).toEqual([bundle]);
  expect(predicate).toMatchObject({ issuedAt: '2027-03-22T08:00:00Z', expires: '2027-09-18T08:00:00Z' });
  expect(predicate.previous).not.toBeNull();
  expect(await renew(office, later)).toMatchObject({ outcome: 'good', version: 2 });
});

it('renews a release at any time on request', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  expect(await renew(office, NOW, true)).toMatchObject({ outcome: 'renewed', version: 2 });
});

it('adds the newest root beside a release it still verifies, without a new number', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  const { digest } = await office.current();
  await office.rotate('lease');
  expect(await renew(office)).toMatchObject({ outcome: 'roots', version: 1 });
  const after = await office.current();
  expect(after.digest).toBe(digest);
  expect(after.documents.filter(({ role }) => role === 'root').map(({ version }) => version)).toEqual([1, 2]);
  expect(await renew(office)).toMatchObject({ outcome: 'good' });
});

it('signs again a release that the newest root no longer verifies, without changing the bundle', async () => {
  await using office = await openReleaseOffice();
  const bundle = await office.release(1, 'one');
  await office.rotate('release');
  expect((await office.current()).root.version).toBe(1);
  expect(await renew(office)).toMatchObject({ outcome: 'renewed', due: 'signers', version: 2 });
  const after = await office.current();
  expect([after.root.version, after.predicate.rootVersion, bundlesOf(after)]).toEqual([2, 2, [bundle]]);
});

it('signs the same bundle statement again when the bundle key was rotated', async () => {
  await using office = await openReleaseOffice();
  const bundle = await office.release(1, 'one');
  using releases = await office.releases();
  const layout = await releases.open();
  const payloads = async (): Promise<readonly string[]> =>
    (await readBundleStatements(layout, await office.current(), bundle)).map(
      (bytes) => (JSON.parse(bytes.toString()) as { dsseEnvelope: { payload: string } }).dsseEnvelope.payload,
    );
  const before = await payloads();
  await office.rotate('bundle');
  const renewed = await renewRelease(layout, office.keys(), {
    channel: KIOSK,
    previous: await office.current(),
    now: NOW,
  });
  expect(renewed).toMatchObject({ outcome: 'renewed', due: 'signers' });
  await releases.point(renewed.references);
  expect(await payloads()).toEqual(before);
});

it.each(['lease', 'release'] as const)(
  'I13: the key directory is an older copy, without the root that replaced the %s key: nothing is signed',
  async (role) => {
    await using office = await openReleaseOffice();
    await office.release(1, 'one');
    const older = office.keys();
    await office.rotate(role);
    await office.release(2, 'two');
    using releases = await office.releases();
    const layout = await releases.open();
    const back = rollbackRelease(layout, older, { channel: KIOSK, to: 1, now: NOW });
    await expect(back).rejects.toMatchObject({
      code: 'ROOT_BEHIND',
      message: expect.stringContaining('made with trust root 2, and the newest in the key directory is 1'),
    });
    const { version } = await rollbackRelease(layout, office.keys(), { channel: KIOSK, to: 1, now: NOW });
    expect(version).toBe(3);
  },
);

it('refuses a release of another fleet as the predecessor', async () => {
  await using office = await openReleaseOffice();
  await office.release(1, 'one');
  await using stranger = await openReleaseOffice();
  using releases = await office.releases();
  const reading = readRelease(await releases.open(), KIOSK, stranger.keys().roots);
  await expect(reading).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
});

it('computes the last third from the lifetime of each release', () => {
  const release = { issuedAt: '2026-11-21T08:00:00Z', expires: '2026-12-21T08:00:00Z' };
  expect([19, 21].map((days) => isDueForRenewal(release, addDays(NOW, days)))).toEqual([false, true]);
});
