import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { writeSite } from '../../../../scheduler/hub/sites/write-site.ts';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { issueSite } from '../../../../scheduler/hub/sites/issue-site.ts';
import { withLayoutLock } from '../../../../scheduler/hub/sites/with-layout-lock.ts';
import { lockLayout } from '../../../../scheduler/release/write/lock-layout.ts';
import { siteReference } from '../../../../scheduler/load/releases/references.ts';
import { NOW, testHub } from '../test-hub.ts';

test('sites that are published concurrently are all in the layout', async () => {
  await using hub = await testHub();
  const signer = await siteSigner(hub);
  const names = Array.from({ length: 8 }, (_, index) => `plant-${index}`);
  const sites = [];
  for (const name of names) sites.push(await hub.store.transact((tx) => issueSite(tx, name, signer, NOW)));
  await Promise.all(sites.map((site) => writeSite(hub, site, { now: NOW })));
  const layout = await openLayout(hub.layout);
  expect(names.filter((name) => findReference(layout, siteReference(name)) === undefined)).toEqual([]);
});

test('holders of the layout lock run one after the other', async () => {
  await using hub = await testHub();
  const steps: string[] = [];
  const work = (name: string) =>
    withLayoutLock(hub.layout, { command: name, now: NOW }, async () => {
      steps.push(`${name} begins`);
      await setTimeout(10);
      steps.push(`${name} ends`);
    });
  await Promise.all([work('a'), work('b')]);
  expect(steps).toHaveLength(4);
  expect(steps[1]).toBe(steps[0]?.replace('begins', 'ends'));
  expect(steps[3]).toBe(steps[2]?.replace('begins', 'ends'));
});

test('when the lock is not free in time, the error names its holder and the database keeps the pending writes', async () => {
  await using hub = await testHub();
  const signer = await siteSigner(hub);
  const site = await hub.store.transact((tx) => issueSite(tx, 'plant-7', signer, NOW));
  {
    using _ = await lockLayout(hub.layout, 'build', NOW);
    await expect(writeSite(hub, site, { now: NOW, waitMs: 60 })).rejects.toMatchObject({
      code: 'BUSY',
      message: expect.stringContaining('fleet-scheduler build'),
    });
  }
  await writeSite(hub, site, { now: NOW });
  expect(findReference(await openLayout(hub.layout), siteReference('plant-7'))).toBeDefined();
});

test('the lock is free again when the work fails', async () => {
  await using hub = await testHub();
  const options = { command: 'sites', now: NOW, waitMs: 0 };
  await expect(withLayoutLock(hub.layout, options, () => Promise.reject(new Error('no')))).rejects.toThrow(
    'no',
  );
  expect(await withLayoutLock(hub.layout, options, async () => 'yes')).toBe('yes');
});
