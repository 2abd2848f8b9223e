import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { siteReference } from '../../../../scheduler/load/releases/references.ts';
import { sitePublisher } from '../../../../scheduler/hub/serve/publish-sites.ts';
import { enrolled, enrolledHub, NOW, type TestHub, testHub } from '../test-hub.ts';

/** A folder stands for the registry, which a person may not say. */
const configurationOf = async (hub: TestHub, registry?: string) => ({
  ...(await readConfiguration({ layout: hub.layout }, hub.path)),
  registry,
});

test('sites are published to the destination of releases, as in the layout', async () => {
  await using hub = await enrolledHub();
  await enrolled(hub, 'plant-8/press-1');
  const target = join(hub.path, 'target');
  const publish = sitePublisher(await configurationOf(hub, target), () => NOW, {});
  const signal = new AbortController().signal;
  expect(await publish?.(['plant-7'], signal)).toEqual(new Map());
  const there = async (site: string) => findReference(await openLayout(target), siteReference(site))?.digest;
  const source = await openLayout(hub.layout);
  expect(await there('plant-7')).toBe(findReference(source, siteReference('plant-7'))?.digest);
  expect(await there('plant-8')).toBeUndefined();
  await publish?.(['plant-7', 'plant-8'], signal);
  expect(await there('plant-8')).toBeDefined();
});

test('without a destination there is no site publisher', async () => {
  await using hub = await testHub();
  expect(sitePublisher(await configurationOf(hub), () => NOW, {})).toBeUndefined();
});
