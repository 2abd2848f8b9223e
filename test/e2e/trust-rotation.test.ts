import { cp } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openLayout } from '../../bundles/formats/layout/layout.ts';
import { openReleases } from '../../scheduler/release/write/open-releases.ts';
import { readRelease } from '../../scheduler/load/releases/read-release.ts';
import { reissueRelease } from '../../scheduler/release/reissue/reissue-release.ts';
import { openKeyDirectory } from '../../scheduler/keys/key-directory.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { CHANNEL, openTrustOffice, refusalOf, type TrustOffice } from './trust-world.ts';
import { succeed } from '../harness/run/run-command.ts';

/** Dozens of programs, one after the other, each a second on a busy machine. */
const LONG = 600_000;
const SITE = 'plant-7';
const KIOSK = { environment: 'prod', clusterType: 'kiosk' };

test('a release key is rotated by a medium, also at a site that was away since root 1', {
  timeout: LONG,
}, async () => {
  await using folder = await temporaryDirectory('rotation');
  const office = await openTrustOffice(folder.path);
  const near = await office.site('near-1', SITE, CHANNEL);
  const away = await office.site('away-1', 'ship-9', CHANNEL);
  for (const [site, name] of [
    [near, SITE],
    [away, 'ship-9'],
  ] as const) {
    await office.fill(site.stick, name);
    succeed(await site.import());
  }
  const [first] = await office.releases(CHANNEL);

  // Root 2 counts both keys: nothing is signed anew, and every channel gets the root beside its release.
  await office.newKey('second');
  await office.rotate('--add', 'release=second.pub');
  succeed(await office.build());
  expect(await office.releases(CHANNEL)).toEqual([{ ...first, root: 2 }]);
  await office.fill(near.stick, SITE);
  succeed(await near.import());
  expect(await near.status()).toMatchObject({ root: { version: 2 }, release: { version: 1 } });

  // Root 3 drops the old one. Releases are signed anew and name the very same bundles.
  await office.use('release', 'second');
  const old = await publicFile(office, office.path('release-before-second.key'));
  await office.rotate('--remove', `release=${old}`);
  const renewed = succeed(await office.scheduler('releases', 'renew', '--environment', 'prod'));
  expect(renewed.stdout).toContain('the newest root no longer accepts its signatures');
  succeed(await office.scheduler('sites', 'renew'));
  const [second] = await office.releases(CHANNEL);
  expect(second).toMatchObject({ version: 2, root: 3, bundles: first?.bundles });

  await office.fill(away.stick, 'ship-9');
  const verified = succeed(await office.exporter('verify', away.stick, '--root-sha256', office.rootSha256));
  expect(verified.stdout).toContain('trust root: version 3');
  const imported = succeed(await away.import());
  expect(imported.stdout).not.toContain('created');
  expect(await away.status()).toMatchObject({
    root: { version: 3 },
    release: { version: 2 },
    packages: [{ assignment: 'info-screen-kiosk', status: 'unknown' }],
  });
  // The near one went one root at a time, and comes to the same.
  await office.fill(near.stick, SITE);
  succeed(await near.import());
  expect(await near.status()).toMatchObject({ root: { version: 3 }, release: { version: 2 } });
});

test('a stolen release key that signed the highest number is useless after the next root', {
  timeout: LONG,
}, async () => {
  await using folder = await temporaryDirectory('stolen');
  const office = await openTrustOffice(folder.path);
  const site = await office.site('press-1', SITE, CHANNEL);
  await office.fill(site.stick, SITE);
  succeed(await site.import());

  const forged = await forge(office, Number.MAX_SAFE_INTEGER);
  succeed(
    await office.exporter('create', '--from', forged, '--channel', CHANNEL, '--to', office.path('bad')),
  );
  succeed(await site.import(office.path('bad')));
  expect(await site.status()).toMatchObject({ release: { version: Number.MAX_SAFE_INTEGER } });
  // Whatever the office does now is old, until the officers act.
  await office.edit('apps/info-screen/host/index.html', (text) => `${text}\n`);
  succeed(await office.build());
  await office.fill(site.stick, SITE);
  expect(refusalOf(await site.import())).toBe('ROLLBACK');

  await office.newKey('clean');
  await office.use('release', 'clean');
  const stolen = await publicFile(office, office.path('release-before-clean.key'));
  await office.rotate('--add', 'release=clean.pub', '--remove', `release=${stolen}`);
  succeed(await office.build());
  succeed(await office.scheduler('sites', 'renew'));
  await office.fill(site.stick, SITE);
  succeed(await site.import());
  expect(await site.status()).toMatchObject({ root: { version: 2 }, release: { version: 3 } });
  // And what the thief still has is worth nothing.
  expect(refusalOf(await site.import(office.path('bad')))).toBe('UNKNOWN_KEY');
});

test('a rotated bundle key signs the statements again without changing a digest', {
  timeout: LONG,
}, async () => {
  await using folder = await temporaryDirectory('bundle-key');
  const office = await openTrustOffice(folder.path);
  const site = await office.site('press-1', SITE, CHANNEL);
  await office.fill(site.stick, SITE);
  succeed(await site.import());
  const before = await office.releases(CHANNEL);
  await office.newKey('fresh');
  await office.use('bundle', 'fresh');
  const gone = await publicFile(office, office.path('bundle-before-fresh.key'));
  await office.rotate('--add', 'bundle=fresh.pub', '--remove', `bundle=${gone}`);
  const built = succeed(await office.build());
  expect(built.stdout).toMatch(/prod\/kiosk +release 2 renewed/);
  const [now] = await office.releases(CHANNEL);
  expect(now?.bundles).toEqual(before[0]?.bundles);
  await office.fill(site.stick, SITE);
  succeed(await office.exporter('verify', site.stick, '--root-sha256', office.rootSha256));
  succeed(await site.import());
  expect(await site.status()).toMatchObject({ root: { version: 2 }, release: { version: 2 } });
  // Nothing is left to do, and so nothing is done.
  const again = succeed(await office.build());
  expect(again.stdout).toMatch(/prod\/kiosk +release 2 unchanged/);
});

/** The public key of a private one, as a file for the ceremony. */
const publicFile = async (office: TrustOffice, key: string): Promise<string> => {
  const file = `${key}.pub`;
  succeed(await office.scheduler('keys', 'public', key, '--out', file));
  return file;
};

/** A copy of the office's layout in which somebody with its release key has released under a number of his choice. */
const forge = async (office: TrustOffice, version: number): Promise<string> => {
  const directory = office.path('forged');
  await cp(office.path('releases'), directory, { recursive: true });
  const keys = await openKeyDirectory(office.path('keys'));
  const from = await readRelease(await openLayout(directory), KIOSK, keys.roots);
  if (!from) throw new Error('there is no release to forge');
  const now = new Date();
  using releases = await openReleases(directory, { command: 'forge', now });
  const { references } = await reissueRelease(await releases.open(), keys, {
    channel: KIOSK,
    from,
    previous: { ...from, predicate: { ...from.predicate, version: version - 1 } },
    revocations: { fleet: 'halden', ...KIOSK, revoked: [] },
    now,
  });
  await releases.point(references);
  return directory;
};
