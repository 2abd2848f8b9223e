import { expect, it } from 'vitest';
import { DEV_ROOT_NOTICE } from '#bundles/trust/dev-root';
import { makeKioskWorld } from './world.ts';

it('whoever fills a medium of a development fleet is told so first', async () => {
  await using world = await makeKioskWorld();
  const { notes } = await world.plan({ sites: ['plant-7'] });
  expect(notes[0]).toBe(DEV_ROOT_NOTICE);
});
