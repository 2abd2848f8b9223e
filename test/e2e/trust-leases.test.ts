import { cp } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { addDays, formatTime } from '../../bundles/time.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { CHANNEL, openTrustOffice, refusalOf } from './trust-world.ts';
import { succeed } from '../harness/run/run-command.ts';

/** Dozens of programs, one after the other, each a second on a busy machine. */
const LONG = 600_000;
const SITE = 'plant-7';
const later = (days: number): string => formatTime(addDays(new Date(), days));

test('an expired release is refused, and accepted with a lease of a kilobyte on a medium', {
  timeout: LONG,
}, async () => {
  await using folder = await temporaryDirectory('leases');
  const office = await openTrustOffice(folder.path);
  const site = await office.site('press-1', SITE, CHANNEL);
  await office.fill(site.stick, SITE);
  succeed(await site.import());
  const [first] = await office.releases(CHANNEL);
  await cp(site.stick, office.path('old'), { recursive: true });

  // Half a year later the same stick brings nothing any more; what runs goes on.
  const then = later(200);
  expect(refusalOf(await site.import(office.path('old'), then))).toBe('EXPIRED');
  expect(await site.status()).toMatchObject({ packages: [{ status: 'unknown' }] });

  succeed(await office.scheduler('lease', 'renew', '--channel', CHANNEL, '--now', then));
  const listed = succeed(await office.scheduler('lease', 'list', '--channel', CHANNEL, '--now', then));
  expect(listed.stdout).toMatch(/lease 1 .* live/);
  const lease = office.path('lease.tar');
  const order = ['create', '--from', office.path('releases'), '--channel', CHANNEL, '--to', lease];
  succeed(await office.exporter(...order, '--lease-only', '--now', then));
  const verified = succeed(await office.exporter('verify', lease, '--now', then));
  expect(verified.stdout).toMatch(/ok +lease prod\/kiosk: version 1 of a release at the site, live until/);
  succeed(await site.import(lease, then));
  succeed(await site.import(office.path('old'), then));
  // Not a byte was released for it.
  expect(await office.releases(CHANNEL)).toEqual([first]);
});

test('an unchanged release is renewed by any build after half a year, and its lease follows', {
  timeout: LONG,
}, async () => {
  await using folder = await temporaryDirectory('renewal');
  const office = await openTrustOffice(folder.path);
  succeed(await office.scheduler('lease', 'renew', '--channel', CHANNEL));
  const [first] = await office.releases(CHANNEL);
  const early = ['build', '--images', 'images', '--environment', 'prod', '--now', later(100)];
  expect(succeed(await office.scheduler(...early)).stdout).toMatch(/prod\/kiosk +release 1 unchanged/);
  const late = [...early.slice(0, -1), later(130)];
  expect(succeed(await office.scheduler(...late)).stdout).toMatch(/prod\/kiosk +release 2 renewed/);
  const [second] = await office.releases(CHANNEL);
  expect(second?.bundles).toEqual(first?.bundles);
  const listed = await office.scheduler('lease', 'list', '--channel', CHANNEL, '--now', later(130));
  expect(succeed(listed).stdout).toMatch(/lease 2 .* live/);
});

test('a revoked bundle is replaced at once, and returns neither by a build nor by an old medium', {
  timeout: LONG,
}, async () => {
  await using folder = await temporaryDirectory('withdrawn');
  const office = await openTrustOffice(folder.path);
  const site = await office.site('press-1', SITE, CHANNEL);
  await office.fill(site.stick, SITE);
  succeed(await site.import());
  const [good] = await office.releases(CHANNEL);
  await office.edit('apps/info-screen/host/index.html', (text) => `${text}\n<!-- wrong -->`);
  await office.build();
  await office.fill(site.stick, SITE);
  succeed(await site.import());
  await cp(site.stick, office.path('bad'), { recursive: true });
  const [bad] = await office.releases(CHANNEL);

  const digest = bad?.bundles[0] ?? '';
  const undecided = await office.scheduler('revoke', digest, '--reason', 'shows wrong prices');
  expect([undecided.code, undecided.stderr]).toEqual([2, expect.stringContaining('--to')]);
  const revoke = ['revoke', digest, '--reason', 'shows wrong prices', '--to', String(good?.version)];
  expect(succeed(await office.scheduler(...revoke)).stdout).toContain('release 3 of prod/kiosk');
  await office.fill(site.stick, SITE);
  succeed(await site.import());
  expect(await site.status()).toMatchObject({ release: { version: 3 } });
  expect(refusalOf(await site.import(office.path('bad')))).toBe('ROLLBACK');

  // The repository still says what was withdrawn.
  const again = await office.scheduler('build', '--images', 'images', '--environment', 'prod');
  expect([again.code, again.stdout]).toEqual([4, expect.stringContaining('shows wrong prices')]);
  const back = await office.scheduler('releases', 'rollback', '--channel', CHANNEL, '--to', '2');
  expect(refusalOf(back)).toBe('REVOKED');
  expect(await office.releases(CHANNEL)).toMatchObject([
    { version: 3, bundles: good?.bundles, revoked: null },
    { version: 2, revoked: expect.stringContaining('shows wrong prices') },
    { version: 1, revoked: null },
  ]);
});
