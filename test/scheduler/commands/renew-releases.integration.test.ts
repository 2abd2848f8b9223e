import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addDays } from '#bundles/time';
import ReleasesRenew from '../../../scheduler/commands/releases/renew.ts';
import { HOSTS, NOW, testHub } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

it('releases renew --all replaces a release that was issued by a clock ahead of time', async () => {
  await using hub = await testHub();
  const ahead = addDays(NOW, 200);
  const bundle = { kind: 'host' as const, packages: { web: { 'app.yaml': 'text: one\n' } } };
  await hub.layoutWriter.release({
    channel: HOSTS,
    version: 1,
    bundles: [bundle],
    issuedAt: ahead,
    expires: addDays(ahead, 100),
  });
  await hub.layoutWriter.keep(HOSTS);
  const places = ['--keys', join(hub.path, 'keys'), '--layout', hub.layout, '--now', '2026-11-21T08:00:00Z'];
  const refused = await runCommandClass(ReleasesRenew, places);
  expect([refused.code, refused.err]).toEqual([4, expect.stringContaining('releases renew --anyway')]);
  const renewed = await runCommandClass(ReleasesRenew, [...places, '--anyway']);
  expect([renewed.code, renewed.out]).toEqual([0, expect.stringContaining('release 2 until 2027-05-20')]);
  const good = await runCommandClass(ReleasesRenew, places);
  expect([good.code, good.out]).toEqual([0, expect.stringContaining('release 2 is good')]);
});
