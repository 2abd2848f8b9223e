import { cp } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { CHANNEL, openTrustOffice, refusalOf } from './trust-world.ts';
import { succeed } from '../harness/run/run-command.ts';

/** Dozens of programs, one after the other, each a second on a busy machine. */
const LONG = 600_000;
const SITE = 'plant-7';
const HOSTS = 'prod/factory-host';

test('a machine moves to another cluster type by a site statement that names the former one', {
  timeout: LONG,
}, async () => {
  await using folder = await temporaryDirectory('move');
  const office = await openTrustOffice(folder.path);
  const site = await office.site('press-1', SITE, HOSTS);
  await office.fill(site.stick, SITE);
  await site.import();
  expect(await site.status()).toMatchObject({ channel: HOSTS, release: { version: 1 } });
  await cp(site.stick, office.path('before'), { recursive: true });

  succeed(await office.scheduler('sites', 'set', SITE, '--agent', 'press-1', '--channel', CHANNEL));
  await office.fill(site.stick, SITE);
  succeed(await site.import());
  const moved = await site.status();
  expect(moved).toMatchObject({ channel: CHANNEL, release: { version: 1 } });
  expect(moved.packages.map(({ assignment }) => assignment)).toContain('info-screen-kiosk');
  // The order of before is older than the one it has.
  expect(refusalOf(await site.import(office.path('before')))).toBe('ROLLBACK');
});

test('a revoked machine accepts nothing new until it is enrolled again with a new key', {
  timeout: LONG,
}, async () => {
  await using folder = await temporaryDirectory('revoked');
  const office = await openTrustOffice(folder.path);
  const site = await office.site('press-1', SITE, CHANNEL);
  await office.fill(site.stick, SITE);
  succeed(await site.import());
  succeed(await office.scheduler('sites', 'revoke', `${SITE}/press-1`, '--reason', 'sold'));
  await office.fill(site.stick, SITE, '--channel', CHANNEL);
  expect(refusalOf(await site.import())).toBe('AGENT_UNKNOWN');

  // The machine is set up anew: another key, the same name.
  const again = await office.site(
    'press-1',
    SITE,
    CHANNEL,
    'again',
    '--replace-key',
    '--reason',
    'disk replaced',
  );
  await office.fill(again.stick, SITE);
  succeed(await again.import());
  expect(await again.status()).toMatchObject({ release: { version: 1 } });
  // And the old one stays out.
  expect(refusalOf(await site.import(again.stick))).toBe('AGENT_UNKNOWN');
});
