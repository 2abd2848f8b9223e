import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { setValues } from '../../../../scheduler/hub/sites/set-values.ts';
import { readLease } from '../../../../scheduler/release/lease/read-lease.ts';
import { readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { enrolled, HOSTS, NOW, testHub } from '../test-hub.ts';
import { keeperOf, release } from './keeper.ts';

it('does nothing without a release, and while no expiry is near', async () => {
  await using hub = await testHub();
  const keeper = await keeperOf(hub);
  expect(await keeper.at(0)).toEqual([]);
  await release(hub);
  expect([await keeper.at(0), await keeper.at(100)]).toEqual([[], []]);
});

it('renews a release that expires soon without a build, and publishes it', async () => {
  await using hub = await testHub();
  await release(hub);
  const mirror = join(hub.path, 'mirror');
  const keeper = await keeperOf(hub, mirror);
  expect(await keeper.at(125)).toEqual(['release renewed']);
  expect((await readRelease(await openLayout(mirror), HOSTS, hub.keys.roots))?.predicate.version).toBe(2);
  expect(await keeper.at(126)).toEqual([]);
});

it('issues leases when an agent requires one, and renews them by the required freshness', async () => {
  await using hub = await testHub();
  await release(hub);
  await enrolled(hub, 'plant-7/press-1');
  const keeper = await keeperOf(hub);
  expect(await keeper.at(0)).toEqual([]);
  const terms = { freshness: 6 * 86_400 };
  const change = { site: 'plant-7', set: {}, unset: [], terms };
  await setValues(hub.store, change, await siteSigner(hub), NOW);
  expect(await keeper.at(0)).toEqual(['lease renewed']);
  expect([await keeper.at(1), await keeper.at(2)]).toEqual([[], ['lease renewed']]);
  const lease = await readLease(await openLayout(hub.layout), HOSTS, hub.keys.roots);
  expect(lease?.predicate.version).toBe(2);
});
